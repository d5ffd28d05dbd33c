"""Lists: linked elements on any ranks, which keep their place while the list changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from . import _acp
from .codecs import Codec, Kind, codec_of
from .structure import Structure

T = TypeVar("T")

END = 0


class List(Structure, Generic[T]):
    """A linked list of objects, for all ranks. It has no indices: a walk is a round trip a step.

    positions() gives each element with its position, a number for insert(), erase() and
    splice(); acp.END is behind the last element. Two ranks that pop at one time may meet at one
    element, and one of them then fails: a work queue is an acp.Deque.
    """

    _destroy = staticmethod(_acp.destroy_list)
    _codec: Codec[T]

    def __init__(self, elements: Kind[T] = object,  # type: ignore[assignment]
                 rank: int | None = None) -> None:
        self._codec = codec_of(elements)
        self.ga = _acp.create_list(_acp.rank() if rank is None else rank)

    def __len__(self) -> int:
        return _acp.size_list(self.ga)

    def append(self, value: T, rank: int | None = None) -> None:
        """Adds an element at the end. `rank` has its bytes, by default this one."""
        _acp.push_back_list(self.ga, self._codec.encode(value), _here(rank))

    def appendleft(self, value: T, rank: int | None = None) -> None:
        """Adds an element at the front."""
        _acp.push_front_list(self.ga, self._codec.encode(value), _here(rank))

    def extend(self, values: Iterable[T]) -> None:
        """Adds elements at the end, one after the other."""
        for value in values:
            self.append(value)

    def insert(self, position: int, value: T, rank: int | None = None) -> int:
        """Puts an element before a position, and returns its position."""
        return _acp.insert_list(self.ga, position, self._codec.encode(value), _here(rank))

    def erase(self, position: int) -> int:
        """Takes the element at a position out. Returns the position behind it."""
        return _acp.erase_list(self.ga, position)

    def pop(self) -> T:
        """Takes the last element; IndexError when there is none."""
        return self._take(_acp.decrement_list_it(self.ga, END))

    def popleft(self) -> T:
        """Takes the first element; IndexError when there is none."""
        return self._take(_acp.begin_list(self.ga))

    def __iter__(self) -> Iterator[T]:
        for _, value in self.positions():
            yield value

    def __reversed__(self) -> Iterator[T]:
        first = _acp.begin_list(self.ga)
        position = END
        while position != first:
            position = _acp.decrement_list_it(self.ga, position)
            yield self[position]

    def positions(self) -> Iterator[tuple[int, T]]:
        """Each element with its position. The walk may erase the element that it is at."""
        position = _acp.begin_list(self.ga)
        while position != END:
            value = self[position]
            following = _acp.increment_list_it(self.ga, position)
            yield position, value
            position = following

    def __getitem__(self, position: int) -> T:
        """The element at a position that positions() or insert() gave."""
        return self._codec.decode(_acp.read(*_acp.dereference_list_it(self.ga, position)))

    def remove(self, value: T) -> int:
        """Erases all elements with the bytes of this value. Returns how many there were."""
        before = len(self)
        _acp.remove_list(self.ga, self._codec.encode(value))
        return before - len(self)

    def reverse(self) -> None:
        """Turns the order around."""
        _acp.reverse_list(self.ga)

    def unique(self) -> None:
        """Erases elements that have the same bytes as the one before them."""
        _acp.unique_list(self.ga)

    def sort(self, key: Callable[[T], Any] | None = None) -> None:
        """Sorts; equal elements keep their order. The key function must not use the list."""
        _acp.sort_list(self.ga, self._comparison(key))

    def merge(self, other: List[T], key: Callable[[T], Any] | None = None) -> None:
        """Moves the elements of a sorted list into this sorted one."""
        _acp.merge_list(self.ga, other.ga, self._comparison(key))

    def splice(self, position: int, other: List[T], start: int, end: int | None = None) -> None:
        """Moves an element of a list, or those up to `end`, before a position. No data moves."""
        if end is None:
            _acp.splice_list(self.ga, position, other.ga, start)
        else:
            _acp.splice_range_list(self.ga, position, other.ga, start, end)

    def assign(self, other: List[T]) -> None:
        """Makes this list equal to another one."""
        _acp.assign_list(self.ga, other.ga)

    def swap(self, other: List[T]) -> None:
        """Exchanges the elements with another list."""
        _acp.swap_list(self.ga, other.ga)

    def clear(self) -> None:
        """Erases all elements."""
        _acp.clear_list(self.ga)

    def _take(self, position: int) -> T:
        if position == END:
            raise IndexError(f"taking from {self!r}, which is empty")
        value = self[position]
        self.erase(position)
        return value

    def _comparison(self, key: Callable[[T], Any] | None) -> Callable[[bytes, bytes], int]:
        def compare(first: bytes, second: bytes) -> int:
            a: Any = self._codec.decode(first)
            b: Any = self._codec.decode(second)
            if key is not None:
                a, b = key(a), key(b)
            return -1 if a < b else int(b < a)

        return compare


def _here(rank: int | None) -> int:
    return _acp.rank() if rank is None else rank
