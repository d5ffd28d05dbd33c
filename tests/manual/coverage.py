#!/usr/bin/env python3
"""Each function that the libraries export has a page, and each page has an exported function.

    coverage.py MAN LIBRARY...
"""
import pathlib
import re
import subprocess
import sys


def exported(library: str) -> set[str]:
    """The functions of a library. Those of C++ lose their arguments, and ACP_0.2 its place."""
    table = subprocess.run(['nm', '-DC', '--defined-only', library], check=True,
                           capture_output=True, text=True).stdout
    return {re.sub(r'[@(].*', '', line.split(' ', 2)[2]) for line in table.splitlines()
            if line.split(' ', 2)[1] in 'TW'}


def main(man: pathlib.Path, libraries: list[str]) -> int:
    """Compares, and names each difference."""
    functions = set().union(*map(exported, libraries))
    pages = {page.name.rsplit('.', 1)[0] for page in (man / 'man3').iterdir()}
    for name in sorted(functions - pages):
        print(f'{name} has no page', file=sys.stderr)
    for name in sorted(pages - functions):
        print(f'no library exports {name}, which has a page', file=sys.stderr)
    for page in ('acp', 'acp_ordering', 'acp_settings', 'acp_extensions', 'qmp', 'lqcd', 'scu'):
        if not (man / f'man7/{page}.7').exists():
            print(f'there is no page {page}(7)', file=sys.stderr)
            return 1
    print(f'{len(functions)} functions, {len(pages)} pages')
    return 1 if functions != pages or len(functions) < 300 else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
