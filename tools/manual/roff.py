"""Turns the text of Doxygen's XML into roff. Used by man_pages.py alone.

An element of the XML is a paragraph, a list, a table or code. Each sentence becomes a line,
so that no line of a page is long.
"""
import re
import textwrap
import xml.etree.ElementTree as ElementTree
from typing import Callable, Iterator

Element = ElementTree.Element

# Children of a paragraph that stand in lines of their own.
BLOCKS = {'orderedlist', 'itemizedlist', 'verbatim', 'programlisting', 'parameterlist',
          'simplesect', 'table', 'preformatted', 'heading', 'hruler', 'blockquote'}


def escaped(text: str) -> str:
    """Text that roff prints as it is. Every "-" stays one that can be typed."""
    for plain, escape in (('\\', '\\e'), ('-', '\\-'), ("'", '\\(aq'), ('`', '\\(ga'),
                          ('^', '\\(ha'), ('~', '\\(ti')):
        text = text.replace(plain, escape)
    return text


def lines_of(text: str) -> str:
    """Running text, already escaped, with a line for each sentence."""
    text = re.sub(r'\s+', ' ', text).strip()
    # A line may end behind each comma of a very long word.
    text = re.sub(r'\S{60,}', lambda word: word.group().replace(',', ',\\:'), text)
    sentences = re.split(r'(?<=[a-z0-9)"R][.;:]) (?=[A-Z0-9"\\])', text)
    lines = [line for sentence in sentences
             for line in textwrap.wrap(sentence, 78, break_long_words=False,
                                       break_on_hyphens=False)]
    # A line that begins with a dot or a quote would be a command.
    return '\n'.join(re.sub(r'^(?=[.\'])', r'\\&', line) for line in lines)


def plain_text(element: Element) -> str:
    """All text below an element, in one line."""
    return re.sub(r'\s+', ' ', ''.join(element.itertext())).strip()


def code_text(element: Element) -> str:
    """The lines of code, or of text that keeps its lines."""
    if element.tag != 'programlisting':
        return ''.join(element.itertext()).strip('\n')
    for space in element.iter('sp'):
        space.text = ' '
    return '\n'.join(''.join(line.itertext()) for line in element.iter('codeline')).strip('\n')


class Writer:
    """Writes elements. `link` says what a reference to another page looks like, and `italic`
    has the words that are set in italics: the parameters of a function."""

    def __init__(self, link: Callable[[Element], str | None],
                 italic: frozenset[str] = frozenset()) -> None:
        self.link = link
        self.italic = italic

    def inline(self, element: Element) -> str:
        """The text of an element without its blocks, escaped."""
        out = escaped(element.text or '')
        for child in element:
            if child.tag not in BLOCKS:
                out += self.word(child)
            out += escaped(child.tail or '')
        return out

    def word(self, child: Element) -> str:
        """One piece of text in its font."""
        text = plain_text(child)
        if child.tag == 'ref':
            name = self.link(child)
            return name if name is not None else self.inline(child)
        if child.tag == 'computeroutput' and text in self.italic or child.tag == 'emphasis':
            return f'\\fI{escaped(text)}\\fR'
        if child.tag in ('computeroutput', 'bold'):
            return f'\\fB{escaped(text)}\\fR'
        if child.tag in ('anchor', 'htmlonly', 'nonbreakablespace'):
            return ''
        if child.tag == 'linebreak':
            return ' '
        return {'ndash': '\\(en', 'mdash': '\\(em'}.get(child.tag, self.inline(child))

    def pieces(self, para: Element) -> Iterator[str | Element]:
        """The runs of text and the blocks of a paragraph, in their order."""
        run = escaped(para.text or '')
        for child in para:
            if child.tag in BLOCKS:
                if run.strip():
                    yield lines_of(run)
                run = ''
                yield child
            else:
                run += self.word(child)
            run += escaped(child.tail or '')
        if run.strip():
            yield lines_of(run)

    def paragraphs(self, element: Element, skip: frozenset[str] = frozenset()) -> list[str]:
        """The text and blocks of all paragraphs, each a piece of roff. Blocks in `skip` are left
        out."""
        out = []
        for para in element.findall('para'):
            for piece in self.pieces(para):
                if isinstance(piece, str):
                    out.append(piece)
                elif piece.tag not in skip:
                    out.append(self.block(piece))
        return out

    def joined(self, element: Element, skip: frozenset[str] = frozenset()) -> str:
        """paragraphs(), with what separates them."""
        out = ''
        for piece in self.paragraphs(element, skip):
            is_block = piece.startswith('.')
            out += ('.PP\n' if out and not is_block else '') + piece + '\n'
        return out.rstrip('\n')

    def block(self, block: Element) -> str:
        """A list, a table or code."""
        if block.tag in ('orderedlist', 'itemizedlist'):
            return self.items(block)
        if block.tag == 'table':
            return self.table(block)
        if block.tag == 'hruler':
            return '.PP'
        if block.tag in ('simplesect', 'blockquote'):
            return self.joined(block)
        return code(code_text(block))

    def items(self, block: Element) -> str:
        """A list. Its items may have lists and code in them."""
        out = []
        for number, item in enumerate(block.findall('listitem'), 1):
            mark = f'{number}.' if block.tag == 'orderedlist' else '\\(bu'
            width = 4 if block.tag == 'orderedlist' else 2
            pieces = self.paragraphs(item)
            first = pieces.pop(0) if pieces and not pieces[0].startswith('.') else ''
            out.append(f'.IP {mark} {width}\n{first}'.rstrip('\n'))
            if pieces:
                inner = '\n'.join(piece if piece.startswith('.') else f'.PP\n{piece}'
                                  for piece in pieces)
                out.append(f'.RS {width}\n{inner}\n.RE')
        return '\n'.join(out)

    def table(self, block: Element) -> str:
        """A table of two columns is a list of terms. Another one is set by tbl(1)."""
        rows = [[re.sub(r'\s+', ' ', ' '.join(self.inline(para) for para in entry.iter('para')))
                 .strip() for entry in row.findall('entry')] for row in block.findall('row')]
        rows = [row for row in rows if any(row)]
        if all(len(row) == 2 for row in rows):
            return '\n'.join(f'.TP\n{first}\n{lines_of(second)}' for first, second in rows[1:])
        columns = len(rows[0])
        out = ['.TS', 'allbox tab(@);', ' '.join(['lb'] * columns),
               ' '.join(['lx' if column else 'l' for column in range(columns)]) + '.']
        out += ['@'.join(rows[0])]
        # tbl fills text between T{ and T}. The first column is as wide as its longest cell.
        out += ['@'.join([row[0], *(f'T{{\n.ad l\n{lines_of(cell)}\nT}}' for cell in row[1:])])
                for row in rows[1:]]
        return '\n'.join([*out, '.TE'])


def code(text: str) -> str:
    """Lines of code, indented. A line never begins with a command."""
    lines = re.sub(r'^(?=[.\'])', r'\\&', escaped(text), flags=re.M)
    return f'.PP\n.RS 4\n.nf\n{lines}\n.fi\n.RE'


def tidied(page: str) -> str:
    """A page without commands for paragraphs that begin in any case."""
    page = re.sub(r'^((?:\.SH|\.SS|\.TP|\.IP)[^\n]*\n)\.PP\n', r'\1', page, flags=re.M)
    return re.sub(r'^\.PP\n(?=\.(?:SH|SS|TP|IP|PP|TS)\b)', '', page, flags=re.M)
