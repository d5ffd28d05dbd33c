"""All tests of this folder run in one job: acprun -np N python3 -m pytest tests/python/ranks.

Each rank runs every test, in the same order. A test that fails on one rank ends the job, because
other ranks would wait for it.
"""

import sys

import pytest

import acp

# Seconds after which a wait of a test is a failure.
PATIENCE = 60.0


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    acp.init([])
    if acp.rank() != 0:
        config.pluginmanager.unregister(name="terminalreporter")


def pytest_unconfigure(config):
    if acp.is_running():
        acp.finalize()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        sys.stderr.write(f"rank {acp.rank()} of {acp.procs()}: {item.nodeid}\n{report.longrepr}\n")
        sys.stderr.flush()
        acp.abort(f"{item.nodeid} failed")


@pytest.fixture
def me():
    return acp.rank()


@pytest.fixture
def procs():
    return acp.procs()


@pytest.fixture
def right():
    return (acp.rank() + 1) % acp.procs()


@pytest.fixture
def left():
    return (acp.rank() - 1) % acp.procs()


@pytest.fixture(autouse=True)
def barrier():
    """Each test begins when the one before is over on all ranks, with cleared starter memory."""
    acp.sync()
    memory = acp.starter()
    memory.put(bytes(len(memory)))
    assert acp.sync(PATIENCE)
    yield
    acp.complete()
    assert acp.sync(PATIENCE)
