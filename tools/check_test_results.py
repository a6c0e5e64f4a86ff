"""Reads the JUnit files of `make test` and fails unless the tests really ran, on SQLite and on PostgreSQL.

Usage: ``python tools/check_test_results.py SQLITE.xml POSTGRESQL.xml``. Standard library only.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

# The test that looks at its connection and writes down the server's own name and version.
PROOF = "test_the_run_uses_the_database_that_it_was_asked_for"
EXPECTED = ("SQLite", "PostgreSQL")


def faults(kind: str, file: Path) -> Iterator[str]:
    """What is missing in one run's results; `kind` is the database it must have used."""
    if not file.exists():
        yield f"{kind}: there is no {file}: this half did not run"
        return
    cases = list(ElementTree.parse(file).getroot().iter("testcase"))  # noqa: S314 - pytest wrote it, just now
    ran = [case for case in cases if case.find("skipped") is None]
    broken = [case for case in ran if case.find("failure") is not None or case.find("error") is not None]
    proofs = [
        item.get("value", "")
        for case in ran
        if case.get("name") == PROOF
        for item in case.iter("property")
        if item.get("name") == "database"
    ]
    if not ran:
        yield f"{kind}: no test ran"
    if broken:
        yield f"{kind}: {len(broken)} tests failed"
    if not proofs:
        yield f"{kind}: {PROOF} did not run"
    elif not proofs[0].startswith(kind):
        yield f"{kind}: the tests ran on {proofs[0]}"
    skipped = len(cases) - len(ran)
    print(f"{kind}: {len(ran)} tests ran, {skipped} were skipped, on {', '.join(proofs) or 'nothing'}")


def process_test_faults(file: Path) -> Iterator[str]:
    """The tests that start servers are in the SQLite run, once for each kind of database."""
    cases = ElementTree.parse(file).getroot().iter("testcase") if file.exists() else ()  # noqa: S314
    names = [case.get("name", "") for case in cases if case.find("skipped") is None]
    for kind in ("sqlite", "postgresql"):
        count = sum(f"[{kind}" in name or f"-{kind}" in name for name in names)
        print(f"served processes on {kind}: {count} tests ran")
        if not count:
            yield f"no test of served processes ran on {kind}"


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when both halves ran and passed, 1 when not, 2 for a wrong call."""
    if len(arguments) != len(EXPECTED):
        print(__doc__, file=sys.stderr)
        return 2
    files = [Path(argument) for argument in arguments]
    found = [fault for kind, file in zip(EXPECTED, files, strict=True) for fault in faults(kind, file)]
    found += process_test_faults(files[0])
    for fault in found:
        print(f"test results: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
