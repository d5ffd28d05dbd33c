#!/usr/bin/env python3
"""The pages are whole: groff has no warning, each parameter is described, each function that
returns something says what, each code of a page is under ERRORS, and pages that a page names
exist.

    pages.py MAN
"""
import pathlib
import re
import shutil
import subprocess
import sys

# Programs whose pages of section 1 are in docs/man.
PROGRAMS = {'acprun', 'acp_info'}


def warnings_of_groff(files: list[pathlib.Path]) -> list[str]:
    """What groff says about the pages."""
    if not shutil.which('groff'):
        print('install groff-base')
        sys.exit(77)
    words = ['groff', '-t', '-man', '-ww', '-z', '-Tutf8', *map(str, files)]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    return result.stderr.splitlines()


def sections_of(page: str) -> dict[str, str]:
    """The sections of a page by their titles, without fonts and escapes."""
    text = re.sub(r'\\f[BIR]', '', page).replace('\\-', '-').replace('\\e', '\\')
    parts = re.split(r'^\.SH "?([A-Z ]+)"?\n', text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def gaps_of_function(page: str) -> list[str]:
    """What a page of section 3 lacks."""
    sections = sections_of(page)
    gaps = [f'no {title}' for title in ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'SEE ALSO')
            if not sections.get(title, '').strip()]
    names = set(re.findall(r'\\fI(\w+)\\f', page.split('.SH DESCRIPTION')[0]))
    described = set(re.findall(r'^\.TP\n(\w+)$', sections.get('PARAMETERS', ''), re.M))
    gaps += [f'{name} is not described' for name in sorted(names - described)]
    returns = [line for line in sections.get('SYNOPSIS', '').splitlines()
               if re.match(r'\w.*\(', line) and not line.startswith('void ')]
    if returns and not sections.get('RETURN VALUE', '').strip():
        gaps.append('no RETURN VALUE')
    said = set(re.findall(r'\bACPX_[A-Z_]+\b', sections.get('RETURN VALUE', '')))
    listed = set(re.findall(r'\bACPX_[A-Z_]+\b', sections.get('ERRORS', '')))
    return gaps + [f'{code} is not under ERRORS' for code in sorted(said - listed)]


def main(man: pathlib.Path) -> int:
    """Looks at all pages."""
    files = sorted(man.glob('man[37]/*'))
    texts = {file: file.read_text(encoding='utf-8') for file in files}
    names = {file.name.rsplit('.', 1)[0] for file in files} | PROGRAMS
    wrong = warnings_of_groff([file for file in files if not texts[file].startswith('.so ')])
    for file, text in texts.items():
        if text.startswith('.so '):
            if not (man / text[4:].strip()).exists():
                wrong.append(f'{file.name}: there is no {text[4:].strip()}')
            continue
        gaps = gaps_of_function(text) if file.parent.name == 'man3' else []
        for name in re.findall(r'\\fB([\w\\-]+)\\fR\((?:\d\w*)\)', text):
            if name.replace('\\', '') not in names:
                gaps.append(f'there is no page {name}')
        wrong += [f'{file.name}: {gap}' for gap in gaps]
    print('\n'.join(wrong), file=sys.stderr)
    print(f'{len(files)} pages')
    return 1 if wrong or len(files) < 300 else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1])))
