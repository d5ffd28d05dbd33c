"""Rank 1 raises while the other ranks wait for it: by WAIT, in a barrier or a channel."""

import os
import sys
import threading

import acp

acp.init()
if acp.rank() == 1:
    print("printed before the end")
    if os.environ["WAIT"] == "exit":
        sys.exit(7)
    if os.environ["WAIT"] == "thread":  # Python waits for it at the end of the process.
        threading.Thread(target=threading.Event().wait).start()
    raise LookupError("the reason")
if os.environ["WAIT"] == "channel":
    acp.Channel(1, acp.rank()).recv()
elif os.environ["WAIT"] == "word":
    acp.wait_word(acp.starter(), 0)
else:
    acp.sync()
print("not reached")
