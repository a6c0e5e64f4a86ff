"""`python -m tools.demo`: plays the story, then stays up for whoever watches until Ctrl-C.

ONCE=1, or output that is no terminal, ends it after the story. DEMO_PORT names the port (any free one if unset).
Exit status: 0 everything happened as told; 1 something did not, and standard error says what; 2 wrong use;
128 + N ended by signal N before the story was over.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from types import FrameType

from tools.demo.narrator import Narrator
from tools.demo.stage import Stage, StepFailed
from tools.demo.story import VISITOR, Story
from tools.demo.visiting import invite

DONE, FAILED, WRONG_USE = 0, 1, 2
LOOK_SECONDS = 0.5
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked for the end. No Exception, so that nothing on the way takes it for a failed step."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main() -> int:
    """Play; gives back the exit status."""
    try:
        port = _port()
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return WRONG_USE
    for number in _ENDING:
        signal.signal(number, _stop)
    _end_with_parent()
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that cannot show a character shows a question mark, instead of ending the demo.
        sys.stdout.reconfigure(errors="replace")
    try:
        return _play(port, stays=sys.stdout.isatty() and os.environ.get("ONCE", "") in {"", "0"})
    except Stopped as stopped:
        return 128 + stopped.number
    except BrokenPipeError:
        # Whoever read the output is gone. Everything was ended on the way here; nobody is left to be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _play(port: int, *, stays: bool) -> int:
    narrator = Narrator()
    with contextlib.closing(Stage(port=port)) as stage:
        story = Story(stage, narrator)
        try:
            narrator.opening("ForkFlux demo: agents hand work to each other over HTTP")
            stage.open()
            narrator.did("server", f"listens on {stage.url}")
            narrator.aside(f"with a fresh SQLite database in {stage.folder}")
            story.play()
            invite(narrator, url=stage.url, name=VISITOR, token=story.visitor_token, stays=stays)
            if stays:
                _stay(stage)
        except StepFailed as failure:
            narrator.bad(_report(story.part, str(failure), stage.end_of_log()))
            return FAILED
        except (LookupError, TypeError, ValueError) as error:
            sentence = (
                f"an answer does not have the form that it should have: {type(error).__name__}: {error}"
            )
            narrator.bad(_report(story.part, sentence, stage.end_of_log()))
            return FAILED
    return DONE


def _stay(stage: Stage) -> None:
    """Until Ctrl-C, which is how a visit ends well."""
    try:
        while not stage.server_ended():
            time.sleep(LOOK_SECONDS)
    except Stopped as stopped:
        if stopped.number == signal.SIGINT:
            return
        raise
    raise StepFailed("the server ended although nobody stopped it")


def _report(part: str, sentence: str, log: str) -> str:
    where = f' in "{part}"' if part else " before it began"
    told = f"\n\nThe last lines of the server:\n{log}" if log else ""
    return f"The demo failed{where}: {sentence}{told}"


def _port() -> int:
    value = os.environ.get("DEMO_PORT", "").strip() or "0"
    if not value.isdecimal() or int(value) > 65_535:
        raise ValueError(f"DEMO_PORT is {value!r}; allowed is a port from 0 (any free one) to 65535.")
    return int(value)


def _stop(number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second Ctrl-C would only interrupt the tidying up.
    for other in _ENDING:
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(number)


def _end_with_parent() -> None:
    """When make is killed, nobody tells this process: it has to look."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
