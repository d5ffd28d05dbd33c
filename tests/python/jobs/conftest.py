"""Tests of this folder start jobs: python3 -m pytest tests/python/jobs, without acprun."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp.launch import find_program

HERE = Path(__file__).parent


def start(program, ranks=2, **env):
    """Starts a program of this folder as a job. Its output is one text."""
    return subprocess.Popen(
        [find_program("acprun"), "-np", str(ranks), sys.executable, str(HERE / program)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **env})


def finish(process, seconds=60):
    """The status of a job, and what it has printed."""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        output, _ = process.communicate()
        pytest.fail(f"the job did not end within {seconds} s:\n{output}")
    return process.returncode, output


@pytest.fixture
def run_job():
    return lambda program, ranks=2, **env: finish(start(program, ranks, **env))
