"""Views outlive the job, functions raise, and nothing crashes."""

import gc

import numpy as np

import acp

with acp.job() as me:
    starter = acp.starter()
    numbers = starter.array("i8", 4)
    block = acp.malloc(8000)
    heap = block.array("f8")
    numbers[:], heap[:] = 7, 2.5
    registered = acp.register(np.ones(100))
    ones = registered.array("f8")
    neighbour = acp.starter((me.rank + 1) % me.procs)
    other = neighbour.array("i8", 4) if neighbour.is_reachable else None
    structures = [acp.Map(), acp.Deque(), acp.Vector(), acp.List(), acp.Set()]
    acp.sync()
numbers += 1
heap += 1
assert numbers.sum() == 32 and heap.sum() == 3500 and ones.sum() == 100
if other is not None:
    assert other[0] in (7, 8)
del ones
registered.free()
for call in (acp.rank, acp.sync, starter.get, lambda: neighbour.put(b"x"), structures[0].clear,
             lambda: structures[1].append(1), acp.finalize, acp.init):
    try:
        call()
    except acp.NotRunning as error:
        assert "ACPX_FINALIZED" in str(error), error
    else:
        raise AssertionError("no exception")
del heap, block, structures
gc.collect()
print("over")
