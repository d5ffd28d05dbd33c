"""Each wait ends by SIGINT, which another thread sends when the wait has begun."""

import os
import signal
import threading
import time

import acp

acp.init()
me, procs = acp.rank(), acp.procs()
channel = acp.Channel((me - 1) % procs, me)
request = channel.recv_raw(bytearray(8))
# The word is never written, the other ranks come late to the barrier, and nothing is sent.
WAITS = [lambda: acp.wait_word(acp.starter(), 0), lambda: acp.wait_until(lambda: False),
         request.wait]
if me == 0:
    WAITS.append(acp.sync)


def interrupt(is_waiting):
    """The signal comes again until the wait has ended: it may come before the call."""
    is_waiting.wait()
    while is_waiting.is_set():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)


for wait in WAITS:
    waiting = threading.Event()
    thread = threading.Thread(target=interrupt, args=[waiting])
    thread.start()
    try:
        waiting.set()
        wait()
        print("not reached")
    except KeyboardInterrupt:
        waiting.clear()
        print("interrupted")
    thread.join()
if me == 0:
    acp.put_signal(0, 0, 0, acp.starter(1).at(8))
else:
    acp.wait_word(acp.starter().at(8), 0)
assert acp.sync()
channel_out = acp.Channel(me, (me + 1) % procs)
channel_out.send_raw(b"8 bytes!").wait()
assert request.wait() and request.size == 8
acp.finalize()
