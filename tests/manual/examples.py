#!/usr/bin/env python3
"""The examples in the comments of the headers compile without a warning.

    examples.py INCLUDE COMPILER

Each becomes the body of a function. PRELUDE declares the addresses that examples use.
"""
import pathlib
import re
import subprocess
import sys

PRELUDE = '''#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <acp.h>
#include <acp/extension.h>
#include <qmp.h>
extern acp_ga_t mine, theirs, their_flag, counter, lock;
extern double field[1000];
'''


def main(include: pathlib.Path, compiler: str) -> int:
    """Compiles all examples as one file."""
    program, count = PRELUDE, 0
    for header in sorted(include.rglob('*.h')):
        text = header.read_text(encoding='utf-8')
        for found in re.finditer(r'@code\n(.*?)@endcode', text, re.S):
            lines = [line[3:] if line.startswith(' * ') else line[2:]
                     for line in found.group(1).splitlines()]
            line = text[:found.start()].count('\n') + 2
            body = '\n'.join(lines)
            end = '' if re.search(r'^return', body, re.M) else 'return 0;'
            program += (f'int example_{count}(int argc, char** argv);\n'
                        f'int example_{count}(int argc, char** argv) {{\n'
                        f'(void)argc, (void)argv;\n'
                        f'#line {line} "{header}"\n{body}\n{end}\n}}\n')
            count += 1
    words = [compiler, '-std=c11', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
             f'-I{include}', '-x', 'c', '-']
    status = subprocess.run(words, input=program, text=True, check=False).returncode
    print(f'{count} examples')
    return 1 if status or count < 10 else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
