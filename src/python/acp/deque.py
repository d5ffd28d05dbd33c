"""Deques: a queue with two ends on one rank, from which each element is taken once."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from . import _acp
from .codecs import Codec, Kind, codec_of
from .structure import Structure

T = TypeVar("T")

# A record of the deque is 32 bytes, so that a take has one size. A short element is inside:
# its length, and its bytes. A longer one is a block on the deque's rank: its address and size.
_RECORD_BYTES = 32
_LONG = 255
_BLOCK = struct.Struct("<B7xQQ8x")


class Deque(Structure, Generic[T]):
    """A queue of objects with two ends, for all ranks.

    append(), appendleft(), pop() and popleft() are each one undivided change: of several ranks
    that take, each gets elements of its own. pop() and popleft() raise IndexError when the deque
    is empty; take() and takeleft() return a default instead. The elements are objects (pickles),
    or of another kind: `acp.Deque(bytes)`.
    """

    _destroy = staticmethod(_acp.destroy_deque)
    _codec: Codec[T]

    def __init__(self, elements: Kind[T] = object,  # type: ignore[assignment]
                 room: int = 0, rank: int | None = None) -> None:
        """room: elements that the deque can have without growing."""
        self._codec = codec_of(elements)
        self._rank = _acp.rank() if rank is None else rank
        self.ga = _acp.create_deque(room * _RECORD_BYTES, self._rank)

    def __len__(self) -> int:
        return _acp.size_deque(self.ga) // _RECORD_BYTES

    def append(self, value: T) -> None:
        """Adds an element at the right end."""
        self._push(_acp.push_back_deque, [value])

    def appendleft(self, value: T) -> None:
        """Adds an element at the left end."""
        self._push(_acp.push_front_deque, [value])

    def extend(self, values: Iterable[T]) -> None:
        """Adds elements at the right end, next to each other, in one undivided change."""
        self._push(_acp.push_back_deque, values)

    def extendleft(self, values: Iterable[T]) -> None:
        """Adds elements at the left end one before the other, so their order is reversed."""
        self._push(_acp.push_front_deque, reversed(list(values)))

    def pop(self) -> T:
        """Takes the element at the right end."""
        return self._decode(self._taken(_acp.take_back_deque(self.ga, _RECORD_BYTES)))

    def popleft(self) -> T:
        """Takes the element at the left end."""
        return self._decode(self._taken(_acp.take_front_deque(self.ga, _RECORD_BYTES)))

    def take(self, default: Any = None) -> T | Any:
        """As pop(), or the default when the deque is empty."""
        record = _acp.take_back_deque(self.ga, _RECORD_BYTES)
        return default if record is None else self._decode(record)

    def takeleft(self, default: Any = None) -> T | Any:
        """As popleft(), or the default when the deque is empty."""
        record = _acp.take_front_deque(self.ga, _RECORD_BYTES)
        return default if record is None else self._decode(record)

    def clear(self) -> None:
        """Takes all elements."""
        while (record := _acp.take_back_deque(self.ga, _RECORD_BYTES)) is not None:
            self._free(record)

    def reserve(self, count: int) -> None:
        """Makes room for so many elements."""
        _acp.reserve_deque(self.ga, count * _RECORD_BYTES)

    @property
    def capacity(self) -> int:
        """The elements that the deque can have without growing."""
        return _acp.capacity_deque(self.ga) // _RECORD_BYTES

    def destroy(self) -> None:
        """Ends the deque for all ranks, and frees its elements."""
        self.clear()
        super().destroy()

    def _push(self, push: Any, values: Iterable[T]) -> None:
        records = [self._encode(value) for value in values]
        try:
            push(self.ga, b"".join(records))
        except BaseException:
            for record in records:
                self._free(record)
            raise

    def _encode(self, value: T) -> bytes:
        data = self._codec.encode(value)
        if len(data) < _RECORD_BYTES:
            return bytes([len(data)]) + data.ljust(_RECORD_BYTES - 1, b"\0")
        block = _acp.malloc(len(data), self._rank)
        _acp.write(block, data)
        return _BLOCK.pack(_LONG, block, len(data))

    def _decode(self, record: bytes) -> T:
        if record[0] != _LONG:
            return self._codec.decode(record[1:1 + record[0]])
        _, block, size = _BLOCK.unpack(record)
        data = _acp.read(block, size)
        _acp.free(block)
        return self._codec.decode(data)

    def _free(self, record: bytes) -> None:
        if record[0] == _LONG:
            _acp.free(_BLOCK.unpack(record)[1])

    def _taken(self, record: bytes | None) -> bytes:
        if record is None:
            raise IndexError(f"taking from {self!r}, which is empty")
        return record


class ByteDeque(Structure):
    """A deque of bytes as acp/deque.h has it, for programs that share it with C.

    Offsets and sizes count bytes.
    """

    _destroy = staticmethod(_acp.destroy_deque)

    def __init__(self, room: int = 0, rank: int | None = None) -> None:
        self.ga = _acp.create_deque(room, _acp.rank() if rank is None else rank)

    def __len__(self) -> int:
        return _acp.size_deque(self.ga)

    def append(self, data: bytes) -> None:
        """Adds bytes at the right end."""
        _acp.push_back_deque(self.ga, data)

    def appendleft(self, data: bytes) -> None:
        """Adds bytes at the left end, in their order."""
        _acp.push_front_deque(self.ga, data)

    def take(self, size: int) -> bytes | None:
        """Takes the last bytes, all or none: None if the deque has fewer."""
        return _acp.take_back_deque(self.ga, size)

    def takeleft(self, size: int) -> bytes | None:
        """Takes the first bytes, all or none: None if the deque has fewer."""
        return _acp.take_front_deque(self.ga, size)

    def __getitem__(self, part: slice) -> bytes:
        """A copy of a part. Other ranks must not change the deque meanwhile."""
        start, stop, step = part.indices(len(self))
        if step != 1:
            raise ValueError("a part is in one piece: its step is 1")
        return _acp.read(_acp.at_deque(self.ga, start), stop - start) if stop > start else b""

    def insert(self, offset: int, data: bytes) -> None:
        """Puts bytes before a position."""
        _acp.insert_deque(self.ga, offset, data)

    def erase(self, offset: int, size: int) -> None:
        """Takes bytes out of the middle."""
        _acp.erase_deque(self.ga, offset, size)

    def clear(self) -> None:
        """Takes all bytes out."""
        _acp.clear_deque(self.ga)

    def assign(self, other: ByteDeque) -> None:
        """Makes this deque equal to another one."""
        _acp.assign_deque(self.ga, other.ga)

    def swap(self, other: ByteDeque) -> None:
        """Exchanges the bytes with another deque."""
        _acp.swap_deque(self.ga, other.ga)
