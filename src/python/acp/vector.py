"""Vectors: a growing array of numbers on one rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _acp
from .structure import Structure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from .memory import Array


class Vector(Structure):
    """A growing array of one dtype on a rank, which every rank appends to, reads and changes.

    Appends of all ranks may run at one time. Other changes shift positions, so the ranks agree
    on who makes them. The handle is that of acp/vector.h.
    """

    _destroy = staticmethod(_acp.destroy_vector)

    def __init__(self, dtype: DTypeLike = "u1", size: int = 0, rank: int | None = None) -> None:
        import numpy as np

        self.dtype = np.dtype(dtype)
        self.ga = _acp.create_vector(size * self.dtype.itemsize,
                                     _acp.rank() if rank is None else rank)

    def __len__(self) -> int:
        return _acp.size_vector(self.ga) // self.dtype.itemsize

    def append(self, value: Any) -> None:
        """Adds an element at the end."""
        self.extend([value])

    def extend(self, values: ArrayLike) -> None:
        """Adds elements at the end, next to each other, in one undivided change."""
        _acp.push_back_vector(self.ga, self._packed(values))

    def __getitem__(self, index: int | slice) -> Any:
        """An element, or an array that is a copy of a part."""
        import numpy as np

        size = len(self)
        if isinstance(index, slice):
            start, stop, step = index.indices(size)
            if step != 1:
                return self[:][index]
            return np.frombuffer(bytearray(self._read(start, max(stop - start, 0))), self.dtype)
        return np.frombuffer(self._read(_position(index, size), 1), self.dtype)[0]

    def __setitem__(self, index: int | slice, value: Any) -> None:
        """Replaces an element, or the elements of a part by as many others."""
        size = len(self)
        if isinstance(index, slice):
            start, stop, step = index.indices(size)
            data = self._packed(value)
            if step != 1 or len(data) != max(stop - start, 0) * self.dtype.itemsize:
                raise ValueError("a part is replaced by as many elements, in one piece")
        else:
            start, data = _position(index, size), self._packed([value])
        if data:
            _acp.write(_acp.at_vector(self.ga, start * self.dtype.itemsize), data)

    def __delitem__(self, index: int | slice) -> None:
        start, stop, step = ((_position(index, len(self)), None, 1) if isinstance(index, int)
                             else index.indices(len(self)))
        if step != 1:
            raise ValueError("a part that is deleted is in one piece")
        count = 1 if stop is None else max(stop - start, 0)
        _acp.erase_vector(self.ga, start * self.dtype.itemsize, count * self.dtype.itemsize)

    def __iter__(self) -> Iterator[Any]:
        """The elements that are there now."""
        return iter(self[:])

    def insert(self, index: int, value: Any) -> None:
        """Puts an element before a position."""
        size = len(self)
        start = min(max(index + size if index < 0 else index, 0), size)
        _acp.insert_vector(self.ga, start * self.dtype.itemsize, self._packed([value]))

    def pop(self) -> Any:
        """Takes the last element off. Another rank must not change the vector meanwhile."""
        value = self[-1]
        _acp.pop_back_vector(self.ga, self.dtype.itemsize)
        return value

    def clear(self) -> None:
        """Takes all elements out."""
        _acp.clear_vector(self.ga)

    def reserve(self, count: int) -> None:
        """Makes room for so many elements."""
        _acp.reserve_vector(self.ga, count * self.dtype.itemsize)

    @property
    def capacity(self) -> int:
        """The elements that the vector can have without growing."""
        return _acp.capacity_vector(self.ga) // self.dtype.itemsize

    def assign(self, other: Vector, start: int = 0, stop: int | None = None) -> None:
        """Makes this vector equal to another one, or to a part of it."""
        if start == 0 and stop is None:
            _acp.assign_vector(self.ga, other.ga)
            return
        end = len(other) if stop is None else stop
        _acp.assign_range_vector(self.ga, other.ga, start * other.dtype.itemsize,
                                 end * other.dtype.itemsize)

    def swap(self, other: Vector) -> None:
        """Exchanges the elements with another vector of the same dtype."""
        if self.dtype != other.dtype:
            raise ValueError(f"the vectors have {self.dtype} and {other.dtype}")
        _acp.swap_vector(self.ga, other.ga)

    def array(self) -> Array:
        """A copy of all elements."""
        array: Array = self[:]
        return array

    def _packed(self, values: ArrayLike) -> bytes:
        import numpy as np

        return np.ascontiguousarray(values, self.dtype).tobytes()

    def _read(self, start: int, count: int) -> bytes:
        if count == 0:
            return b""
        return _acp.read(_acp.at_vector(self.ga, start * self.dtype.itemsize),
                         count * self.dtype.itemsize)


def _position(index: int, size: int) -> int:
    position = index + size if index < 0 else index
    if not 0 <= position < size:
        raise IndexError(f"index {index} of a vector of {size} elements")
    return position
