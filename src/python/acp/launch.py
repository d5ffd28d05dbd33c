"""acp.run(): a function on several ranks, from a script or a notebook.

The ranks are processes of acprun on this machine. The function, its arguments and the results
travel as pickles in files of a folder that is gone afterwards.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from multiprocessing import spawn
from pathlib import Path
from typing import IO, Any, TypeVar

from . import _acp, life

R = TypeVar("R")

# Lines of standard error that an exception repeats when no rank has told why.
_KEPT_LINES = 20
# Seconds for acprun to end its ranks after an interrupt: its own grace period, and some more.
_END_SECONDS = 15


class RunError(RuntimeError):
    """Ranks of acp.run() have failed.

    tracebacks: the traceback of each rank that raised, by its number. results: what other ranks
    returned, by their numbers. status: the exit status of acprun.
    """

    def __init__(self, text: str, tracebacks: dict[int, str], results: dict[int, Any],
                 status: int) -> None:
        self.tracebacks = tracebacks
        self.results = results
        self.status = status
        super().__init__(text, tracebacks, results, status)

    def __str__(self) -> str:
        return str(self.args[0])


def run(function: Callable[..., R], ranks: int = 1, args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None, options: Iterable[str] = (),
        env: Mapping[str, str] | None = None, timeout: float | None = None) -> list[R]:
    """Calls function(*args, **kwargs) on each rank of a new job. Returns the results, by rank.

    The job is begun before the call and ended after it. What ranks print appears here.
    options: more options of acprun, such as "--acp-heapsize=4G". env: variables for the ranks,
    such as {"ACP_NET": "udp"}. RunError tells which ranks raised, with their tracebacks;
    TimeoutError that the ranks took more than so many seconds.

    Functions of importable modules are sent by name, and so are those of a script, which needs
    `if __name__ == "__main__":` around its call of run(). Functions of a notebook, lambdas and
    nested functions need the package cloudpickle (Debian: python3-cloudpickle).
    """
    if life.is_running():
        raise RuntimeError("acp.run() starts a job of its own, and this process is a rank of one "
                           "already: call the function, or leave out acp.init()")
    folder = Path(tempfile.mkdtemp(prefix="acp-run-"))
    try:
        task = folder / "task"
        task.write_bytes(_packed(function, tuple(args), dict(kwargs or {})))
        command = [find_program("acprun"), "-np", str(ranks), *options, sys.executable, "-m",
                   "acp._rank", str(folder)]
        status, last_lines = _follow(command, {**os.environ, **_paths(), **(env or {})}, timeout)
        return _collect(folder, ranks, status, last_lines)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_program(name: str) -> str:
    """The path of acprun or acp_info, beside the libacp that this process has loaded."""
    library = _acp.library_file()
    if library is not None:
        for folder in Path(library).resolve().parents:
            if (folder / "bin" / name).is_file():
                return str(folder / "bin" / name)
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is neither beside {library} nor in PATH: install it, or "
                                "put its folder into PATH")
    return found


def _paths() -> dict[str, str]:
    """Ranks find this package where this process has found it."""
    here = str(Path(__file__).absolute().parents[1])  # Not behind symbolic links.
    others = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": here + (os.pathsep + others if others else "")}


def _packed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """The call, and how the rank finds the module of the function, as a script's own."""
    call = (function, args, kwargs)
    is_script = getattr(sys.modules["__main__"], "__file__", None) is not None
    in_main = getattr(function, "__module__", None) == "__main__"
    preparation = None
    if in_main and is_script:
        preparation = spawn.get_preparation_data("rank")
    try:
        if in_main and not is_script:
            raise pickle.PicklingError("functions of a prompt or a notebook have no module")
        data = pickle.dumps(call)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        try:
            import cloudpickle  # type: ignore[import]
        except ImportError:
            raise pickle.PicklingError(
                f"{function!r} cannot be sent to the ranks: {error}. Put it into a module that "
                "can be imported, or install cloudpickle (apt-get install python3-cloudpickle)"
            ) from error
        data, preparation = cloudpickle.dumps(call), None
    if preparation is None:
        preparation = {"sys_path": [path or os.getcwd() for path in sys.path]}
    # The key of multiprocessing's connections is a secret of this process.
    preparation.pop("authkey", None)
    return pickle.dumps((preparation, data))


def _follow(command: list[str], env: dict[str, str],
            timeout: float | None) -> tuple[int, list[str]]:
    """Runs acprun and shows what it prints. Returns its status and its last lines.

    Whatever ends the wait, acprun is gone afterwards, and its ranks with it.
    """
    process = subprocess.Popen([*_words_of_end(), *command], env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True)
    last: deque[str] = deque(maxlen=_KEPT_LINES)
    assert process.stdout is not None and process.stderr is not None
    threads = [threading.Thread(target=_pass_on, args=(process.stdout, sys.stdout, None)),
               threading.Thread(target=_pass_on, args=(process.stderr, sys.stderr, last))]
    for thread in threads:
        thread.start()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"the ranks did not end within {timeout} s, and were ended: give more "
                           "time, or look at where they wait (acprun --watchdog)") from None
    finally:
        _end(process)
        for thread in threads:
            thread.join()
    return process.returncode, list(last)


def _words_of_end() -> list[str]:
    """Words in front of a command by which it is ended when this process is killed."""
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", "TERM"]


def _end(process: subprocess.Popen[str]) -> None:
    """Ends acprun unless it has ended: by its own way first, which ends the ranks."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # Its keeper ends the ranks.
        process.wait()


def _pass_on(source: IO[str], target: IO[str], last: deque[str] | None) -> None:
    with source:
        for line in source:
            target.write(line)
            target.flush()
            if last is not None:
                last.append(line)


def _collect(folder: Path, ranks: int, status: int, last_lines: list[str]) -> list[Any]:
    """The results of all ranks, or an exception about those that have none."""
    results: dict[int, Any] = {}
    tracebacks: dict[int, str] = {}
    for rank in range(ranks):
        file = folder / f"rank-{rank}"
        if not file.exists():
            continue
        is_result, value = pickle.loads(file.read_bytes())
        if is_result:
            results[rank] = value
        else:
            tracebacks[rank] = value
    if status == 0 and len(results) == ranks:
        return [results[rank] for rank in range(ranks)]
    texts = [f"rank {rank} of {ranks} raised:\n{trace}"
             for rank, trace in sorted(tracebacks.items())]
    silent = sorted(set(range(ranks)) - set(results) - set(tracebacks))
    if silent or not texts:
        texts.append(f"the job of {ranks} ranks ended with status {status}, and ranks {silent} "
                     "have neither returned nor raised. The last lines of the job:\n"
                     + "".join(last_lines))
    raise RunError("\n".join(texts), tracebacks, results, status)
