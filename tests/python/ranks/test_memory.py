"""Global memory: views without copies, their life, registration, the heap."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import acp


def test_starter_memory_is_a_view(me):
    memory = acp.starter()
    numbers = memory.array("i8", 4, offset=16)
    numbers[:] = [1, 2, 3, 4 + me]
    assert memory.get(32, 16) == np.array([1, 2, 3, 4 + me], "i8").tobytes()
    assert np.shares_memory(numbers, memory.array("u1"))
    assert memory.rank == me


def test_array_has_the_shape_and_dtype(me):
    grid = acp.starter().array("f4", (3, 5), offset=8)
    assert grid.shape == (3, 5) and grid.dtype == np.float32 and grid.flags.writeable
    assert acp.starter().array("i4").size == len(acp.starter()) // 4
    with pytest.raises(ValueError):
        acp.starter().array("i8", len(acp.starter()))


def test_dlpack_takes_a_view(me):
    numbers = acp.starter().array("f8", 4)
    other = np.from_dlpack(numbers)
    numbers[2] = 7.5
    assert other[2] == 7.5


def test_put_reaches_the_neighbour(me, right, left):
    acp.starter(right).put(np.arange(8, dtype="i8") + me, offset=64)
    acp.sync()
    assert list(acp.starter().array("i8", 8, 64)) == [left + i for i in range(8)]


def test_memory_of_another_rank_is_read(me, right):
    acp.starter().array("i8", 1)[0] = 1000 + me
    acp.sync()
    assert int.from_bytes(acp.starter(right).get(8), "little") == 1000 + right
    target = np.zeros(1, "i8")
    acp.starter(right).get_into(target)
    assert target[0] == 1000 + right


@pytest.mark.parametrize("size", [0, 1, 65536, 300_000, 3_000_000])
def test_registered_arrays_of_all_sizes(me, right, size):
    mine = np.full(max(size, 1), me, "u1")
    regions = acp.all_gather(acp.register(mine))
    theirs = regions[right]
    assert theirs.get(size) == bytes([right]) * size
    acp.sync()
    theirs.put(np.full(size, 100 + me, "u1"))
    acp.sync()
    assert (mine[:size] == 100 + (me - 1) % acp.procs()).all()


def test_registration_keeps_the_array(me, right):
    array = np.arange(1000.0)
    gone = weakref.ref(array)
    told = acp.all_gather(acp.register(array))
    del array
    gc.collect()
    assert gone() is not None
    assert np.frombuffer(told[right].get())[999] == 999.0


def test_the_end_of_a_registration_frees_the_array(me):
    array = np.arange(1000.0)
    gone = weakref.ref(array)
    memory = acp.register(array)
    del array
    memory.free()
    del memory
    gc.collect()
    assert gone() is None


def test_a_freed_region_is_refused(me, right):
    memory = acp.register(np.zeros(100))
    told = acp.all_gather(memory)
    acp.sync()
    memory.free()
    acp.sync()
    with pytest.raises(acp.BadAddress) as caught:
        told[right].get()
    assert caught.value.code == 7 and caught.value.name == "ACPX_BAD_KEY"
    with pytest.raises(ValueError, match="freed"):
        memory.get()


def test_a_view_keeps_its_block(me):
    block = acp.malloc(800)
    numbers = block.array("f8", 100)
    numbers[:] = 3.0
    with pytest.raises(BufferError, match="1 views"):
        block.free()
    part = block[80:160].array("f8")
    del numbers
    with pytest.raises(BufferError):
        block.free()
    assert part[0] == 3.0
    del part
    block.free()
    assert block.closed
    with pytest.raises(ValueError, match="freed"):
        block.array()


def test_a_view_outlives_the_memory_object(me):
    numbers = acp.malloc(80).array("f8")
    gc.collect()
    numbers[:] = me
    assert numbers.sum() == 10 * me


def test_heap_of_another_rank(me, right):
    with acp.malloc(4096, right) as block:
        assert block.rank == right
        block.put(bytes([me]) * 4096)
        assert block.get() == bytes([me]) * 4096
    with pytest.raises(acp.NoMemory):
        acp.malloc(1 << 50)


def test_parts_and_addresses(me):
    memory = acp.starter()
    part = memory[16:32]
    assert part.size == 16 and part.ga == memory.at(16) and len(part[8:]) == 8
    with pytest.raises(IndexError):
        memory.at(len(memory))
    with pytest.raises(IndexError):
        memory.at(-1)
    with pytest.raises(TypeError):
        memory[3]
    with pytest.raises(ValueError):
        memory[0:10:2]


def test_memory_travels_as_a_pickle(me, right):
    told = acp.all_gather(acp.starter()[8:24])
    assert told[right].rank == right and told[right].size == 16
    told[right].put(b"sixteen bytes!!!")
    acp.sync()
    assert bytes(pickle.loads(pickle.dumps(acp.starter()))[8:24].get()) == b"sixteen bytes!!!"


def test_read_only_memory_is_refused(me):
    with pytest.raises((BufferError, ValueError)):
        acp.register(b"bytes cannot be written")
    strided = np.zeros((4, 4))[:, 1]
    with pytest.raises((BufferError, TypeError, ValueError)):
        acp.register(strided)
