#!/usr/bin/env python3
"""Writes copies of the public headers and of the pages, as Doxygen shall read them.

    sources.py ROOT OUT

The target `manual` runs this program before Doxygen. It writes below OUT only. headers.py and
pages.py say what is different in the copies. HMPI is not in the manual: its header needs that of
an MPI library.
"""
import pathlib
import shutil
import sys

from headers import header_for_doxygen, names_in
from pages import is_page, page_for_doxygen


def main(root: pathlib.Path, out: pathlib.Path) -> None:
    """Writes all copies. Copies of an earlier run are removed first."""
    shutil.rmtree(out, ignore_errors=True)
    include = root / 'include'
    names = names_in(include)
    for header in [*include.rglob('*.h'), *include.rglob('*.hpp')]:
        there = header.relative_to(include)
        if there.name != 'hmpi.h':
            text = header.read_text(encoding='utf-8')
            write(out / 'include' / there,
                  header_for_doxygen(text, names) if there.suffix == '.h' else text)
    for page in [root / 'README.md', *sorted((root / 'docs').rglob('*.md'))]:
        there = page.relative_to(root)
        if is_page(there):
            write(out / there, page_for_doxygen(root, there))


def write(file: pathlib.Path, text: str) -> None:
    """Writes a file, in a folder that need not exist."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]))
