"""The programs of docs/python.md work as the page says."""

import re
import subprocess
import sys
from pathlib import Path

from acp.launch import find_program

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def program(beginning):
    """The block of code of the page that begins so."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return next(block for block in blocks if block.startswith(beginning))


def output(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout


def test_first_program(tmp_path):
    script = tmp_path / "hello.py"
    script.write_text(program('"""Counts words'))
    printed = output(find_program("acprun"), "-np", "4", sys.executable, str(script))
    assert printed == "".join(f"1 from rank {rank}\n" for rank in range(4)) + "4 hello\n"


def test_run_from_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(program("import acp\n\ndef work"))
    assert output(sys.executable, str(script)) == "[60, 60, 60, 60]\n"
