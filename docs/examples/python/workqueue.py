"""A work queue: ranks take tasks from a deque until no task is left, however long each takes.

    acprun -np 4 python3 workqueue.py [QUEENS]

The tasks are subtrees of a search: in how many ways can queens stand on a board so that none
attacks another? A task that is large is divided into tasks, which go back into the deque. A
word on rank 0 counts the tasks that are open. When it is 0, all ranks stop.
"""

import sys

import acp

# Solutions for boards of 1 to 10 columns (OEIS A000170).
KNOWN = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724]
# A task is divided while it has fewer rows than this.
DIVIDED_ROWS = 3


def free_columns(queens, size):
    """The columns of the next row that no queen of the rows above attacks."""
    row = len(queens)
    return [column for column in range(size)
            if all(column != other and abs(column - other) != row - above
                   for above, other in enumerate(queens))]


def count(queens, size):
    """The solutions that begin with these queens."""
    if len(queens) == size:
        return 1
    return sum(count((*queens, column), size) for column in free_columns(queens, size))


def work(tasks, open_tasks, size):
    """Takes tasks until none is open. Returns this rank's solutions and the number of tasks."""
    solutions = taken = 0
    # fetch_add of 0 reads the word: a task that is open may still bring others.
    while acp.fetch_add(open_tasks, 0) > 0:
        queens = tasks.take()
        if queens is None:
            continue
        taken += 1
        if len(queens) < min(DIVIDED_ROWS, size):
            parts = [(*queens, column) for column in free_columns(queens, size)]
            acp.fetch_add(open_tasks, len(parts))  # Before others can take them.
            tasks.extend(parts)
        else:
            solutions += count(queens, size)
        acp.fetch_add(open_tasks, -1)
    return solutions, taken


def main():
    with acp.job() as me:
        size = int(sys.argv[1]) if len(sys.argv) > 1 else 8
        open_tasks = acp.starter(0)
        with acp.share(acp.Deque) as tasks:
            if me.rank == 0:
                acp.fetch_add(open_tasks, 1)
                tasks.append(())
            acp.sync()
            mine = work(tasks, open_tasks, size)
            print(f"rank {me.rank} took {mine[1]} tasks", file=sys.stderr)
            results = acp.all_gather(mine)
        if me.rank == 0:
            solutions = sum(result[0] for result in results)
            print(f"{solutions} ways for {size} queens, by {sum(r[1] for r in results)} tasks")
            assert solutions == KNOWN[size - 1], "DIFFERS from the known number"


if __name__ == "__main__":
    main()
