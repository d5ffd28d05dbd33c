"""Channels: objects, bytes and arrays, raw messages, requests."""

import gc

import numpy as np
import pytest

import acp


@pytest.fixture
def ring(me, procs, right, left):
    """Channels to the right and from the left."""
    if procs == 1:
        pytest.skip("a channel has two ranks")
    with acp.Channel(me, right) as out, acp.Channel(left, me) as into:
        yield out, into


OBJECTS = [None, 7, "text", {"a": [1, 2]}, b"", b"bytes", b"x" * 5000, b"y" * 300_000, "z" * 100_000,
           (1, ("nested", 2.5))]


@pytest.mark.parametrize("value", OBJECTS, ids=lambda value: f"{type(value).__name__}")
def test_objects_arrive_as_they_were(ring, value):
    out, into = ring
    request = out.isend(value)
    got = into.recv()
    request.wait()
    assert got == value and type(got) is type(value)


ARRAYS = [np.arange(6).reshape(2, 3), np.zeros(0), np.array(3.5), np.arange(200_000.0),
          np.arange(100)[::3], np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
          np.array(["ab", "c"])]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype.kind}{array.shape}")
def test_arrays_arrive_as_they_were(ring, array):
    out, into = ring
    request = out.isend(array)
    got = into.recv()
    request.wait()
    assert got.dtype == array.dtype and got.shape == array.shape
    assert np.array_equal(got, array)


def test_array_goes_into_another(ring, me, left):
    out, into = ring
    request = out.isend(np.full((300, 300), me, "f8"))
    target = np.empty((300, 300))
    assert into.recv(out=target) is target
    request.wait()
    assert (target == left).all()


def test_array_of_another_shape_is_refused(ring):
    out, into = ring
    requests = [out.isend(np.zeros(10)), out.isend("next")]
    with pytest.raises(ValueError, match="both have to be equal"):
        into.recv(out=np.zeros(11))
    assert into.recv() == "next"
    acp.wait_all(requests)


def test_messages_are_in_order(ring):
    out, into = ring
    requests = [out.isend(number) for number in range(100)]
    assert [into.recv() for _ in range(100)] == list(range(100))
    acp.wait_all(requests)


def test_raw_messages_are_those_of_c(ring, me, left):
    out, into = ring
    buffer = bytearray(100)
    receive = into.recv_raw(buffer)
    send = out.send_raw(b"rank %d" % me)
    assert receive.wait() and receive.size == 6
    assert bytes(buffer[:6]) == b"rank %d" % left
    assert send.wait() and receive.wait()


def test_time_limit_of_a_receive(ring):
    out, into = ring
    buffer = bytearray(10)
    receive = into.recv_raw(buffer)
    assert receive.wait(timeout=0.05) is False
    acp.sync()
    send = out.send_raw(b"now")
    assert receive.wait(timeout=60) and receive.size == 3
    send.wait()


def test_forgotten_requests_keep_their_buffers(ring):
    out, into = ring
    into.recv_raw(bytearray(200_000))
    gc.collect()
    out.send_raw(bytes(200_000)).wait()
    out.isend("behind").wait()
    assert into.recv() == "behind"


def test_receive_after_the_end_raises(me, procs):
    if procs == 1 or me > 1:
        return
    channel = acp.Channel(0, 1)
    if me == 0:
        channel.send("last")
        channel.free()
    else:
        assert channel.recv() == "last"
        with pytest.raises(EOFError):
            channel.recv()
        channel.free()


def test_wrong_ranks_are_refused(me, procs):
    with pytest.raises(ValueError):
        acp.Channel(me, me)
    with pytest.raises(acp.BadAddress):
        acp.Channel(me, procs)
