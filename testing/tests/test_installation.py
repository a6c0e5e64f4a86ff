"""The installations that tests drive: real commands, real servers, either database, and nothing left running."""

import httpx
import pytest

from testing.installation import CommandFailed, Installation
from testing.processes import is_running


def test_a_served_installation_answers_and_ends(served):
    server = served()
    with server.client() as client:
        assert client.get("/health").status_code == 204
    assert server.stop() == 0, server.log
    assert not is_running(server.pid)


def test_a_killed_server_comes_back_at_the_same_address(served):
    server = served()
    address = server.base_url
    server.kill()
    assert not is_running(server.pid)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{address}/api/v1/health", trust_env=False)
    server.start()
    assert server.base_url == address
    with server.client() as client:
        assert client.get("/health").status_code == 204


def test_agents_made_by_the_command_are_known_to_the_server(served):
    server = served()
    server.cli("role", "add", "builder")
    agents = [server.agent("first", "builder"), *server.agents(["second", "third"], "builder")]
    assert len({agent.token for agent in agents}) == 3
    for agent in agents:
        with server.client(agent) as client:
            me = client.get("/mcp/agents/me")
            assert me.status_code == 200, me.text
            assert me.json()["name"] == agent.name


def test_a_failing_command_shows_what_it_said(installation):
    with pytest.raises(CommandFailed, match="no-such-command"):
        installation.run("no-such-command")
    refused = installation.run("no-such-command", expect=None)
    assert refused.returncode != 0


def test_a_server_that_cannot_start_shows_its_log(installation):
    with pytest.raises(CommandFailed, match="did not come up"):
        installation.serve("--no-such-option")


def test_the_developers_own_settings_do_not_reach_an_installation(installation, monkeypatch):
    monkeypatch.setenv("FORKFLUX_THREADS", "not a number")
    installation.run("check")


def test_an_empty_database_gets_its_tables_from_init(database_url, tmp_path):
    with Installation(database_url=database_url, folder=tmp_path) as installation:
        installation.init()
        installation.run("check", "--database", "default")


def test_databases_of_both_kinds_are_new_and_apart(fresh_database):
    urls = [fresh_database(kind) for kind in ("sqlite", "sqlite", "postgresql", "postgresql")]
    assert len(set(urls)) == 4
