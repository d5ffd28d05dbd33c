"""Sets and maps: keys over ranks by hash, with the protocols of set and dict."""

from __future__ import annotations

from collections.abc import (ItemsView, Iterable, Iterator, KeysView, Mapping, MutableMapping,
                             MutableSet, ValuesView)
from typing import Any, Generic, TypeVar

from . import _acp
from .codecs import INT, Codec, Kind, codec_of, key_codec_of
from .structure import Structure

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

# How many pairs update() inserts by one call of the library.
_BATCH = 256


def _place(ranks: Iterable[int] | None, slots: int, rank: int | None) -> tuple[Any, int, int]:
    """Where a table is: over which ranks, for how many elements each, and its directory."""
    return (range(_acp.procs()) if ranks is None else list(ranks), slots,
            _acp.rank() if rank is None else rank)


class Set(Structure, MutableSet[K], Generic[K]):
    """A set of keys over all ranks or some of them, for all ranks.

    add(), discard() and `in` are each one undivided change or look. A walk meets each key that
    is there all the time once; local_keys() walks only those on this rank. Binary operators make
    sets of Python. slots: keys that each rank is to have, for speed only.
    """

    _destroy = staticmethod(_acp.destroy_set)
    _keys: Codec[K]

    def __init__(self, keys: Kind[K] = object,  # type: ignore[assignment]
                 slots: int = 1024, ranks: Iterable[int] | None = None,
                 rank: int | None = None) -> None:
        self._keys = key_codec_of(keys)
        self.ga = _acp.create_set(*_place(ranks, slots, rank))

    __eq__ = Structure.__eq__
    __hash__ = Structure.__hash__

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return set(it)

    def __len__(self) -> int:
        return _acp.size_set(self.ga)

    def __contains__(self, key: object) -> bool:
        return _acp.find_set(self.ga, self._keys.encode(key))  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[K]:
        return self._walk(False)

    def local_keys(self) -> Iterator[K]:
        """The keys on this rank. When all ranks walk theirs, each key is met once."""
        return self._walk(True)

    def _walk(self, is_local: bool) -> Iterator[K]:
        position = None
        while (found := _acp.walk_set(self.ga, is_local, position)) is not None:
            position, key, _ = found
            yield self._keys.decode(key)

    def add(self, key: K) -> None:
        """Puts a key in; nothing when it is there."""
        _acp.insert_set(self.ga, self._keys.encode(key))

    def discard(self, key: K) -> None:
        """Takes a key out; nothing when it is not there."""
        _acp.remove_set(self.ga, self._keys.encode(key))

    def update(self, *others: Iterable[K]) -> None:
        """Adds keys. Those of another acp.Set go from rank to rank."""
        for other in others:
            if isinstance(other, Set):
                _acp.merge_set(self.ga, other.ga)
            else:
                for key in other:
                    self.add(key)

    def update_local(self, other: Set[K]) -> None:
        """Adds those keys of another acp.Set that are on this rank: all ranks call it."""
        _acp.merge_local_set(self.ga, other.ga)

    def assign(self, other: Set[K]) -> None:
        """Makes this set equal to another one."""
        _acp.assign_set(self.ga, other.ga)

    def assign_local(self, other: Set[K]) -> None:
        """This rank's part of assign(): all ranks call it."""
        _acp.assign_local_set(self.ga, other.ga)

    def take_from(self, other: Set[K]) -> None:
        """Moves the keys of another set that are not here."""
        _acp.move_set(self.ga, other.ga)

    def take_from_local(self, other: Set[K]) -> None:
        """Moves those of the keys that are on this rank."""
        _acp.move_local_set(self.ga, other.ga)

    def swap(self, other: Set[K]) -> None:
        """Exchanges the keys with another set."""
        _acp.swap_set(self.ga, other.ga)

    def clear(self) -> None:
        """Takes all keys out."""
        _acp.clear_set(self.ga)

    def clear_local(self) -> None:
        """Takes the keys on this rank out."""
        _acp.clear_local_set(self.ga)

    def local_size(self) -> int:
        """The number of keys on this rank."""
        return _acp.size_local_set(self.ga)


class Map(Structure, MutableMapping[K, V], Generic[K, V]):
    """Values under keys, over all ranks or some of them, for all ranks.

    insert(), setdefault(), add(), look-ups and `del` are each one undivided operation.
    `m[key] = value` replaces in two steps, so another rank may find no key in between. A walk
    meets each element that is there all the time once; local_items() walks those on this rank.
    slots: elements that each rank is to have, for speed only.
    """

    _destroy = staticmethod(_acp.destroy_map)
    _keys: Codec[K]
    _values: Codec[V]

    def __init__(self, keys: Kind[K] = object,  # type: ignore[assignment]
                 values: Kind[V] = object,  # type: ignore[assignment]
                 slots: int = 1024, ranks: Iterable[int] | None = None,
                 rank: int | None = None) -> None:
        self._keys = key_codec_of(keys)
        self._values = codec_of(values)
        self.ga = _acp.create_map(*_place(ranks, slots, rank))

    __eq__ = Structure.__eq__
    __hash__ = Structure.__hash__

    def __len__(self) -> int:
        return _acp.size_map(self.ga)

    def __contains__(self, key: object) -> bool:
        return _acp.find_map(self.ga, self._keys.encode(key))  # type: ignore[arg-type]

    def __getitem__(self, key: K) -> V:
        value = _acp.retrieve_map(self.ga, self._keys.encode(key))
        if value is None:
            raise KeyError(key)
        return self._values.decode(value)

    def __setitem__(self, key: K, value: V) -> None:
        where, what = self._keys.encode(key), self._values.encode(value)
        while not _acp.insert_map(self.ga, where, what):
            _acp.remove_map(self.ga, where)

    def __delitem__(self, key: K) -> None:
        """KeyError without such a key. Of two ranks that delete it both may succeed."""
        where = self._keys.encode(key)
        if not _acp.find_map(self.ga, where):
            raise KeyError(key)
        _acp.remove_map(self.ga, where)

    def insert(self, key: K, value: V) -> bool:
        """Puts a value under a key that is not there. Of several ranks one gets True."""
        return _acp.insert_map(self.ga, self._keys.encode(key), self._values.encode(value))

    def discard(self, key: K) -> None:
        """Takes a key out; nothing when it is not there."""
        _acp.remove_map(self.ga, self._keys.encode(key))

    def setdefault(self, key: K, default: V = None) -> V:  # type: ignore[assignment]
        """The value under a key, which is the default from now on if there was none."""
        while not self.insert(key, default):
            value = _acp.retrieve_map(self.ga, self._keys.encode(key))
            if value is not None:
                return self._values.decode(value)
        return default

    def add(self, key: K, number: int = 1) -> int:
        """Counts: adds to the value under a key, 0 without one. Returns the value before.

        One undivided operation, for maps whose values are `int`.
        """
        if self._values is not INT:
            raise TypeError("counting needs acp.Map(values=int)")
        old = _acp.upsert_add8_map(self.ga, self._keys.encode(key), number)
        return old - (1 << 64) if old >> 63 else old

    def update(self, *others: Any, **named: Any) -> None:
        """Sets values, as dict.update(). New keys go in many at a time."""
        pairs: list[tuple[Any, Any]] = []
        for other in others:
            pairs.extend(other.items() if isinstance(other, Mapping) else other)
        pairs.extend(named.items())
        for start in range(0, len(pairs), _BATCH):
            # A key that comes twice has its last value.
            batch = [(self._keys.encode(key), self._values.encode(value))
                     for key, value in dict(pairs[start:start + _BATCH]).items()]
            for (key, value), is_new in zip(batch, _acp.insert_map_n(self.ga, batch)):
                while not is_new:
                    _acp.remove_map(self.ga, key)
                    is_new = _acp.insert_map(self.ga, key, value)

    def __iter__(self) -> Iterator[K]:
        return (key for key, _ in self._walk(False))

    def keys(self) -> KeysView[K]:
        """The keys of all ranks, in no particular order."""
        return KeysView(self)

    def values(self) -> ValuesView[V]:
        """The values of all ranks."""
        return _Values(self)

    def items(self) -> ItemsView[K, V]:
        """Keys with their values, of all ranks."""
        return _Items(self)

    def local_items(self) -> Iterator[tuple[K, V]]:
        """Those on this rank. When all ranks walk theirs, each element is met once."""
        return self._walk(True)

    def _walk(self, is_local: bool) -> Iterator[tuple[K, V]]:
        position = None
        while (found := _acp.walk_map(self.ga, is_local, position)) is not None:
            position, key, value = found
            yield self._keys.decode(key), self._values.decode(value)

    def update_local(self, other: Map[K, V]) -> None:
        """Copies elements of another map that are on this rank, unless their keys are here."""
        _acp.merge_local_map(self.ga, other.ga)

    def merge(self, other: Map[K, V]) -> None:
        """Copies the elements of another map whose keys are not here."""
        _acp.merge_map(self.ga, other.ga)

    def assign(self, other: Map[K, V]) -> None:
        """Makes this map equal to another one. A value is replaced in one step."""
        _acp.assign_map(self.ga, other.ga)

    def assign_local(self, other: Map[K, V]) -> None:
        """This rank's part of assign(): all ranks call it."""
        _acp.assign_local_map(self.ga, other.ga)

    def take_from(self, other: Map[K, V]) -> None:
        """Moves the elements of another map whose keys are not here."""
        _acp.move_map(self.ga, other.ga)

    def take_from_local(self, other: Map[K, V]) -> None:
        """Moves those of the elements that are on this rank."""
        _acp.move_local_map(self.ga, other.ga)

    def swap(self, other: Map[K, V]) -> None:
        """Exchanges the elements with another map."""
        _acp.swap_map(self.ga, other.ga)

    def clear(self) -> None:
        """Takes all elements out."""
        _acp.clear_map(self.ga)

    def clear_local(self) -> None:
        """Takes the elements on this rank out."""
        _acp.clear_local_map(self.ga)

    def local_size(self) -> int:
        """The number of elements on this rank."""
        return _acp.size_local_map(self.ga)


class _Items(ItemsView[K, V]):
    """A walk brings key and value together, without a look-up of each key."""

    _mapping: Map[K, V]

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return self._mapping._walk(False)


class _Values(ValuesView[V]):
    _mapping: Map[Any, V]

    def __iter__(self) -> Iterator[V]:
        return (value for _, value in self._mapping._walk(False))
