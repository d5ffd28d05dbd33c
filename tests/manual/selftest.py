#!/usr/bin/env python3
"""The checks beside this file find what they are for.

    selftest.py MANUAL DOCS

Each check sees a copy of the manual with one mistake in it, and has to name the mistake.
"""
import contextlib
import io
import pathlib
import re
import shutil
import sys
import tempfile

import coverage
import links
import pages


def said(check: object, *words: object) -> str:
    """What a check says about a mistake; it has to fail."""
    text = io.StringIO()
    with contextlib.redirect_stderr(text), contextlib.redirect_stdout(io.StringIO()):
        status = check(*words)  # type: ignore[operator]
    assert status == 1, 'the check has found nothing'
    return text.getvalue()


def change(file: pathlib.Path, pattern: str, replacement: str) -> None:
    """Makes a mistake in a file."""
    text = file.read_text(encoding='utf-8')
    changed = re.sub(pattern, replacement, text, count=1, flags=re.S)
    assert changed != text, f'{file} has no {pattern}'
    file.write_text(changed, encoding='utf-8')


def expect(words: str, text: str) -> None:
    """The check has named the mistake."""
    assert words in text, f'"{words}" is not in what the check says:\n{text}'
    print(f'found: {words}')


def main(manual: pathlib.Path, docs: pathlib.Path) -> None:
    """Makes the mistakes, each in a copy of its own."""
    mistakes = [
        ('acp_copy.3', r'\.TP\n\\fIdst\\fR\n[^\n]*\n', '', 'acp_copy.3: dst is not described'),
        ('acp_copy.3', r'\.SH RETURN VALUE\n[^.]*', '', 'acp_copy.3: no RETURN VALUE'),
        ('acp_copy.3', r'\.TP\n\\fBACPX_BAD_KEY\\fR\n', '', 'ACPX_BAD_KEY is not under ERRORS'),
        ('acp_copy.3', r'acp_gma\\fR\(7\)', r'acp_gmo\\fR(7)', 'there is no page acp_gmo'),
        ('acp_copy.3', r'\.fi\n', '.no_such_macro\n', "no_such_macro"),
    ]
    with tempfile.TemporaryDirectory() as scratch:
        man = pathlib.Path(scratch) / 'man'
        # One page is enough, and groff is quick with it.
        (man / 'man3').mkdir(parents=True)
        for page, pattern, replacement, words in mistakes:
            shutil.copy(manual / 'man/man3' / page, man / 'man3' / page)
            change(man / 'man3' / page, pattern, replacement)
            expect(words, said(pages.main, man))
        expect('no library exports acp_copy', said(coverage.main, man, []))
        html = pathlib.Path(scratch) / 'html'
        shutil.copytree(manual / 'html', html)
        change(html / 'gma_8h.html', r'</body>',
               '<a href="none.html">x</a><a href="#none">y</a></body>')
        text = said(links.main, html, docs)
        expect('none.html: there is no', text)
        expect('#none: there is no such place', text)


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
