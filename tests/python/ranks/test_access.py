"""Copies, atomics, chains, orders and waits."""

import threading
import time

import numpy as np
import pytest

import acp


def test_copy_takes_memory_and_numbers(me, right, left):
    words = acp.starter().array("i8")
    words[0] = 50 + me
    target = acp.starter(right)
    handle = acp.copy(target.at(8), acp.starter(), 8)
    handle = acp.copy(dst=target.ga + 16, src=acp.starter().ga, size=np.int64(8), order=handle)
    assert acp.complete(handle) and not acp.inquire(handle)
    acp.sync()
    assert list(words[1:3]) == [50 + left, 50 + left]


def test_arguments_are_checked(me):
    with pytest.raises(TypeError, match="'size' is missing"):
        acp.copy(1, 2)
    with pytest.raises(TypeError, match="'speed'"):
        acp.copy(1, 2, 8, speed=3)
    with pytest.raises(TypeError, match="4 arguments"):
        acp.copy(1, 2, 3, 4, 5)
    with pytest.raises(TypeError):
        acp.copy("1", 2, 3)
    with pytest.raises(OverflowError):
        acp.copy(1 << 64, 2, 8)
    with pytest.raises(OverflowError):
        acp.add4(acp.starter(), acp.starter().at(8), 1 << 32)


def test_atomics_return_the_old_value(me, procs):
    word = acp.starter(0).at(128)
    old = acp.fetch_add(word, 1)
    assert 0 <= old < procs
    acp.sync()
    assert acp.fetch_add(word, 0) == procs
    acp.sync()
    if me == 0:
        assert acp.swap(word, 0b1100) == procs
        assert acp.fetch_and(word, 0b0110) == 0b1100
        assert acp.fetch_or(word, 0b0001) == 0b0100
        assert acp.fetch_xor(word, 0b1111) == 0b0101
        assert acp.compare_and_swap(word, 1, 2) == 0b1010
        assert acp.compare_and_swap(word, 0b1010, 2) == 0b1010
        assert acp.fetch_add(word, -3) == 2
        assert acp.fetch_add(word, 0) == 2**64 - 1


def test_atomics_of_four_bytes(me, right):
    word = acp.starter(right).at(64)
    assert acp.fetch_add(word, 5, width=4) == 0
    assert acp.compare_and_swap(word, 5, 9, width=4) == 5
    assert acp.swap(word, 1, width=4) == 9
    with pytest.raises(ValueError, match="4 or 8"):
        acp.fetch_add(word, 5, width=2)
    with pytest.raises(acp.BadAddress) as caught:
        acp.fetch_add(acp.starter(right).at(65), 5, width=4)
    assert caught.value.name == "ACPX_MISALIGNED"


def test_atomics_with_handles(me, right):
    mine, theirs = acp.starter(), acp.starter(right)
    handle = acp.add8(mine.at(8), theirs.at(256), 3)
    acp.complete(acp.swap8(mine.at(16), theirs.at(256), 10, order=handle))
    assert list(mine.array("u8", 2, 8)) == [0, 3]
    acp.complete(acp.cas8(mine.at(8), theirs.at(256), 10, 11, order=acp.ALL))
    acp.complete(acp.xor4(mine.at(8), theirs.at(512), 7, acp.CONT))
    assert mine.array("u4", 1, 8)[0] == 0


def test_chain_is_in_order(me, right, left):
    mine, theirs = acp.starter(), acp.starter(right)
    mine.array("i8", 1)[0] = 7 + me
    chain = acp.Chain().put(theirs.at(64), mine, 8).add8(theirs.at(64), 100, old=mine.at(8))
    chain.get(theirs.at(64), mine.at(16), 8).put8(theirs.at(72), 1, flags=acp.SIGNAL)
    assert len(chain) == 4
    acp.complete(chain.post())
    assert list(mine.array("i8", 2, 8)) == [7 + me, 107 + me]
    assert acp.wait_word(mine.at(72), 0, timeout=60) == 1
    assert mine.array("i8", 1, 64)[0] == 107 + left


def test_chain_of_too_many_steps_is_refused(me, right):
    chain = acp.Chain()
    for _ in range(17):
        chain.add8(acp.starter(right), 1)
    with pytest.raises(acp.InvalidArgument):
        chain.post()


def test_put_signal_wakes_a_waiter(me, right, left):
    mine = acp.starter()
    mine.array("i8", 1)[0] = 300 + me
    acp.put_signal(acp.starter(right).at(8), mine, 8, acp.starter(right).at(64))
    assert acp.wait_word(mine.at(64), 0, timeout=60) == 1
    assert mine.array("i8", 1, 8)[0] == 300 + left
    acp.sync()
    acp.complete(acp.put_signal(0, 0, 0, acp.starter(right).at(64), add=0))
    acp.complete(acp.put_signal(0, 0, 0, acp.starter(right).at(64), 41, order=acp.ALL))
    acp.sync()
    assert mine.array("i8", 1, 64)[0] == 42


def test_waits_end_with_their_time(me):
    word = acp.starter().at(64)
    assert acp.wait_word(word, 0, timeout=0) is None
    begin = time.monotonic()
    assert acp.wait_word(word, 0, timeout=0.25) is None
    assert time.monotonic() - begin >= 0.25
    assert acp.wait_until(lambda: False, timeout=0.05) is False
    assert acp.wait_until(lambda: 1, timeout=0)
    with pytest.raises(ValueError):
        acp.wait_word(word, 0, timeout=float("nan"))


def test_condition_may_raise(me):
    with pytest.raises(ZeroDivisionError):
        acp.wait_until(lambda: 1 // 0, timeout=60)


def test_sync_with_a_time_limit_goes_on(me, procs):
    if procs == 1:
        assert acp.sync(timeout=60)
        return
    if me == 0:
        assert not acp.sync(timeout=0.05)
        for rank in range(1, procs):
            acp.fetch_add(acp.starter(rank).at(64), 1)
    else:
        assert acp.wait_word(acp.starter().at(64), 0, timeout=60) == 1
    assert acp.sync(timeout=60)


def test_other_threads_run_during_a_wait(me):
    word = acp.starter().at(64)

    def signal():
        acp.fetch_add(word, 1)

    thread = threading.Thread(target=signal)
    thread.start()
    assert acp.wait_word(word, 0, timeout=60) == 1
    thread.join()


def test_threads_use_the_library_at_one_time(me, right):
    word = acp.starter(right).at(64)

    def count():
        for _ in range(200):
            acp.fetch_add(word, 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    acp.sync()
    assert acp.starter().array("i8", 1, 64)[0] == 800


def test_errors_name_all_that_is_known(me, procs):
    with pytest.raises(acp.Error) as caught:
        acp.copy(acp.starter().at(len(acp.starter()) - 1), acp.starter(), 8)
    error = caught.value
    assert (error.code, error.name, error.function) == (6, "ACPX_BAD_ADDRESS", "acp_copy")
    assert isinstance(error, IndexError)
    text = str(error)
    assert text.startswith(f"rank {me}: acp_copy(0x") and "Next: " in text
    assert error.remedy in text and "address outside its region" in text
    with pytest.raises(acp.BadAddress, match="ranks count from 0"):
        acp.starter(procs)


def test_ranks_and_settings(me, procs):
    assert 0 <= me < procs and acp.colors() >= 1
    assert acp.query_rank(acp.starter(0)) == 0 and acp.query_color(acp.starter(0).ga) == 0
    assert acp.setting("ACP_STARTER_MEMORY") == len(acp.starter())
    assert acp.atomics_agree(0) in (0, 1)
    acp.announce_memory(acp.starter(), 64, 0)
    acp.trim_malloc()
    acp.flush()
    with pytest.raises(acp.InvalidArgument):
        acp.setting("ACP_NO_SUCH_SETTING")
