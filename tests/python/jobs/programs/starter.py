"""Starts two ranks by acp.run(), which write their pids into a folder and wait for ever."""

import os
import sys
from pathlib import Path

import acp


def write_pid_and_wait(folder):
    begun = Path(folder, f"{acp.rank()}.begun")
    begun.write_text(str(os.getpid()))
    begun.rename(Path(folder, str(acp.rank())))
    acp.wait_word(acp.starter(), 0)


if __name__ == "__main__":
    acp.run(write_pid_and_wait, 2, args=[sys.argv[1]])
