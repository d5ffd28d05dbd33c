"""How jobs end: exceptions, killed ranks and starters, interrupts, forks."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def wait_until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("net", ["shm", "udp"])
@pytest.mark.parametrize("wait", ["barrier", "channel", "word", "thread"])
def test_an_exception_ends_the_job(run_job, wait, net):
    status, output = run_job("programs/raises.py", 3, WAIT=wait, ACP_NET=net)
    assert status == 1, output
    assert "Traceback" in output and "LookupError: the reason" in output
    assert "printed before the end" in output and "not reached" not in output


def test_a_status_ends_the_job(run_job):
    status, output = run_job("programs/raises.py", 2, WAIT="exit")
    assert status == 7 and "not reached" not in output


def test_an_exception_inside_of_the_block(run_job):
    status, output = run_job("programs/in_block.py", 2)
    assert status == 1 and "LookupError: inside of the block" in output
    assert "not reached" not in output


@pytest.mark.parametrize("net", ["shm", "udp"])
@pytest.mark.parametrize("wait", ["barrier", "channel", "word", "copy"])
def test_a_killed_rank_ends_the_others(run_job, wait, net):
    status, output = run_job("programs/killed.py", 2, WAIT=wait, ACP_NET=net)
    assert status == 128 + 9, output
    assert "not reached" not in output and "killed by signal 9" in output


def test_ctrl_c_ends_a_wait(run_job):
    status, output = run_job("programs/interrupted.py", 2)
    assert status == 0, output
    assert output.count("interrupted") == 7 and "not reached" not in output


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_forked_child_is_refused(run_job, ranks):
    status, output = run_job("programs/forked.py", ranks)
    assert status == 0 and output.count("the parent goes on") == ranks, output
    # The calls of the child have written their lines, and its end has written none.
    assert "acp_free" not in output, output


@pytest.mark.parametrize("net", ["shm", "udp"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_views_outlive_the_job(run_job, ranks, net):
    status, output = run_job("programs/after_finalize.py", ranks, ACP_NET=net)
    assert status == 0 and output.count("over") == ranks, output


def test_ranks_end_when_the_process_of_run_is_killed(tmp_path):
    process = subprocess.Popen([sys.executable, str(HERE / "programs/starter.py"), str(tmp_path)])
    files = [tmp_path / "0", tmp_path / "1"]
    try:
        wait_until(lambda: all(file.exists() for file in files), "ranks that wait")
    finally:
        process.kill()
        process.wait()
    pids = [int(file.read_text()) for file in files]
    wait_until(lambda: not any(is_alive(pid) for pid in pids), f"the end of {pids}")
