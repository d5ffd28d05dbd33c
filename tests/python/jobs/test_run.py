"""acp.run(): results and tracebacks of ranks; and python3 -m acp."""

import os
import subprocess
import sys
import threading
import time

import pytest

import acp
from acp.launch import find_program

try:
    import cloudpickle  # noqa: F401
    HAS_CLOUDPICKLE = True
except ImportError:
    HAS_CLOUDPICKLE = False


def square_of_rank(offset=0, scale=1):
    return scale * acp.rank() ** 2 + offset


def sum_of_all():
    return sum(acp.all_gather(acp.rank() + 1))


def raise_on_odd_ranks():
    if acp.rank() % 2 == 1:
        raise ValueError(f"rank {acp.rank()} is odd")
    return acp.rank()


def end_the_process():
    if acp.rank() == 1:
        os._exit(3)
    acp.sync()


def print_lines():
    print(f"line of rank {acp.rank()}")
    return os.environ.get("MY_VARIABLE"), acp.setting("ACP_HEAP_SIZE")


def wait_for_ever():
    acp.wait_word(acp.starter(), 0)


@pytest.mark.parametrize("ranks", [1, 4])
def test_results_are_in_the_order_of_ranks(ranks):
    assert acp.run(square_of_rank, ranks) == [rank ** 2 for rank in range(ranks)]


def test_arguments_reach_the_ranks():
    assert acp.run(square_of_rank, 2, args=[10], kwargs={"scale": 3}) == [10, 13]


@pytest.mark.parametrize("net", ["shm", "udp"])
def test_ranks_are_one_job(net):
    assert acp.run(sum_of_all, 3, env={"ACP_NET": net}) == [6, 6, 6]


def test_each_traceback_is_told():
    with pytest.raises(acp.RunError) as caught:
        acp.run(raise_on_odd_ranks, 4)
    error = caught.value
    assert sorted(error.tracebacks) == [1, 3] and error.status == 1
    for rank in (1, 3):
        assert f"ValueError: rank {rank} is odd" in error.tracebacks[rank]
        assert "in raise_on_odd_ranks" in error.tracebacks[rank]
        assert f"rank {rank} of 4 raised:" in str(error)


def test_a_rank_without_an_exception(capfd):
    with pytest.raises(acp.RunError, match=r"ranks \[.*1\] have neither returned") as caught:
        acp.run(end_the_process, 2)
    assert caught.value.status == 3 and 1 not in caught.value.tracebacks
    assert "exited with status 3" in str(caught.value)


def test_output_and_settings(capsys):
    results = acp.run(print_lines, 2, options=["--acp-heapsize=32M"],
                      env={"MY_VARIABLE": "value"})
    assert results == [("value", 32 << 20)] * 2
    assert sorted(capsys.readouterr().out.split("\n")) == ["", "line of rank 0", "line of rank 1"]


def test_time_limit_ends_the_ranks():
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="within 2"):
        acp.run(wait_for_ever, 2, timeout=2)
    assert time.monotonic() - begin < 30
    assert not _processes_of_ranks()


def test_interrupt_ends_the_ranks():
    """Ctrl-C in a script or a notebook: KeyboardInterrupt, and nothing is left."""
    program = ("import acp, sys; sys.path.insert(0, %r); import test_run;"
               "acp.run(test_run.wait_for_ever, 2)" % os.path.dirname(__file__))
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    deadline = time.monotonic() + 60
    while len(_processes_of_ranks()) < 3 and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    process.send_signal(2)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors
    assert not _processes_of_ranks()


@pytest.mark.skipif(not HAS_CLOUDPICKLE, reason="needs python3-cloudpickle")
def test_lambdas_are_sent_by_cloudpickle():
    number = 5
    assert acp.run(lambda: acp.rank() + number, 2) == [5, 6]


def test_a_lambda_without_cloudpickle_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(Exception, match="python3-cloudpickle"):
        acp.run(lambda: 1)


def test_functions_of_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import acp\n\ndef work(n):\n    return n * acp.rank()\n\n"
                      "if __name__ == '__main__':\n    print(acp.run(work, 3, args=[7]))\n")
    output = subprocess.run([sys.executable, str(script)], capture_output=True, text=True,
                            timeout=60)
    assert output.stdout == "[0, 7, 14]\n", output.stderr


def test_module_prints_what_acp_info_prints():
    for words in ([], ["--version"], ["--json"]):
        mine = subprocess.run([sys.executable, "-m", "acp", *words], capture_output=True,
                              text=True, timeout=60)
        info = subprocess.run([find_program("acp_info"), *words], capture_output=True, text=True,
                              timeout=60)
        assert mine.stdout == info.stdout and mine.returncode == info.returncode == 0


def _processes_of_ranks():
    """Processes of acp.run() that descend from this one's jobs, by their command lines."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if b"acp._rank" in words and os.environ["TEST_RUN_MARK"].encode() in _environment(pid):
            found.append(int(pid))
    return found


def _environment(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


os.environ.setdefault("TEST_RUN_MARK", f"test_run-{os.getpid()}")
