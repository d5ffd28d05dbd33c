"""Workspaces: memory of all ranks together, read and written at offsets."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from . import _acp, life

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .memory import Array, Buffer


class Workspace:
    """Bytes that are divided among all ranks. All ranks create it together, and end it together.

    `with` destroys it at the end of the block. start and part: the rank of the first part, and
    the bytes of a part, the same on all ranks; by default equal parts from rank 0 on.
    """

    def __init__(self, size: int, start: int = 0, part: int = 0) -> None:
        _acp.setparams_ws(start, part)
        self._handle = _acp.create_ws(size)
        self.size = size

    def __len__(self) -> int:
        return self.size

    def read(self, offset: int, size: int) -> bytes:
        """A copy of bytes."""
        data = bytearray(size)
        _acp.read_ws(self._handle, data, offset)
        return bytes(data)

    def read_into(self, offset: int, buffer: Buffer) -> None:
        """Fills an array or another writable buffer."""
        _acp.read_ws(self._handle, buffer, offset)

    def read_array(self, offset: int, dtype: DTypeLike, count: int) -> Array:
        """A new array with `count` elements that begin at a byte offset."""
        import numpy as np

        array = np.empty(count, dtype)
        _acp.read_ws(self._handle, array, offset)
        return array

    def write(self, offset: int, data: Buffer) -> None:
        """Writes bytes. Every read that begins later sees them."""
        _acp.write_ws(self._handle, data, offset)

    def destroy(self) -> None:
        """Ends the workspace. All ranks call it."""
        _acp.destroy_ws(self._handle)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None and life.is_running():
            self.destroy()
