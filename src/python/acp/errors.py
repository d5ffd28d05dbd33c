"""Exceptions: a class for each kind of failure of the library.

An exception has the code of acp_errno, its name, the call that failed and what to do next.
The library has also written a line with the values that it saw to standard error.
"""

from __future__ import annotations

import os

from . import _acp

# The name of each code, and what a program or its user can do about it.
_REMEDIES: dict[int, tuple[str, str]] = {
    1: ("ACPX_AGAIN", "call acp.complete() or acp.inquire(), and try again"),
    2: ("ACPX_INVALID_ARGUMENT", "look at the ranges of the arguments in docs/python.md; a "
        "structure that was destroyed and a request that was waited for are invalid, too"),
    3: ("ACPX_NOT_INITIALIZED", "begin with 'with acp.job():' or acp.init()"),
    4: ("ACPX_ALREADY_INITIALIZED", "a process joins one job: call acp.init() once"),
    5: ("ACPX_FINALIZED", "the job of this process is over: do this before acp.finalize(), "
        "inside of 'with acp.job():'"),
    6: ("ACPX_BAD_ADDRESS", "compare the address and the size with the memory: acp.Memory.at() "
        "checks offsets, and 'acp_info --ga ADDRESS --ranks N' takes an address apart"),
    7: ("ACPX_BAD_KEY", "the memory was registered by acp.register() and freed since: keep its "
        "acp.Memory while other ranks use it"),
    8: ("ACPX_BAD_RANK", "ranks count from 0 to acp.procs() - 1; results of atomics and words "
        "to wait for are on the own rank"),
    9: ("ACPX_BAD_COLOR", "colors count from 0 to acp.colors() - 1"),
    10: ("ACPX_MISALIGNED", "words of atomics are at multiples of their 4 or 8 bytes"),
    11: ("ACPX_NO_MEMORY", "free memory, or give each rank more: acprun --acp-heapsize=4G, "
         "ACP_HEAP_SIZE"),
    12: ("ACPX_NO_KEYS", "register few large arrays instead of many small ones"),
    13: ("ACPX_TOO_LARGE", "divide it; acp_info shows the limits, and ACP_HEAP_SIZE sets that of "
         "acp.malloc()"),
    14: ("ACPX_UNSUPPORTED", "python3 -m acp shows what works on this machine"),
    15: ("ACPX_PEER_DEAD", "the job is ending: the output of acprun names the rank that died, "
         "and why"),
    16: ("ACPX_ABORTED", "the job is ending: the output of acprun names the rank that ended it"),
    17: ("ACPX_TIMED_OUT", "look for ranks that did not start; acprun --init-timeout"),
    18: ("ACPX_SYSTEM", "the line of the library above has the system's reason"),
    19: ("ACPX_PROTOCOL", "install equal versions of ACP on all hosts: acprun --version"),
    20: ("ACPX_ORDER_FAILED", "an earlier operation has failed: collect its failure by "
         "acp.complete(), and issue both again"),
    21: ("ACPX_BAD_OPTION", "python3 -m acp lists the settings and their values"),
    22: ("ACPX_CLOSED", "the other rank has freed its end of the channel, or is in "
         "acp.finalize(): each receive needs a send, and each acp.sync() one on every rank"),
}


class Error(Exception):
    """A call of the library has failed.

    code: the value of acp_errno. name: its name in C, such as "ACPX_BAD_ADDRESS".
    function: the function of C. remedy: what to do next.
    """

    def __init__(self, code: int, function: str, arguments: tuple[object, ...] = (),
                 speaker: str = "") -> None:
        self.code = code
        self.function = function
        self.name, self.remedy = _REMEDIES.get(code, (f"code {code}", "see acp/infrastructure.h"))
        self.arguments = arguments
        self.speaker = speaker
        super().__init__(code, function, arguments, speaker)

    def __str__(self) -> str:
        words = ", ".join(_value(argument) for argument in self.arguments)
        return (f"{self.speaker}{self.function}({words}): {_acp.strerror(self.code)} "
                f"({self.name}). Next: {self.remedy}.")


class InvalidArgument(Error, ValueError):
    """A value outside of its range, or a structure, channel or request that is over."""


class NotRunning(Error, RuntimeError):
    """A call before acp.init() or after acp.finalize()."""


class Forked(NotRunning):
    """A call in a process that was made by fork() inside of a job."""

    def __str__(self) -> str:
        return (f"{self.function}: this process (pid {os.getpid()}) was forked from a rank, "
                f"{_origin()}, and is no rank of the job. Next: start helpers before acp.init(), "
                "use threads, or call multiprocessing.set_start_method('spawn'). The job of the "
                "parent goes on.")


class BadAddress(Error, IndexError):
    """An address, a key, a rank or a color that does not exist, or a misaligned word."""


class NoMemory(Error, MemoryError):
    """Memory or keys are used up, or something is larger than the limit."""


class PeerDead(Error, ConnectionError):
    """A rank is gone, or the job is being ended."""


class Closed(Error, EOFError):
    """The other side has ended a channel, or does not come to a barrier."""


class TimedOut(Error, TimeoutError):
    """Ranks did not come to acp.init() in time."""


_CLASSES: dict[int, type[Error]] = {
    2: InvalidArgument, 3: NotRunning, 4: NotRunning, 5: NotRunning, 6: BadAddress, 7: BadAddress,
    8: BadAddress, 9: BadAddress, 10: BadAddress, 11: NoMemory, 12: NoMemory, 13: NoMemory,
    15: PeerDead, 16: PeerDead, 17: TimedOut, 21: InvalidArgument, 22: Closed,
}

# The rank of this process and its pid, while it is in a job: life.py writes them.
_rank: int | None = None
_pid: int | None = None


def _origin() -> str:
    return f"rank {_rank} (pid {_pid})"


def is_forked() -> bool:
    """Whether this process was forked from a rank that was in its job."""
    return _pid is not None and _pid != os.getpid()


def set_speaker(rank: int | None) -> None:
    """Names the rank in the texts of exceptions from now on; None outside of a job."""
    global _rank, _pid
    _rank = rank
    _pid = None if rank is None else os.getpid()


def make(code: int, function: str, arguments: tuple[object, ...] = ()) -> Error:
    """The exception for a failure; the extension module calls it."""
    if is_forked():
        return Forked(code, function)
    speaker = "" if _rank is None else f"rank {_rank}: "
    return _CLASSES.get(code, Error)(code, function, arguments, speaker)


def _value(argument: object) -> str:
    """An argument as a short text: large numbers are addresses."""
    if isinstance(argument, int) and argument >= 1 << 32:
        return hex(argument)
    if isinstance(argument, (int, float, str, type(None))):
        return repr(argument)
    if isinstance(argument, (bytes, bytearray, memoryview)):
        size = argument.nbytes if isinstance(argument, memoryview) else len(argument)
        return f"<{size} bytes>"
    return repr(argument) if isinstance(argument, _acp.Region) else f"<{type(argument).__name__}>"


_acp.set_error_factory(make)
