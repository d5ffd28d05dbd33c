"""Makes a public header fit for Doxygen. Used by sources.py alone.

The headers are written for a reader of C. Doxygen takes only comments that begin with
"/**" or "///", and gives each of them to one declaration. This program changes the text
that Doxygen gets, and never the file:

  - The comment at the top of a header describes the file.
  - A comment in front of a type, a macro or a variable describes it. One behind an
    enumerator or a member describes that.
  - Declarations without a comment, directly below a described one, get its text. Each gets
    the parameters that it has.
  - Below a heading, "---- Title ----", declarations are a group. A plain comment that
    begins such a group is about all of its functions.
  - Tables of two columns keep their columns.
  - A function, a macro or an error code that a comment names becomes a link.
"""
import pathlib
import re

COMMENT = re.compile(r'/\*\*.*?\*/', re.S)
LEADING = re.compile(
    r'^/\*(?!\*)(?! ----)((?:[^*]|\*(?!/))*\*/\n)(?=#define |typedef |extern |enum )', re.M)
TRAILING = re.compile(
    r'^(  [A-Za-z][^\n;,/]*[,;]?|#define [^\n/]*?) */\*(?!\*) *([^\n]*?) *\*/$', re.M)
# A comment behind a member that goes on in the next line.
SPLIT = re.compile(r'^(  [A-Za-z][^\n/]*; +/\* [^\n]*?) *\*/\n {16,}/\* +([^\n]*)$', re.M)
DESCRIBED = re.compile(r'^(/\*\*(?:[^*]|\*(?!/))*\*/\n)((?:[A-Za-z_][^;{}#/]*\([^;{}#/]*\);\n)+)',
                       re.M)
MACROS = re.compile(r'^(/\*\*(?:[^*]|\*(?!/))*\*/\n)((?:#define .*\n)+)', re.M)
HEADING = re.compile(r'^(?:/\*|//) ---- (.*?) -+(?:[ *\n]*\*/)?$', re.M)
ABOUT = re.compile(r'\A\n*(?:/\* (?!---)((?:[^*]|\*(?!/))*)\*/\n|((?://(?!/).*\n)+))\n')
GROUP_END = re.compile(r'\n(#ifdef __cplusplus\n}|#endif[^\n]*\s*\Z)')


def stars(lines: str, mark: str) -> str:
    """The lines of "//" comments, or of "///" ones, as those of one comment."""
    return re.sub(rf'^{mark} ?', ' * ', lines, flags=re.M)


def describe_file(text: str) -> str:
    """Makes the comment at the top that of the file."""
    text = re.sub(r'\A/\*(?=[ \n])', '/** @file\n *', text)
    top = re.match(r'(?://.*\n)+', text)
    if top:
        text = f'/** @file\n{stars(top.group(), "//")} */\n' + text[top.end():]
    return text


def describe_lines(text: str) -> str:
    """Makes comments beside types, macros, enumerators and members theirs."""
    text = re.sub(r'^(?:///.*\n)+', lambda lines: f'/**\n{stars(lines.group(), "///")} */\n', text,
                  flags=re.M)
    text = LEADING.sub(r'/**\1', text)
    while SPLIT.search(text):
        text = SPLIT.sub(r'\1 \2', text)
    # Doxygen would end the first sentence at "..".
    return TRAILING.sub(
        lambda line: f'{line.group(1)} /**< {line.group(2).replace(" .. ", " to ")} */', text)


def keep_tables(comment: str) -> str:
    """Puts the lines of a table of two columns between @verbatim and @endverbatim."""
    out: list[str] = []
    table: list[str] = []

    def flush() -> None:
        if table:
            least = min(len(row) - len(row.lstrip()) for row in table)
            out.extend(['@verbatim', *(row[least:] for row in table), '@endverbatim'])
            table.clear()

    for line in comment.split('\n'):
        text = re.sub(r'^ ?\*( |$)', '', line)
        indent = len(text) - len(text.lstrip())
        is_row = re.match(r' {2,}\S.*?\S? {2,}\S', text) and not re.match(r' *@|  ?\d', text)
        is_more = table and text.strip() and indent > len(table[0]) - len(table[0].lstrip())
        if '*/' not in line and (is_row or is_more):
            table.append(text)
        else:
            flush()
            out.append(line)
    return '\n'.join(out)


def without_foreign_parameters(comment: str, declaration: str, all_of_them: str) -> str:
    """Leaves out the parameters that only other declarations of this comment have."""
    own, known = (set(re.findall(r'\w+', text)) for text in (declaration, all_of_them))

    def keep(item: re.Match[str]) -> str:
        return '' if item.group(1) in known - own else item.group()

    return re.sub(r'^ \* @param (\w+)[^\n]*\n(?: \*(?! @)[^\n/]*\n)*', keep, comment, flags=re.M)


def share_comments(found: re.Match[str]) -> str:
    """Gives each of the declarations the comment above the first."""
    comment, declarations = found.groups()
    each = re.findall(r'[^;]*;\n', declarations)
    return ''.join(
        without_foreign_parameters(comment, one, declarations) + one for one in each)


def group_sections(text: str) -> str:
    """Makes a group of the declarations below each heading."""
    parts = HEADING.split(text)
    out = [parts[0]]
    for title, body in zip(parts[1::2], parts[2::2]):
        about = ABOUT.match(body)
        words = ''
        if about:
            words = about.group(1) or stars(about.group(2), '//')
            body = body[about.end():]
        # The last group ends in front of the end of extern "C", or of the header.
        end = GROUP_END.search(body)
        at = end.start() if end else len(body)
        out.append(f'/** @name {title}\n *\n * {words.strip()}\n */\n/** @{{ */\n'
                   f'{body[:at]}\n/** @}} */\n{body[at:]}')
    return ''.join(out)


def names_in(headers: pathlib.Path) -> set[str]:
    """The functions, macros and codes that comments of the headers may name."""
    names: set[str] = set()
    for header in [*headers.glob('*.h'), *headers.glob('acp/*.h')]:
        code = re.sub(r'/\*.*?\*/', '', header.read_text(encoding='utf-8'), flags=re.S)
        names |= set(re.findall(r'\b((?:acpx?|QMP)_[a-z]\w*)\(', code))
        names |= set(re.findall(r'^(?:#define|  (?=(?:ACPX|QMP)_[A-Z]\w* =)) ?(\w+)', code, re.M))
    return {name for name in names if re.match(r'(acpx?|ACPX?|QMP)_', name)
            and not name.endswith(('_H', '_OF_', '_GENERIC'))}


def link_names(comment: str, names: set[str]) -> str:
    """Marks names with "#", outside of what stays as it is."""
    parts: list[str] = re.split(r'(@verbatim.*?@endverbatim|@code.*?@endcode)', comment, flags=re.S)
    for i in range(0, len(parts), 2):
        parts[i] = parts[i].replace('#include', '\\#include')
        parts[i] = re.sub(r'(?<=[a-z] )@return', r'\\@return', parts[i])
        parts[i] = re.sub(
            r'(?<![#\w./"@])((?:acpx?|ACPX?|QMP)_\w+)(?!\w|\.\w|[/=("])',
            lambda word: ('#' if str(word.group()) in names else '') + str(word.group()), parts[i])
    return ''.join(parts)


def header_for_doxygen(text: str, names: set[str]) -> str:
    """The text of a header as Doxygen shall read it. `names` are those of names_in()."""
    # A macro that the header takes back is none of the program's.
    for name in re.findall(r'^#undef (\w+)$', text, re.M):
        text = re.sub(rf'^#define {name}\b(?!\().*\n', '', text, flags=re.M)
    text = describe_lines(describe_file(text))
    text = MACROS.sub(lambda found: ''.join(
        found.group(1) + line for line in found.group(2).splitlines(True)), text)
    text = group_sections(DESCRIBED.sub(share_comments, text))
    text = COMMENT.sub(lambda found: keep_tables(found.group()), text)
    return COMMENT.sub(lambda found: link_names(found.group(), names), text)

