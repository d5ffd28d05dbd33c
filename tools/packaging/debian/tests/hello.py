import acp

with acp.job() as me:
    ranks = acp.all_gather(me.rank)
    assert ranks == list(range(me.procs)), ranks
    print(f"hello from rank {me.rank} of {me.procs}")
