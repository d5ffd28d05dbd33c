"""Names: publish and look up."""

import pytest

import acp


@pytest.mark.parametrize("value", ["handle", b"x" * 100_000, ("tuple", 7)],
                         ids=["text", "large", "tuple"])
def test_each_rank_finds_what_a_rank_publishes(me, procs, value):
    acp.publish(f"value of {me}", (me, value))
    for rank in range(procs):
        assert acp.lookup(f"value of {rank}") == (rank, value)
    acp.sync()
    acp.unpublish(f"value of {me}")


def test_a_structure_is_found_by_its_name(me):
    if me == 0:
        acp.publish("the map", acp.Map(str, int))
    words = acp.lookup("the map", timeout=60)
    words.add("ranks")
    acp.sync()
    assert words["ranks"] == acp.procs()
    acp.sync()
    if me == 0:
        words.destroy()
        acp.unpublish("the map")


def test_names_that_are_not_there(me):
    with pytest.raises(KeyError, match="within 0.05 s"):
        acp.lookup(f"nothing {me}", timeout=0.05)
    with pytest.raises(KeyError, match="not published"):
        acp.unpublish(f"nothing {me}")
    with pytest.raises(acp.InvalidArgument):
        acp.publish("", 1)


def test_a_name_is_published_once(me):
    acp.publish(f"once {me}", 1)
    with pytest.raises(KeyError, match="already"):
        acp.publish(f"once {me}", 2)
    assert acp.lookup(f"once {me}") == 1
    acp.unpublish(f"once {me}")


def test_raw_values_are_those_of_c(me):
    acp.publish(f"raw {me}", b"\1\2\3", raw=True)
    assert acp.lookup(f"raw {me}", raw=True) == b"\1\2\3"
    acp.unpublish(f"raw {me}")
