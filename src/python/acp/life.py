"""The job: its start and end, and what happens to exceptions that nothing catches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from . import _acp, errors

_ExceptionHook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]

_is_running = False
_previous_hook: _ExceptionHook | None = None
# Called by finalize() when the job is over, and by reset(): modules of the package forget
# what the job ends.
_at_end: list[Callable[[], None]] = []


def init(words: list[str] | None = None) -> None:
    """Joins the job that acprun has started, or begins one of one rank.

    Takes the --acp-... options out of sys.argv, or out of `words`. All ranks call it. From now
    on each line of standard output is written at once, and an exception that nothing catches
    ends the job with status 1.
    """
    global _is_running
    given = sys.argv if words is None else words
    # The first word is the name of the program.
    given[1:] = _acp.init(["python3", *given[1:]])[1:]
    _is_running = True
    errors.set_speaker(_acp.rank())
    _catch_exceptions()
    if os.environ.get("ACP_STDOUT") != "program":
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True)


def finalize() -> None:
    """Leaves the job, when all ranks have called it.

    Arrays that are views of global memory stay valid: the memory is mapped until the process
    ends. No function of the job works afterwards.
    """
    global _is_running
    sys.stdout.flush()
    _acp.finalize()
    _is_running = False
    errors.set_speaker(None)
    _forget()


def reset(rank: int) -> None:
    """Gives every process a new rank; see acp_reset. Structures and registrations end."""
    _acp.reset(rank)
    errors.set_speaker(rank)
    _forget()


def abort(text: str) -> None:
    """Ends the whole job at once, with status 1 and this text. Does not return."""
    _flush()
    _acp.abort(text)


def is_running() -> bool:
    """Whether this process is a rank of a job, between init() and finalize()."""
    return _is_running and not errors.is_forked()


def count(name: str, amount: int = 1) -> None:
    """Adds to a count of the program's own, which acprun --stats and --report show."""
    _acp.count(name, amount)


def log(text: str, level: str = "info") -> None:
    """Writes a line in the form of the library's own, with rank and host, to standard error.

    ACP_LOG says which are shown: "error", "warning", "info", "debug" or "trace".
    """
    _acp.log(("error", "warning", "info", "debug", "trace").index(level), text)


class Job:
    """The job of this process as a context manager; acp.job() makes it.

    The block begins with init() and ends with finalize(). An exception that leaves the block
    leaves the job as well, so the process does not wait for the other ranks.
    """

    def __init__(self, words: list[str] | None = None) -> None:
        self._words = words

    def __enter__(self) -> Job:
        init(self._words)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if not is_running():
            return
        is_good_end = kind is None or (isinstance(value, SystemExit) and value.code in (None, 0))
        if is_good_end or _acp.procs() == 1:
            finalize()

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""
        return _acp.rank()

    @property
    def procs(self) -> int:
        """The number of ranks."""
        return _acp.procs()


def job(words: list[str] | None = None) -> Job:
    """`with acp.job() as me:` joins the job for the block, as init() and finalize() do."""
    return Job(words)


def at_end(forget: Callable[[], None]) -> None:
    """Has a module of the package forget what the end of a job ends."""
    _at_end.append(forget)


def _forget() -> None:
    for forget in _at_end:
        forget()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # The reader is gone, or the program has closed it.
            pass


def _catch_exceptions() -> None:
    global _previous_hook
    if _previous_hook is None:
        _previous_hook = sys.excepthook
        sys.excepthook = _end_job_after


def _end_job_after(kind: type[BaseException], value: BaseException,
                   trace: TracebackType | None) -> None:
    """Shows the traceback, and ends the job: other ranks may wait for this one.

    At an interactive prompt the program goes on after an exception, and so does the job.
    """
    assert _previous_hook is not None
    _previous_hook(kind, value, trace)
    if is_running() and not hasattr(sys, "ps1"):
        abort(f"{kind.__name__}: {value}")
