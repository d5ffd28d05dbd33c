"""Makes a page of docs/ fit for Doxygen. Used by sources.py alone.

Doxygen knows a page and a heading by a label, and a Git forge knows them by a path and by the
words of the heading. So this program gives each heading a label, and changes links to pages
and headings into references to these labels. Links to files that are installed beside the
HTML lead there. Of other links only the text stays. The file itself is not changed.
"""
import pathlib
import re

FENCE = re.compile(r'^ *```')
LINK = re.compile(r'\[([^\]\[]*(?:\[[^\]]*\])?[^\]\[]*)\]\(([^)\s]+)\)')


def label_of(page: pathlib.PurePath) -> str:
    """The label of a page, by its path from the top of the tree."""
    if str(page) == 'README.md':
        return 'mainpage'
    return re.sub(r'\W', '_', str(page.with_suffix('')))


def fragment_of(heading: str) -> str:
    """What a Git forge makes of a heading."""
    return re.sub(r'[^a-z0-9 _-]', '', heading.replace('`', '').lower()).replace(' ', '-')


def is_page(path: pathlib.PurePath) -> bool:
    """Whether the manual has this page."""
    return path.suffix == '.md' and (str(path) == 'README.md' or path.parts[0] == 'docs'
                                     and path.parts[1] != 'man')


def new_target(root: pathlib.Path, page: pathlib.PurePath, target: str) -> str | None:
    """Where a link of this page leads in the manual, or None."""
    if re.match(r'\w+:', target):
        return target
    path, _, fragment = target.partition('#')
    file = (root / page.parent / path).resolve() if path else root / page
    there = file.relative_to(root)
    if is_page(there):
        return f'@ref {label_of(there)}' + (f'-{fragment}' if fragment else '')
    # The folder html is beside the pages and the examples.
    if there.parts[:1] == ('docs',) and there.parts[1:2] == ('examples',) and there.suffix:
        return '../' + '/'.join(there.parts[1:])
    return None


def page_for_doxygen(root: pathlib.Path, page: pathlib.PurePath) -> str:
    """The page as Doxygen shall read it."""
    out: list[str] = []
    is_code = False
    has_title = False
    seen: dict[str, int] = {}

    def linked(found: re.Match[str]) -> str:
        target = new_target(root, page, found.group(2))
        return f'[{found.group(1)}]({target})' if target else found.group(1)

    text = (root / page).read_text(encoding='utf-8')
    # A link may go on in the next line.
    for line in LINK.sub(lambda found: found.group().replace('\n', ' '), text).split('\n'):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            heading = re.match(r'(#+) +(.*)', line)
            if heading:
                fragment = fragment_of(heading.group(2))
                seen[fragment] = seen.get(fragment, 0) + 1
                more = f'-{seen[fragment] - 1}' if seen[fragment] > 1 else ''
                label = label_of(page) + (f'-{fragment}{more}' if has_title else '')
                words = heading.group(2).replace('`', '')
                has_title = True
                line = f'{heading.group(1)} {words} {{#{label}}}'
            else:
                line = LINK.sub(linked, line)
        out.append(line)
    return '\n'.join(out)

