"""Names: objects that a rank publishes, and that every rank finds by name.

No rank waits for another but the one that looks up a name which is not there yet.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any

from . import _acp

# A published object begins with a byte: its pickle follows, or the address and the size of the
# block that has it.
_HERE, _BLOCK = b"\0", b"\1"
_RECORD = struct.Struct("<QQ")
_MOST_BYTES = 4096


def publish(name: str, value: Any, raw: bool = False) -> None:
    """Publishes an object under a name; KeyError if the name has one already.

    raw: the value is bytes, at most 4,096, for acpx_lookup of programs in C.
    """
    data = value if raw else _HERE + pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    block = None
    if not raw and len(data) > _MOST_BYTES:
        block = _acp.malloc(len(data) - 1, _acp.rank())
        _acp.write(block, memoryview(data)[1:])
        data = _BLOCK + _RECORD.pack(block, len(data) - 1)
    if not _acp.publish(name, data):
        if block is not None:
            _acp.free(block)
        raise KeyError(f"the name '{name}' is published already: acp.unpublish() removes it")


def lookup(name: str, timeout: float | None = None, raw: bool = False) -> Any:
    """The object under a name. Waits until it is published.

    KeyError when it is not until so many seconds are over. raw: bytes of acpx_publish.
    """
    data = _acp.lookup(name, timeout)
    if data is None:
        raise KeyError(f"no rank has published '{name}' within {timeout} s")
    if raw:
        return data
    return pickle.loads(_acp.read(*_RECORD.unpack(data[1:])) if data[:1] == _BLOCK else data[1:])


def unpublish(name: str) -> None:
    """Removes a name, on whatever rank; KeyError if it is not published.

    An object of more than 4 KiB keeps its memory until the end of the job, because another rank
    may still read it.
    """
    if not _acp.unpublish(name):
        raise KeyError(f"the name '{name}' is not published")
