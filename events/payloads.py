"""How a verification reads: one document for the command and the route."""

from __future__ import annotations

import dataclasses
from typing import Any

from events.verify import VerifyReport


def report_document(report: VerifyReport) -> dict[str, Any]:
    """What was read, and for each damaged stream its first fault."""
    faults = [dataclasses.asdict(fault) for fault in report.faults]
    return {
        "intact": report.is_intact,
        "streams": report.streams,
        "events": report.events,
        "outlived_streams": report.outlived_streams,
        "damaged_streams": report.damaged_streams,
        "first_fault": faults[0] if faults else None,
        "faults": faults,
    }
