"""Rank 1 raises inside of `with acp.job()`."""

import acp

with acp.job() as me:
    if me.rank == 1:
        raise LookupError("inside of the block")
    acp.wait_word(acp.starter(), 0)
    print("not reached")
