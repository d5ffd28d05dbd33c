"""Advanced Communication Primitives: a global address space over all ranks of a job.

    import acp

    with acp.job() as me:
        words = acp.share(acp.Map, keys=str, values=int)
        words.add("hello from rank %d" % me.rank)
        acp.sync()
        if me.rank == 0:
            print(dict(words))

Run it with `acprun -np 4 python3 hello.py`. docs/python.md of the project explains all of it.
"""

from . import _acp, errors
from ._acp import (announce_memory, atomics_agree, colors, procs, query_color, query_rank, rank,
                   sync, trim_malloc)
from .channels import Channel, Request, wait_all
from .codecs import Codec
from .collective import all_gather, broadcast
from .deque import ByteDeque, Deque
from .errors import (BadAddress, Closed, Error, Forked, InvalidArgument, NoMemory, NotRunning,
                     PeerDead, TimedOut)
from .handles import (ALL, CONT, HOLD, MORE, NULL, SIGNAL, Chain, add4, add8, and4, and8, cas4,
                      cas8, compare_and_swap, complete, copy, fetch_add, fetch_and, fetch_or,
                      fetch_xor, flush, inquire, or4, or8, put_signal, swap, swap4, swap8,
                      wait_until, wait_word, xor4, xor8)
from .life import Job, abort, count, finalize, init, is_running, job, log, reset
from .launch import RunError, run
from .linked_list import END, List
from .memory import Memory, attach, malloc, register, starter
from .names import lookup, publish, unpublish
from .structure import Structure, share
from .table import Map, Set
from .vector import Vector
from .workspace import Workspace

__version__ = _acp.version()

__all__ = [
    "ALL", "BadAddress", "ByteDeque", "CONT", "Chain", "Channel", "Closed", "Codec", "Deque",
    "END", "Error", "Forked", "HOLD", "InvalidArgument", "Job", "List", "MORE", "Map", "Memory",
    "NULL", "NoMemory", "NotRunning", "PeerDead", "Request", "RunError", "SIGNAL", "Set",
    "Structure", "TimedOut", "Vector", "Workspace", "abort", "add4", "add8", "all_gather", "and4",
    "and8", "announce_memory", "atomics_agree", "attach", "broadcast", "cas4", "cas8", "colors",
    "compare_and_swap", "complete", "copy", "count", "errors", "fetch_add", "fetch_and", "fetch_or",
    "fetch_xor", "finalize", "flush", "init", "inquire", "is_running", "job", "log", "lookup", "malloc", "or4",
    "or8", "procs", "publish", "put_signal", "query_color", "query_rank", "rank", "register", "reset", "run",
    "setting", "share", "starter", "swap", "swap4", "swap8", "sync", "trim_malloc", "unpublish", "wait_all",
    "wait_until", "wait_word", "xor4", "xor8",
]

setting = _acp.setting
