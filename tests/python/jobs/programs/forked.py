"""A forked child cannot use the job, and the job of its parent goes on."""

import multiprocessing
import os

import acp


def child(queue):
    texts = []
    for call in (acp.rank, acp.starter, acp.sync, lambda: acp.Deque(), lambda: view.get(8),
                 lambda: deque.append(1), acp.init, acp.finalize):
        try:
            call()
            texts.append("no exception")
        except acp.Forked as error:
            texts.append(str(error))
    array[0] = 99  # The memory of the child is its own.
    queue.put((texts, acp.is_running()))


acp.init()
view = acp.starter()
array = view.array("i8", 1)
deque = acp.Deque()
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=[queue])
process.start()
texts, is_running = queue.get(timeout=60)
process.join()
assert process.exitcode == 0 and not is_running
for text in texts:
    assert f"was forked from a rank, rank {acp.rank()} (pid {os.getpid()})" in text, text
    assert "set_start_method('spawn')" in text, text
assert array[0] == 0
assert acp.fetch_add(acp.starter(0).at(64), 1) < acp.procs()
acp.sync()
if os.fork() == 0:
    raise SystemExit(0)  # The handlers of the end run in the child, and leave the job alone.
os.wait()
acp.sync()
print("the parent goes on")
acp.finalize()
