"""A rank of acp.run(): `python3 -m acp._rank FOLDER`. Calls the function, keeps the result."""

from __future__ import annotations

import os
import pickle
import sys
import time
import traceback
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from . import life
from ._acp import procs, rank

# Seconds in which other ranks may raise as well, before the first one ends the job.
_PATIENCE = 0.5


def _keep(folder: Path, number: int, is_result: bool, value: Any) -> None:
    """Writes the file of a rank, which is there whole or not at all."""
    try:
        data = pickle.dumps((is_result, value))
    except Exception:
        if not is_result:
            raise
        import cloudpickle  # type: ignore[import]

        data = cloudpickle.dumps((is_result, value))
    begun = folder / f"rank-{number}.begun"
    begun.write_bytes(data)
    os.replace(begun, folder / f"rank-{number}")


def _let_others_raise(folder: Path, count: int) -> None:
    """The end of the job ends them at once, and their tracebacks would be lost."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if all((folder / f"rank-{other}").exists() for other in range(count)):
            return
        time.sleep(0.01)


def main(folder: Path) -> None:
    """Raises nothing: an exception of the function is kept, and ends the job."""
    preparation, call = pickle.loads((folder / "task").read_bytes())
    life.init([])
    number = rank()
    try:
        spawn.prepare(preparation)
        function, args, kwargs = pickle.loads(call)
        _keep(folder, number, True, function(*args, **kwargs))
    except BaseException as error:
        trace = traceback.format_exc()
        sys.stderr.write(trace)
        _keep(folder, number, False, trace)
        _let_others_raise(folder, procs())
        life.abort(f"{type(error).__name__}: {error}")
    life.finalize()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
