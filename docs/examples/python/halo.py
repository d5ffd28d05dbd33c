"""Heat on a square plate, with NumPy: each rank has some rows, and its neighbours' outermost ones.

    acprun -np 4 python3 halo.py

Before each step a rank puts its outermost rows into the halo of its neighbours, with a signal: a
neighbour that sees the counter move sees the row. A rank waits for its neighbours only, and
there is no barrier in the loop. Each point is computed from the same numbers whatever the number
of ranks is, so the result is equal to the last bit.

Two plates take turns. A neighbour puts into the halo of the next step only after it has got the
row of this step, so it cannot be two steps ahead of this rank.
"""

import zlib

import numpy as np

import acp

SIZE = 128
STEPS = 100


def hot_plate():
    """The plate at the start: a hot edge above, and a warm spot."""
    plate = np.zeros((SIZE, SIZE))
    plate[0] = 100.0
    plate[SIZE // 2, SIZE // 3] = 50.0
    return plate


def step(old, new):
    """One step of the inner points of an array with a row above and below."""
    new[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
    new[1:-1, 0], new[1:-1, -1] = old[1:-1, 0], old[1:-1, -1]


def sequential():
    old, new = hot_plate(), hot_plate()
    for _ in range(STEPS):
        step(old, new)
        old, new = new, old
    return old


class Strip:
    """The rows of a rank, with a halo of one row above and below, on two plates."""

    def __init__(self, rank, procs):
        self.first, self.last = SIZE * rank // procs, SIZE * (rank + 1) // procs
        self.rows = self.last - self.first
        self.plates = np.zeros((2, self.rows + 2, SIZE))
        self.plates[:, 1:-1] = hot_plate()[self.first:self.last]
        self.memory = acp.register(self.plates)
        # Counters of starter memory: rows that came from above and from below.
        self.arrived = acp.starter()[0:16]
        strips = acp.all_gather((self.memory, self.arrived, self.rows))
        self.above = strips[rank - 1] if rank > 0 else None
        self.below = strips[rank + 1] if rank + 1 < procs else None

    def at(self, rows, plate, row):
        """The offset of a row in the memory of a strip with so many rows."""
        return ((rows + 2) * plate + row) * SIZE * self.plates.itemsize

    def exchange(self, plate, number):
        """Gives the outermost rows to the neighbours, and waits for theirs."""
        size = SIZE * self.plates.itemsize
        if self.above:
            memory, arrived, rows = self.above
            acp.put_signal(memory.at(self.at(rows, plate, rows + 1)),
                           self.memory.at(self.at(self.rows, plate, 1)), size, arrived.at(8))
        if self.below:
            memory, arrived, rows = self.below
            acp.put_signal(memory.at(self.at(rows, plate, 0)),
                           self.memory.at(self.at(self.rows, plate, self.rows)), size,
                           arrived.at(0))
        for neighbour, word in ((self.above, 0), (self.below, 8)):
            seen = number - 1
            while neighbour and seen < number:
                seen = acp.wait_word(self.arrived.at(word), seen)
        acp.complete()  # The rows that were put may be overwritten in the next step but one.


def main():
    with acp.job() as me:
        strip = Strip(me.rank, me.procs)
        acp.sync()
        for number in range(STEPS):
            plate = number % 2
            strip.exchange(plate, number + 1)
            old, new = strip.plates[plate], strip.plates[1 - plate]
            step(old, new)
            if me.rank == 0:
                new[1] = old[1]  # The edges of the plate stay as they are.
            if me.rank == me.procs - 1:
                new[-2] = old[-2]
        parts = acp.all_gather(strip.plates[STEPS % 2, 1:-1].copy())
        if me.rank == 0:
            plate = np.concatenate(parts)
            print(f"{SIZE} x {SIZE} points, {STEPS} steps: checksum {zlib.crc32(plate.tobytes()):08x}")
            assert np.array_equal(plate, sequential()), "DIFFERS from a sequential run"
            print("equal to a sequential run")


if __name__ == "__main__":
    main()
