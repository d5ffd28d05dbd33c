"""A parallel map: a function over the chunks of an array, with the result in one array.

    acprun -np 4 python3 parallel_map.py

The result is registered memory of rank 0. Each rank computes chunks, and puts each into its
place by one copy: rank 0 takes no part in it. A word on rank 0 gives out the numbers of the
chunks, so a rank that is slow gets fewer.
"""

import numpy as np

import acp

POINTS = 200_000
CHUNK = 5_000


def logistic(start):
    """Where the map x -> 3.7 x (1 - x) has gone after 100 steps: elementwise, so in any chunks."""
    x = start.copy()
    for _ in range(100):
        x = 3.7 * x * (1 - x)
    return x


def parallel_map(function, values, chunk):
    """function(values) on all ranks, by chunks. Rank 0 gets the result, other ranks None."""
    result = np.empty_like(values) if acp.rank() == 0 else None
    memory = acp.broadcast(acp.register(result) if acp.rank() == 0 else None)
    next_chunk = acp.starter(0)
    acp.sync()
    while (start := chunk * acp.fetch_add(next_chunk, 1)) < len(values):
        memory.put(function(values[start:start + chunk]), offset=start * values.itemsize)
    acp.sync()
    return result


def main():
    with acp.job() as me:
        values = np.linspace(0.01, 0.99, POINTS)
        result = parallel_map(logistic, values, CHUNK)
        if me.rank == 0:
            print(f"{POINTS} points, mean {result.mean():.6f}")
            assert np.array_equal(result, logistic(values)), "DIFFERS from a sequential map"
            print("equal to a sequential map")


if __name__ == "__main__":
    main()
