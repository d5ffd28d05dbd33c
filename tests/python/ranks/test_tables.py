"""Sets, maps, workspaces, and objects for all ranks."""

import pickle
from collections.abc import MutableMapping, MutableSet

import numpy as np
import pytest

import acp


@pytest.fixture
def table():
    with acp.share(acp.Map) as shared:
        yield shared


def test_map_has_the_protocol_of_dict(me):
    with acp.Map() as m:
        assert isinstance(m, MutableMapping) and len(m) == 0 and not list(m)
        m["a"] = 1
        m[("tuple", 2)] = {"value": [3]}
        m[7] = "x" * 10_000
        m["a"] = 2
        assert m["a"] == 2 and m[7] == "x" * 10_000 and m[("tuple", 2)] == {"value": [3]}
        assert "a" in m and "b" not in m and len(m) == 3
        assert set(m) == set(m.keys()) == {"a", ("tuple", 2), 7}
        assert dict(m.items()) == {"a": 2, ("tuple", 2): {"value": [3]}, 7: "x" * 10_000}
        assert 2 in m.values() and len(m.items()) == 3
        assert m.get("b") is None and m.get("b", 5) == 5 and m.get("a") == 2
        assert m.setdefault("a", 9) == 2 and m.setdefault("c", 9) == 9
        assert m.pop("c") == 9 and m.pop("c", None) is None
        del m["a"]
        with pytest.raises(KeyError):
            m["a"]
        with pytest.raises(KeyError):
            del m["a"]
        m.discard("a")
        assert m.insert("n", None) and not m.insert("n", 1) and m["n"] is None
        m.clear()
        assert len(m) == 0


def test_update_takes_many(me):
    with acp.Map(int, str) as m:
        m[5] = "old"
        m.update({number: str(number) for number in range(700)})
        m.update([(1, "one"), (1, "uno")])
        assert len(m) == 700 and m[5] == "5" and m[1] == "uno" and m[699] == "699"
        with acp.Map(str, int) as named:
            named.update(a=1, b=2)
            assert dict(named) == {"a": 1, "b": 2}


def test_keys_of_equal_value_are_one_key(me):
    a = "".join(["spe", "ed"])
    with acp.Map() as m:
        m[(a, a)] = 1
        assert m[("speed", "".join(["sp", "eed"]))] == 1
        m[np.float64(2.5)] = 2
        with pytest.raises(TypeError, match="unhashable"):
            m[[1]] = 2
        with pytest.raises(TypeError, match="frozenset"):
            m[("x", frozenset([1]))] = 2


def test_keys_and_values_as_bytes(me):
    with acp.Map(bytes, bytes) as m:
        m[b"k"] = b""
        m[bytearray(b"long" * 100)] = b"v" * 5000
        assert m[b"k"] == b"" and m[b"long" * 100] == b"v" * 5000
        assert sorted(m.items()) == [(b"k", b""), (b"long" * 100, b"v" * 5000)]
        with pytest.raises(TypeError, match="bytes, not str"):
            m["k"] = b""
        with pytest.raises(acp.InvalidArgument):
            m[b""] = b"an empty key"


def test_counting_of_all_ranks(table, me, procs):
    with acp.share(acp.Map, str, int) as counts:
        for number in range(100):
            counts.add(f"word {number % 10}")
        counts.add("negative", -2)
        acp.sync()
        assert {counts[f"word {number}"] for number in range(10)} == {10 * procs}
        assert counts["negative"] == -2 * procs
        with pytest.raises(TypeError, match="values=int"):
            table.add("x")


def test_one_insert_of_several_succeeds(table, me, procs):
    wins = [table.insert(("key", number), me) for number in range(50)]
    everyone = acp.all_gather(wins)
    assert all(sum(column) == 1 for column in zip(*everyone))
    assert all(everyone[table[("key", number)]][number] for number in range(50))


def test_local_items_are_all_items_once(table, me, procs):
    for number in range(me, 300, procs):
        table[number] = number * number
    acp.sync()
    mine = list(table.local_items())
    assert len(mine) == table.local_size()
    everyone = [pair for pairs in acp.all_gather(mine) for pair in pairs]
    assert sorted(everyone) == [(number, number * number) for number in range(300)]


def test_walk_while_others_change(table, me):
    table.update({("stays", me, number): number for number in range(50)})
    acp.sync()
    for number in range(50):
        table[("goes", me, number)] = "x" * (number * 10)
    seen = [key for key in table if key[0] == "stays"]
    for number in range(50):
        del table[("goes", me, number)]
    assert sorted(set(seen)) == sorted(seen)
    assert len(seen) == 50 * acp.procs()


def test_maps_are_merged_assigned_moved_swapped(me):
    with acp.Map(int, int) as a, acp.Map(int, int) as b:
        a.update({1: 10, 2: 20})
        b.update({2: 21, 3: 30})
        a.merge(b)
        assert dict(a) == {1: 10, 2: 20, 3: 30}
        b.assign(a)
        assert dict(b) == dict(a) and b != a
        del a[1]
        a.take_from(b)
        assert dict(a) == {1: 10, 2: 20, 3: 30} and dict(b) == {2: 20, 3: 30}
        a.swap(b)
        assert len(a) == 2 and len(b) == 3


def test_local_parts_together_are_the_whole(me, procs):
    with acp.share(acp.Map, int, int) as a, acp.share(acp.Map, int, int) as b:
        b.update({number: me for number in range(me, 100, procs)})
        acp.sync()
        a.update_local(b)
        acp.sync()
        assert len(a) == 100
        acp.sync()
        a.clear_local()
        acp.sync()
        assert len(a) == 0
        acp.sync()
        a.assign_local(b)
        acp.sync()
        assert dict(a) == dict(b)
        acp.sync()
        a.clear_local()
        acp.sync()
        a.take_from_local(b)
        acp.sync()
        assert len(a) == 100 and len(b) == 0


def test_set_has_the_protocol_of_set(me):
    with acp.Set() as s:
        assert isinstance(s, MutableSet)
        s.add("a")
        s.add(("b", 2))
        s.add("a")
        assert len(s) == 2 and "a" in s and "c" not in s
        assert set(s) == {"a", ("b", 2)}
        assert s | {"c"} == {"a", ("b", 2), "c"} and s & {"a"} == {"a"}
        s.discard("c")
        s.remove("a")
        with pytest.raises(KeyError):
            s.remove("a")
        s.update(["x", "y"], {"z"})
        assert len(s) == 4
        s.clear()
        assert len(s) == 0


def test_sets_of_all_ranks(me, procs):
    with acp.share(acp.Set, int) as a, acp.share(acp.Set, int) as b:
        b.update(range(me, 60, procs))
        acp.sync()
        everyone = [key for keys in acp.all_gather(list(b.local_keys())) for key in keys]
        assert sorted(everyone) == list(range(60)) and b.local_size() <= 60
        a.update_local(b)
        acp.sync()
        assert set(a) == set(range(60))
        acp.sync()
        a.clear_local()
        acp.sync()
        a.assign_local(b)
        acp.sync()
        assert len(a) == 60
        acp.sync()
        a.clear_local()
        acp.sync()
        a.take_from_local(b)
        acp.sync()
        assert len(a) == 60 and len(b) == 0


def test_sets_are_merged_and_swapped(me):
    with acp.Set(str) as a, acp.Set(str) as b:
        a.update("ab")
        b.update("bc")
        a.update(b)
        assert set(a) == set("abc")
        b.take_from(a)
        assert set(b) == set("abc") and set(a) == set("bc")
        b.assign(a)
        b.add("z")
        a.swap(b)
        assert set(a) == set("bcz") and set(b) == set("bc")


def test_table_on_some_ranks(me, procs, right):
    with acp.Map(int, int, slots=16, ranks=[right], rank=right) as m:
        m.update({number: number for number in range(40)})
        assert len(m) == 40 and m.local_size() == (40 if right == me else 0)
    with pytest.raises(acp.BadAddress):
        acp.Map(ranks=[procs])


def test_structure_travels_as_a_pickle(table, me):
    again = pickle.loads(pickle.dumps(table))
    again["key", me] = me
    assert table["key", me] == me and again == table and hash(again) == hash(table)
    table["itself"] = table
    assert table["itself"] == table


class Celsius(float):
    """An object of the program's own class."""


def test_objects_of_own_classes(table, me):
    table[me] = Celsius(20.5)
    assert isinstance(table[me], Celsius)


def test_own_codec(me):
    upper = acp.Codec("upper", lambda text: text.upper().encode(), lambda data: data.decode())
    with acp.Map(keys=upper, values=upper) as m:
        m["a"] = "b"
        assert m["A"] == "B" and list(m) == ["A"]
    with pytest.raises(TypeError, match="no kind of elements"):
        acp.Map(keys=list)


def test_workspace_is_memory_of_all(me, procs):
    with acp.Workspace(1000 * procs, part=96) as space:
        space.write(1000 * me, np.full(1000, me, "u1"))
        acp.sync()
        for rank in range(procs):
            assert space.read(1000 * rank, 1000) == bytes([rank]) * 1000
        target = np.zeros(1000 * procs, "u1")
        space.read_into(0, target)
        assert (target == np.repeat(np.arange(procs), 1000)).all()
        assert space.read_array(0, "u2", 2).tolist() == [0, 0]
        assert len(space) == 1000 * procs
        with pytest.raises(acp.BadAddress):
            space.read(1000 * procs, 1)
        acp.sync()


def test_broadcast_and_gather(me, procs):
    for root in range(procs):
        assert acp.broadcast(("from", me, "x" * 3000), root) == ("from", root, "x" * 3000)
    assert acp.all_gather([me]) == [[rank] for rank in range(procs)]
