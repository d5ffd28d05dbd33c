"""Objects to and from all ranks: for results and handles, not for large data.

Every rank calls these functions, in the same order as acp.sync().
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, TypeVar

from . import _acp, life

T = TypeVar("T")

# Each rank has a record in a workspace: the address and the size of its pickled object.
_RECORD = struct.Struct("<QQ")
_workspace: int | None = None


def _forget() -> None:
    global _workspace
    _workspace = None


life.at_end(_forget)


def _records() -> int:
    """The workspace, which the first collective call of a life creates on all ranks."""
    global _workspace
    if _workspace is None:
        _workspace = _acp.create_ws(_RECORD.size * _acp.procs())
    return _workspace


def _offer(value: object) -> int:
    """Puts an object into a block of this rank, and its record into the workspace."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    rank = _acp.rank()
    block = _acp.malloc(len(data), rank)
    _acp.write(block, data)
    _acp.write_ws(_records(), _RECORD.pack(block, len(data)), _RECORD.size * rank)
    return block


def _take(rank: int) -> Any:
    record = bytearray(_RECORD.size)
    _acp.read_ws(_records(), record, _RECORD.size * rank)
    return pickle.loads(_acp.read(*_RECORD.unpack(record)))


def broadcast(value: T, root: int = 0) -> T:
    """The object of rank `root`, on every rank. Other ranks give any value."""
    _records()
    is_root = _acp.rank() == root
    block = _offer(value) if is_root else None
    _acp.sync()
    result: T = value if is_root else _take(root)
    _acp.sync()
    if block is not None:
        _acp.free(block)
    return result


def all_gather(value: T) -> list[T]:
    """The objects of all ranks, in the order of the ranks, on every rank."""
    _records()
    block = _offer(value)
    _acp.sync()
    values: list[T] = [_take(rank) for rank in range(_acp.procs())]
    _acp.sync()
    _acp.free(block)
    return values
