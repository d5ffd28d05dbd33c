"""Vectors, deques and lists."""

from collections import Counter

import numpy as np
import pytest

import acp


def test_vector_is_a_sequence_of_numbers(me):
    with acp.Vector("f8") as vector:
        assert len(vector) == 0 and list(vector) == []
        vector.append(1.5)
        vector.extend(np.arange(4))
        assert list(vector) == [1.5, 0, 1, 2, 3] and len(vector) == 5
        assert vector[-1] == 3 and vector[0] == 1.5
        assert list(vector[1:3]) == [0, 1] and list(vector[::2]) == [1.5, 1, 3]
        vector[0] = 9
        vector[1:3] = [7, 8]
        vector.insert(1, 5)
        del vector[-1]
        del vector[2:4]
        assert list(vector.array()) == [9, 5, 2]
        assert vector.pop() == 2 and len(vector) == 2
        vector.reserve(100)
        assert vector.capacity >= 100
        vector.clear()
        assert len(vector) == 0
        for index in (0, -1, slice(0, 1)):
            if isinstance(index, int):
                with pytest.raises(IndexError):
                    vector[index]
            else:
                assert len(vector[index]) == 0
        with pytest.raises(IndexError):
            vector.pop()
        with pytest.raises(ValueError):
            vector[0:2] = [1]


def test_vector_takes_appends_of_all_ranks(me, procs):
    with acp.share(acp.Vector, "i4") as vector:
        for number in range(50):
            vector.extend([me, number])
        acp.sync()
        pairs = vector.array().reshape(-1, 2)
        assert Counter(map(tuple, pairs.tolist())) == Counter(
            (rank, number) for rank in range(procs) for number in range(50))


def test_vectors_are_assigned_and_swapped(me, right):
    with acp.Vector("i8", rank=right) as a, acp.Vector("i8", size=3) as b:
        a.extend([1, 2, 3, 4])
        b.assign(a)
        assert list(b) == [1, 2, 3, 4]
        b.assign(a, 1, 3)
        assert list(b) == [2, 3]
        a.swap(b)
        assert list(a) == [2, 3] and len(b) == 4
        with pytest.raises(ValueError):
            a.swap(acp.Vector("u1"))


def test_deque_has_two_ends(me):
    with acp.Deque() as deque:
        deque.append("b" * 100)
        deque.appendleft(("a", 1))
        deque.extend([3, None])
        deque.extendleft([1.5, b""])
        assert len(deque) == 6
        assert deque.popleft() == b"" and deque.popleft() == 1.5
        assert deque.pop() is None and deque.pop() == 3
        assert deque.takeleft() == ("a", 1) and deque.take() == "b" * 100
        assert deque.take() is None and deque.takeleft("nothing") == "nothing"
        for take in (deque.pop, deque.popleft):
            with pytest.raises(IndexError, match="empty"):
                take()
        deque.extend("long " * 50 for _ in range(3))
        deque.clear()
        assert len(deque) == 0
        deque.reserve(100)
        assert deque.capacity >= 100


def test_each_element_of_a_deque_is_taken_once(me, procs):
    with acp.share(acp.Deque) as deque:
        deque.extend((me, number, "x" * (number % 60)) for number in range(100))
        acp.sync()
        mine = []
        while (element := deque.takeleft() if me % 2 else deque.take()) is not None:
            mine.append(element[:2])
        everyone = [pair for pairs in acp.all_gather(mine) for pair in pairs]
        assert sorted(everyone) == [(rank, number) for rank in range(procs)
                                    for number in range(100)]


def test_deque_gives_its_blocks_back(me):
    with acp.Deque() as deque:
        for _ in range(6):
            deque.extend(bytes(1_000_000) for _ in range(200))  # 200 MB of a heap of 1 GiB
            while deque.take() is not None:
                pass
    acp.trim_malloc()


@pytest.mark.parametrize("kind, value", [(bytes, b"ab"), (str, "ab\u00e4"), (int, -5), (float, 2.5)])
def test_elements_of_other_kinds(me, kind, value):
    with acp.Deque(kind) as deque, acp.List(kind) as chain:
        deque.append(value)
        chain.append(value)
        assert deque.pop() == value and list(chain) == [value]
        with pytest.raises((TypeError, OverflowError)):
            deque.append(object())


def test_byte_deque_is_that_of_c(me, right):
    with acp.ByteDeque(rank=right) as deque:
        deque.append(b"cdef")
        deque.appendleft(b"ab")
        assert deque[:] == b"abcdef" and deque[1:3] == b"bc" and len(deque) == 6
        deque.insert(2, b"--")
        deque.erase(0, 1)
        assert deque[:] == b"b--cdef"
        assert deque.takeleft(3) == b"b--" and deque.take(2) == b"ef" and deque.take(3) is None
        with acp.ByteDeque() as other:
            other.assign(deque)
            other.append(b"!")
            other.swap(deque)
            assert deque[:] == b"cd!" and other[:] == b"cd"
        deque.clear()
        assert deque[:] == b""


def test_list_is_walked_and_changed(me):
    with acp.List() as chain:
        chain.extend(["b", "d"])
        chain.appendleft("a")
        assert list(chain) == ["a", "b", "d"] and list(reversed(chain)) == ["d", "b", "a"]
        positions = {value: position for position, value in chain.positions()}
        where = chain.insert(positions["d"], "c" * 1000)
        assert chain[where] == "c" * 1000 and len(chain) == 4
        chain.insert(acp.END, "e")
        assert chain.erase(positions["b"]) == where
        assert chain.popleft() == "a" and chain.pop() == "e"
        assert list(chain) == ["c" * 1000, "d"]
        assert chain.remove("d") == 1 and chain.remove("d") == 0
        chain.clear()
        assert list(chain) == list(reversed(chain)) == []
        for take in (chain.pop, chain.popleft):
            with pytest.raises(IndexError, match="empty"):
                take()


def test_list_is_sorted_and_merged(me):
    with acp.List(int) as chain, acp.List(int) as other:
        chain.extend([3, -1, 2, 2])
        chain.sort()
        assert list(chain) == [-1, 2, 2, 3]
        chain.unique()
        other.extend([0, 5])
        chain.merge(other)
        assert list(chain) == [-1, 0, 2, 3, 5] and len(other) == 0
        chain.sort(key=lambda value: -value)
        chain.reverse()
        assert list(chain) == [-1, 0, 2, 3, 5]
        with pytest.raises(ZeroDivisionError):
            chain.sort(key=lambda value: 1 // (value - 2))
        assert sorted(chain) == [-1, 0, 2, 3, 5]


def test_elements_move_between_lists(me):
    with acp.List(str) as a, acp.List(str) as b:
        a.extend("wxyz")
        b.extend("12")
        places = {value: position for position, value in a.positions()}
        first = next(b.positions())[0]
        b.splice(first, a, places["x"])
        b.splice(acp.END, a, places["y"], acp.END)
        assert "".join(a) == "w" and "".join(b) == "x12yz"
        a.assign(b)
        a.append("!")
        a.swap(b)
        assert "".join(b) == "x12yz!" and "".join(a) == "x12yz"


def test_list_takes_elements_of_all_ranks(me, procs):
    with acp.share(acp.List) as chain:
        for number in range(20):
            chain.append((me, number), rank=(me + number) % procs)
        acp.sync()
        assert sorted(chain) == [(rank, number) for rank in range(procs) for number in range(20)]


def test_a_destroyed_structure_is_refused(me):
    deque = acp.Deque()
    deque.destroy()
    with pytest.raises(acp.InvalidArgument) as caught:
        len(deque)
    assert isinstance(caught.value, ValueError) and caught.value.function == "acp_size_deque"
