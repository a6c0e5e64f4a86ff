"""`forkflux audit`: is the audit trail as it was recorded?"""

from __future__ import annotations

from django.core.management.base import CommandError

from core.cli import CommandWithActions, Options
from core.printing import printable
from events.payloads import report_document
from events.verify import VerifyReport, verify
from jobs.selectors import stream_heads


class Command(CommandWithActions):
    """verify."""

    help = "Check that the audit trail is as it was recorded."
    example = "forkflux audit verify"

    def add_actions(self) -> None:
        check = self.action(
            "verify",
            self.verify,
            says="recompute the trail; exit 1 names what was changed, removed or inserted",
            example="forkflux audit verify --stream job:7",
        )
        check.add_argument("--stream", metavar="S", help="only this one, such as job:7, agent:3 or role:2")

    def verify(self, options: Options) -> None:
        report = verify(heads_of={"job": stream_heads}, stream=options["stream"])
        self.answer(options, report_document(report), _in_words(report))
        fault = report.first_fault
        if fault is not None:
            raise CommandError(printable(str(fault)))


def _in_words(report: VerifyReport) -> str:
    read = f"{_count(report.events, 'event')} in {_count(report.streams, 'stream')}"
    if report.is_intact:
        lines = [f"The audit trail is intact: {read}."]
    else:
        lines = [f"The audit trail is damaged in {_count(report.damaged_streams, 'stream')} of {read}:"]
        lines += [f"  {printable(str(fault))}" for fault in report.faults]
        unnamed = report.damaged_streams - len(report.faults)
        if unnamed:
            lines.append(f"  and {_count(unnamed, 'stream')} more")
    if report.outlived_streams:
        lines.append(
            f"{_count(report.outlived_streams, 'stream')} of deleted jobs: whole, but an end that was cut off "
            "would not show there."
        )
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
