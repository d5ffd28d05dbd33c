"""Rank 1 kills itself while the other ranks wait for it. WAIT names the wait."""

import os
import signal

import acp

acp.init()
if acp.rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
wait = os.environ["WAIT"]
try:
    if wait == "channel":
        acp.Channel(1, acp.rank()).recv()
    elif wait == "word":
        acp.wait_word(acp.starter(), 0)
    elif wait == "copy":
        while True:
            acp.starter(1).get()
    else:
        acp.sync()
except acp.Error as error:
    print("raised", error.name)
    raise
print("not reached")
