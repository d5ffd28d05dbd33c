#!/usr/bin/env python3
"""Writes the pages for man(1) from the XML that Doxygen has made of the public headers.

    man_pages.py --xml FOLDER --out FOLDER --version VERSION --examples FOLDER

Each function has a page of section 3, and each header one of section 7. Two pages of docs/
become pages of section 7 as well. Functions that share a comment share a page; the other
names are files that lead to it. The target `manual` runs this program, and it may write below
--out only. docs/packages.md says where the pages are installed.
"""
import argparse
import dataclasses
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

from roff import Element, Writer, code, code_text, escaped, lines_of, plain_text, tidied

# The page of section 7 for each header. acp/infrastructure.h and acp.h are one page.
SECTIONS = {'acp/infrastructure.h': 'acp', 'acp.h': 'acp', 'acp/extension.h': 'acp_extensions',
            'qmp.h': 'qmp', 'lqcd.h': 'lqcd', 'scu/sysfunc.h': 'scu'}
# Pages of docs/ that are pages of section 7, by their file.
DOCUMENTS = {'ordering.md': 'acp_ordering', 'acp_settings.md': 'acp_settings'}
# Names as short as those of LQCD and SCU get a section of their own.
SUFFIXES = {'lqcd.h': '3lqcd', 'scu/sysfunc.h': '3scu'}
EMPTY = '\\&'  # a line without text, which roff takes for one with it
NOT_TEXT = frozenset({'parameterlist', 'simplesect', 'programlisting'})
CODE = re.compile(r'\b((?:ACPX|QMP)_[A-Z_0-9]+)\b(?: \(((?:[^()]|\([^()]*\))*)\)| {2,}([^\n]*))?')
NAMES = r'[A-Za-z_]\w+(?:\(\))?'
SAME_AS = re.compile(rf'\b(?:[Aa]s|codes of|errors of) ({NAMES}(?:(?:,| and)(?: of)? {NAMES})*)')


def found(element: Element, path: str) -> Element:
    """The first element there, or an empty one."""
    first = element.find(path)
    return Element('none') if first is None else first


@dataclasses.dataclass
class Function:
    """A function of a header, or several of one name."""
    name: str
    header: str
    members: list[Element]
    group: Element | None  # the section with the text that its functions share

    @property
    def brief(self) -> Element:
        """The first sentence."""
        return found(self.members[0], 'briefdescription')

    @property
    def details(self) -> Element:
        """All but the first sentence."""
        return found(self.members[0], 'detaileddescription')

    @property
    def section(self) -> str:
        """The section of the manual, as in the name of the page's file."""
        return SUFFIXES.get(self.header, '3')

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for functions that share a comment."""
        text = Writer(lambda _: None).joined(self.details, frozenset({'parameterlist'}))
        return (self.header, plain_text(self.brief), text)

    def parameters(self) -> list[str]:
        """The names in the parentheses."""
        return [plain_text(name) for member in self.members
                for name in member.findall('param/declname')]

    @property
    def about(self) -> Element:
        """The text that the functions of its group share."""
        return found(self.group, 'description') if self.group is not None else Element('none')

    def described(self) -> dict[str, Element]:
        """The text of each parameter, from its own comment or from that of its group."""
        texts = {plain_text(name): found(item, 'parameterdescription')
                 for text in (self.about, *(found(member, 'detaileddescription')
                                            for member in self.members))
                 for item in text.iterfind('.//parameteritem')
                 for name in item.iterfind('parameternamelist/parametername')}
        return {name: texts[name] for name in dict.fromkeys(self.parameters()) if name in texts}

    def answers(self) -> list[Element]:
        """What it returns: the text of its own comment, else that of its group."""
        if all(plain_text(found(member, 'type')) == 'void' for member in self.members):
            return []
        returns = ".//simplesect[@kind='return']"
        own, shared = list(self.details.iterfind(returns)), list(self.about.iterfind(returns))
        if any('as above' in plain_text(answer) for answer in own):
            return shared
        return own or shared

    def answer_in_words(self) -> str:
        """What a function returns whose comment has no @return: the sentence that says so, or
        the first one, which is then the name of the value."""
        if all(plain_text(found(member, 'type')) == 'void' for member in self.members):
            return ''
        text = plain_text(self.brief) + ' ' + plain_text(self.details)
        sentence = re.search(r'Returns [^.]*\.', text)
        return sentence.group() if sentence else plain_text(self.brief)


class Manual:
    """All pages. Reads the XML once; write() writes the files."""

    def __init__(self, xml: pathlib.Path, version: str, examples: pathlib.Path) -> None:
        self.version = version
        self.files: dict[str, Element] = {}
        self.documents: dict[str, Element] = {}
        self.structures: dict[str, list[Element]] = {}
        self.functions: dict[str, Function] = {}
        self.meanings: dict[str, str] = {}
        self.names: dict[str, str] = {}  # names of members by their id in the XML
        for path in sorted(xml.glob('*.xml')):
            compound = ElementTree.parse(path).getroot().find('compounddef')
            if compound is not None:
                self.take(compound)
        self.pages: dict[tuple[str, str, str], list[Function]] = {}
        for function in self.functions.values():
            self.pages.setdefault(function.key, []).append(function)
        self.examples = {
            function.name: '\n'.join(map(code_text, function.details.iter('programlisting')))
            for function in self.functions.values()
            if function.details.find('.//programlisting') is not None}
        self.programs = {str(path.relative_to(examples)): path.read_text(encoding='utf-8')
                         for path in sorted(examples.rglob('*.c'),
                                            key=lambda path: (path.parent == examples, path))}

    # ---- Reading ---------------------------------------------------------------------------

    def take(self, compound: Element) -> None:
        """Keeps what pages are made of: headers, structures, and the two documents."""
        kind, location = compound.get('kind'), compound.find('location')
        file = location.get('file', '') if location is not None else ''
        if kind == 'page' and pathlib.PurePath(file).name in DOCUMENTS:
            self.documents[DOCUMENTS[pathlib.PurePath(file).name]] = compound
        elif kind == 'struct' and file.endswith('.h'):
            self.structures.setdefault(file, []).append(compound)
        elif kind == 'file' and file.endswith('.h') and not file.startswith('hmpi'):
            self.files[file] = compound
            for section in compound.iterfind('sectiondef'):
                group = section if section.get('kind') == 'user-defined' else None
                for member in section.iterfind('memberdef'):
                    self.take_member(file, member, group)

    def take_member(self, file: str, member: Element, group: Element | None) -> None:
        """Keeps a function or the meanings of codes."""
        name = member.findtext('name', '')
        self.names[member.get('id', '')] = name
        if member.get('kind') == 'function':
            known = self.functions.setdefault(name, Function(name, file, [], group))
            known.members.append(member)
        for value in member.iterfind('enumvalue'):
            if re.match(r'ACPX_OK$|QMP_SUCCESS$', member.findtext('enumvalue/name', '')):
                self.meanings[value.findtext('name', '')] = ' '.join(
                    plain_text(found(value, part))
                    for part in ('briefdescription', 'detaileddescription')).strip()
        for success in ('ACPX_OK', 'QMP_SUCCESS', 'QMP_MAX_STATUS'):
            self.meanings.pop(success, None)

    # ---- Parts of pages --------------------------------------------------------------------

    def link(self, reference: Element) -> str | None:
        """A function that text names, with the section of its page."""
        text = plain_text(reference)
        function = self.functions.get(text.removesuffix('()'))
        if function is None:
            return f'\\fB{escaped(text)}\\fR' if reference.get('kindref') == 'member' else None
        return f'\\fB{escaped(function.name)}\\fR({function.section})'

    def head(self, name: str, section: str, brief: str, roff: str) -> str:
        """The title line and the section NAME."""
        brief = brief.rstrip('.')
        if re.match(r'[A-Z][a-z]*( [a-z0-9@]|$)', brief):
            brief = brief[0].lower() + brief[1:]
        mark = "'\\\" t\n" if '.TS' in roff else ''
        return (f'{mark}.TH "{escaped(name)}" "{section}" "" "ACP {self.version}" "ACP"\n'
                f'.nh\n.ad l\n.SH NAME\n{escaped(name)} \\- {escaped(brief)}\n{roff}')

    def page_of(self, header: str) -> str:
        """The page of section 7 for a header."""
        stem = pathlib.PurePath(header).stem
        return SECTIONS.get(header, 'scu' if header.startswith('scu/') else f'acp_{stem}')

    def brief_of(self, header: str) -> str:
        """What a header is about: its first sentence, or the one behind the chapter of the
        specification."""
        file = self.files[header]
        brief = plain_text(found(file, 'briefdescription'))
        details = plain_text(found(file, 'detaileddescription/para'))
        if 'chapter' in brief and details:
            return re.split(r'(?<=[a-z])\. ', details)[0].rstrip('.') + '.'
        return re.sub(r'^ACP: ', '', brief)

    def include(self, header: str) -> str:
        """The header that a program includes for a function."""
        if header.startswith('acp/') and header != 'acp/extension.h':
            return 'acp.h'
        return header

    def prototype(self, member: Element) -> str:
        """A declaration in lines of at most 78 characters, with its parameters in italics."""
        arguments = re.sub(r'^\(|\)[^)]*$', '', member.findtext('argsstring', ''))
        depth, words = 0, ['']
        for char in arguments:
            depth += (char == '(') - (char == ')')
            if char == ',' and depth == 0:
                words.append('')
            else:
                words[-1] += char
        names = [plain_text(name) for name in member.iterfind('param/declname')]
        start = f'{plain_text(found(member, "type"))} {member.findtext("name")}('
        start = re.sub(r'\s*\*\s*', ' *', start, count=1) if '*' in start else start
        lines, line, room = [], f'\\fB{escaped(start)}', len(start)
        for i, word in enumerate(word.strip() for word in words):
            word = word.replace('* ', '*') + (', ' if i + 1 < len(words) else ');')
            if room + len(word) > 78 and i > 0:
                lines.append(line.rstrip())
                line, room = '\\fB' + ' ' * min(len(start), 20), min(len(start), 20)
            room += len(word)
            text = escaped(word)
            if i < len(names):
                text = re.sub(rf'\b{names[i]}\b', rf'\\fI{names[i]}\\fB', text, count=1)
            line += text
        return '\n'.join([*lines, line.rstrip() + '\\fR'])

    def convention(self, header: str, number: int) -> Element | None:
        """The n-th convention at the top of a header."""
        file = self.files.get(header, Element('none'))
        items = file.findall('detaileddescription//orderedlist/listitem')
        return items[number - 1] if 0 < number <= len(items) else None

    def errors_of(self, function: Function, seen: set[str]) -> dict[str, str]:
        """Each code with its reason, also of the functions that the text says it is like."""
        seen.add(function.name)
        texts = [''.join(answer.itertext()) for answer in function.answers()]
        whole = ' '.join(''.join(found(member, part).itertext()) for member in function.members
                         for part in ('briefdescription', 'detaileddescription'))
        texts += re.findall(r'acp_errno: (.*?)(?:\.(?=\s)|$)', whole, re.S)
        out: dict[str, str] = {}
        for text in texts:
            for code_name, reason, row in CODE.findall(text):
                if code_name in self.meanings:
                    reason = re.sub(r'\s+', ' ', reason or row).strip()
                    if not reason or reason.startswith('as '):
                        reason = self.meanings[code_name]
                    out.setdefault(code_name, reason)
        for names in SAME_AS.findall(re.sub(r'\s+', ' ', ' '.join(texts) + ' ' + whole)):
            for name in re.findall(NAMES, names):
                other = self.functions.get(name.removesuffix('()'))
                if other and other.name not in seen:
                    for code_name, reason in self.errors_of(other, seen).items():
                        out.setdefault(code_name, reason)
        return out

    def general_errors(self, header: str) -> str:
        """The sentence of a header that names the codes of all of its functions."""
        file = self.files.get(header, Element('none'))
        for item in file.iterfind('detaileddescription//listitem'):
            sentence = re.search(r'Every function can fail with .*', plain_text(item))
            if sentence:
                return lines_of(escaped(sentence.group()))
        return ''

    def conventions_of(self, function: Function) -> list[tuple[str, int, Element]]:
        """The conventions that the text of a function names by their numbers."""
        text = ' '.join(plain_text(part) for member in function.members
                        for part in member.iterfind('detaileddescription'))
        text += plain_text(function.about) + self.general_errors(function.header)
        out: list[tuple[str, int, Element]] = []
        for number, header in re.findall(r'convention (\d+)(?: (?:of|in) (\w+/\w+\.h))?', text):
            item = self.convention(header or function.header, int(number))
            if item is None:
                sys.exit(f'{function.name}: there is no convention {number} in '
                         f'{header or function.header}')
            if all(item is not known for _, _, known in out):
                out.append((header or function.header, int(number), item))
        return sorted(out, key=lambda one: one[:2])

    # ---- Pages -----------------------------------------------------------------------------

    def function_page(self, functions: list[Function]) -> str:
        """The page of section 3 for functions that share a comment."""
        first = functions[0]
        writer = Writer(self.link, frozenset(
            name for one in functions for name in one.parameters()))
        prototypes = '\n.PP\n'.join(f'.nf\n{self.prototype(member)}\n.fi'
                                    for one in functions for member in one.members)
        out = (f'.SH SYNOPSIS\n.nf\n\\fB#include <{escaped(self.include(first.header))}>\\fR\n.fi\n'
               f'.PP\n{prototypes}\n.SH DESCRIPTION\n')
        # Doxygen has taken the first sentence out of the first paragraph.
        out += lines_of(writer.inline(found(first.brief, 'para'))) + '\n'
        details = writer.joined(first.details, NOT_TEXT)
        out += details + '\n' if details else ''
        about = writer.joined(first.about, NOT_TEXT)
        out += f'.PP\n{about}\n' if about else ''
        described = {name: text for one in functions for name, text in one.described().items()}
        if described:
            out += '.SH PARAMETERS\n'
            for name, text in described.items():
                out += f'.TP\n\\fI{escaped(name)}\\fR\n{writer.joined(text)}\n'
        answers = '\n.PP\n'.join(map(writer.joined, first.answers()))
        if answers:
            out += f'.SH RETURN VALUE\n{answers}\n'
        elif first.answer_in_words():
            out += f'.SH RETURN VALUE\n{lines_of(escaped(first.answer_in_words()))}\n'
        out += self.errors_section(functions)
        out += self.conventions_section(first, writer)
        out += self.example_section(functions)
        others = sorted({plain_text(reference).removesuffix('()')
                         for one in functions for member in one.members
                         for reference in member.iterfind('detaileddescription//ref')}
                        & set(self.functions) - {one.name for one in functions})
        pages = [f'\\fB{escaped(name)}\\fR({self.functions[name].section})' for name in others]
        more = [self.page_of(first.header)] + ['acp'] * first.header.startswith('acp/')
        pages += [f'\\fB{escaped(name)}\\fR(7)' for name in dict.fromkeys(more)]
        out += '.SH SEE ALSO\n' + ',\n'.join(pages) + '\n'
        names = ', '.join(one.name for one in functions)
        return self.head(first.name, first.section, plain_text(first.brief), out).replace(
            f'.SH NAME\n{escaped(first.name)} ', f'.SH NAME\n{escaped(names)} ', 1)

    def errors_section(self, functions: list[Function]) -> str:
        """The codes of failures, each with its reason."""
        errors: dict[str, str] = {}
        for one in functions:
            for name, reason in self.errors_of(one, set()).items():
                errors.setdefault(name, reason)
        general = self.general_errors(functions[0].header)
        if not errors and not general:
            return ''
        out = '.SH ERRORS\n'
        parameters = {name for one in functions for name in one.parameters()}
        for name, reason in errors.items():
            if re.match('[a-z]', reason) and re.findall(r'\w+', reason)[0] not in parameters:
                reason = reason[0].upper() + reason[1:]
            out += f'.TP\n\\fB{escaped(name)}\\fR\n{lines_of(escaped(reason.rstrip(".") + "."))}\n'
        return out + (f'.PP\n{general}\n' if general else '')

    def conventions_section(self, function: Function, writer: Writer) -> str:
        """The conventions that the page refers to, in full."""
        out = ''
        for header, number, item in self.conventions_of(function):
            pieces = writer.paragraphs(item)
            rest = '\n'.join(piece if piece.startswith('.') else f'.PP\n{piece}'
                             for piece in pieces[1:])
            out += f'.TP\nConvention {number} of {escaped(header)}\n{pieces[0]}\n'
            out += f'.RS\n{rest}\n.RE\n' if rest else ''
        return f'.SH CONVENTIONS\n{out}' if out else ''

    def example_section(self, functions: list[Function]) -> str:
        """The example of the comment, and the programs that call the function."""
        out = ''
        for one in functions[0].details.iter('programlisting'):
            out += code(code_text(one)) + '\n'
        names = '|'.join(re.escape(one.name) for one in functions)
        others = [escaped(name) for name, example in self.examples.items()
                  if re.search(rf'\b({names})\(', example)
                  and name not in {one.name for one in functions}]
        if others and not out:
            out += f'.PP\nThe page \\fB{others[0]}\\fR(3) has an example with it.\n'
        callers = [name for name, text in self.programs.items()
                   if re.search(rf'\b({names})\(', text)]
        if callers:
            listed = ', '.join(escaped(name) for name in callers[:6])
            verb = 'calls' if len(callers) == 1 else 'call'
            out += f'.PP\nOf the example programs of ACP, {listed} {verb} it.\n'
        return f'.SH EXAMPLES\n{out.removeprefix(".PP" + chr(10))}' if out else ''

    def header_page(self, name: str) -> str:
        """The page of section 7 for a header, or for several."""
        writer = Writer(self.link)
        headers = [file for file in self.files if self.page_of(file) == name]
        if name == 'acp':
            headers = ['acp.h', 'acp/infrastructure.h']
        headers.sort(key=lambda file: file not in SECTIONS)
        out = '.SH SYNOPSIS\n.nf\n'
        out += '\n'.join(f'\\fB#include <{escaped(one)}>\\fR'
                         for one in dict.fromkeys(self.include(file) for file in headers))
        out += '\n.fi\n.SH DESCRIPTION\n'
        for header in headers:
            file = self.files[header]
            text = writer.joined(found(file, 'briefdescription')) + '\n' + \
                writer.joined(found(file, 'detaileddescription'))
            out += ('.PP\n' if header != headers[0] else '') + text.strip() + '\n'
        out += self.pages_section() if name == 'acp' else ''
        for header in headers:
            out += self.types_section(header, writer)
        for header in headers:
            out += self.functions_section(header)
        if name == 'acp':
            out += '.SH EXAMPLES\nEvery rank greets its neighbour, and counts itself on rank 0.\n'
            out += code(self.programs['hello.c'].strip()) + '\n'
            out += code('acpcc hello.c -o hello\nacprun -np 4 ./hello') + '\n'
        also = ['acp(7)', 'acp_extensions(7)', 'acp_ordering(7)', 'acp_settings(7)', 'acprun(1)',
                'acp_info(1)', 'qmp(7)']
        listed = ',\n'.join(f'\\fB{escaped(page[:-3])}\\fR{page[-3:]}'
                           for page in also if page != f'{name}(7)')
        out += f'.SH SEE ALSO\n{listed}\n'
        return self.head(name, '7', self.brief_of(headers[0]), out)

    def pages_section(self) -> str:
        """The list of all pages about headers."""
        out = '.SH "PARTS OF THE MANUAL"\n'
        for header in sorted(self.files):
            page = self.page_of(header)
            if page not in ('acp', 'scu') or header == 'scu/sysfunc.h':
                brief = self.brief_of(header)
                out += f'.TP\n\\fB{escaped(page)}\\fR(7)\n{lines_of(escaped(brief))}\n'
        for page, document in self.documents.items():
            out += f'.TP\n\\fB{escaped(page)}\\fR(7)\n{escaped(document.findtext("title", ""))}.\n'
        return out

    def types_section(self, header: str, writer: Writer) -> str:
        """Types, codes and constants, with their comments."""
        out = ''
        for structure in self.structures.get(header, []):
            out += f'.TP\n\\fB{escaped(structure.findtext("compoundname", ""))}\\fR\n'
            out += self.comment_of(structure, writer)
            for member in structure.iterfind('.//memberdef'):
                declared = f'{plain_text(found(member, "type"))} {member.findtext("name")}' + \
                    member.findtext('argsstring', '')
                text = self.comment_of(member, writer).strip()
                out += f'.RS\n.TP\n\\fI{escaped(declared)}\\fR\n{text or EMPTY}\n.RE\n'
        for member in self.files[header].iterfind("sectiondef/memberdef"):
            text = self.comment_of(member, writer)
            if member.get('kind') == 'function' or not text:
                continue
            value = member.findtext('initializer', '')
            value = f' {value}' if re.match(r'[\w() -]+$', value) else ''
            if member.get('kind') != 'enum' or not member.findtext('name', '').startswith('@'):
                name = member.findtext('name', '')
            else:
                name = 'enum'
            if name:
                out += f'.TP\n\\fB{escaped(name)}\\fR{escaped(value)}\n{text}'
            for entry in member.iterfind('enumvalue'):
                meaning = self.comment_of(entry, writer).strip() or EMPTY
                number = entry.findtext('initializer', '')
                out += f'.RS\n.TP\n\\fB{escaped(entry.findtext("name", ""))}\\fR ' \
                    f'{escaped(number)}\n{meaning}\n.RE\n'
        return f'.SH "TYPES AND CONSTANTS"\n{out}' if out else ''

    def comment_of(self, element: Element, writer: Writer) -> str:
        """The comment of a type or a constant."""
        parts = [writer.joined(part, frozenset({'parameterlist'}))
                 for part in (element.find('briefdescription'), element.find('detaileddescription'))
                 if part is not None]
        text = '\n'.join(part for part in parts if part)
        return text + '\n' if text else ''

    def functions_section(self, header: str) -> str:
        """A line for each function of a header."""
        out = ''
        for functions in self.pages.values():
            if functions[0].header == header:
                names = ', '.join(f'\\fB{escaped(one.name)}\\fR({one.section})'
                                  for one in functions)
                out += f'.TP\n{names}\n{lines_of(escaped(plain_text(functions[0].brief)))}\n'
        return f'.SH FUNCTIONS\n{out}' if out else ''

    def document_page(self, name: str, document: Element) -> str:
        """A page of docs/ as a page of section 7."""
        writer = Writer(self.link)
        body = found(document, 'detaileddescription')
        out = '.SH DESCRIPTION\n' + writer.joined(body) + '\n'

        def sections(parent: Element, depth: int) -> str:
            text = ''
            for section in parent.findall(f'sect{depth}'):
                title = escaped(section.findtext('title', '').strip())
                text += f'.SH "{title.upper()}"\n' if depth == 1 else f'.SS "{title}"\n'
                text += writer.joined(section) + '\n' + sections(section, depth + 1)
            return text

        out += sections(body, 1) + '.SH SEE ALSO\n\\fBacp\\fR(7)\n'
        return self.head(name, '7', document.findtext('title', ''), out)

    def write(self, out: pathlib.Path) -> int:
        """Writes all files; returns how many."""
        files: dict[str, str] = {}
        for functions in self.pages.values():
            first = functions[0]
            files[f'man3/{first.name}.{first.section}'] = self.function_page(functions)
            for other in functions[1:]:
                files[f'man3/{other.name}.{first.section}'] = \
                    f'.so man3/{first.name}.{first.section}\n'
        for name in {self.page_of(header) for header in self.files}:
            files[f'man7/{name}.7'] = self.header_page(name)
        for name, document in self.documents.items():
            files[f'man7/{name}.7'] = self.document_page(name, document)
        for section in ('man3', 'man7'):
            (out / section).mkdir(parents=True, exist_ok=True)
            for old in (out / section).iterdir():
                old.unlink()
        for file, text in files.items():
            (out / file).write_text(tidied(text), encoding='utf-8')
        return len(files)


def main() -> None:
    """Reads the arguments, and writes the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    for word in ('xml', 'out', 'version', 'examples'):
        parser.add_argument(f'--{word}', required=True)
    words = parser.parse_args()
    manual = Manual(pathlib.Path(words.xml), words.version, pathlib.Path(words.examples))
    print(f'{manual.write(pathlib.Path(words.out))} pages for man')


if __name__ == '__main__':
    main()
