"""What has to be in a conftest.py: the fixtures of pytest-django that are set up differently here.

Everything else that all tests share is testing/pytest_plugin.py, which is loaded before Django's settings.
"""

from __future__ import annotations

import pytest
from django.db import connections


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SQLite in a file, as it is served: in memory there is no WAL, and threads meet other locks."""
    connection = connections["default"]
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.db")
