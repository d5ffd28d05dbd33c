#!/usr/bin/env python3
"""Each link inside the HTML leads to a file that exists, and to a place in it.

    links.py HTML DOCS

The installed folder html is beside the files of docs/, so links to "../" are looked up there.
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links of a page, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == 'id' or name == 'name' and tag == 'a'):
                self.places.add(value)
            if value and name in ('href', 'src') and not value.startswith('javascript:'):
                self.links.add(value)


def main(folder: pathlib.Path, docs: pathlib.Path) -> int:
    """Looks at all pages."""
    pages = {file.name: Page(file.read_text(encoding='utf-8')) for file in folder.glob('*.html')}
    wrong, count = [], 0
    for name, page in pages.items():
        for link in sorted(page.links):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            path = urllib.parse.unquote(parts.path)
            target = docs / path[3:] if path.startswith('../') else folder / path
            if path and not target.exists():
                wrong.append(f'{name}: {link}: there is no {target}')
            elif parts.fragment and (path or name) in pages and \
                    parts.fragment not in pages[path or name].places:
                wrong.append(f'{name}: {link}: there is no such place')
    print('\n'.join(wrong), file=sys.stderr)
    print(f'{count} links in {len(pages)} pages')
    return 1 if wrong or len(pages) < 50 else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
