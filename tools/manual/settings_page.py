#!/usr/bin/env python3
"""Writes the page about settings from what `acp_info --json` prints.

    settings_page.py SETTINGS.json PAGE.md

Doxygen reads the page, and acp_settings(7) is made of it. The values in force on this machine
are left out: the page has the defaults.
"""
import json
import sys

TEXT = '''# Settings of ACP {#acp_settings}

A setting is an environment variable. `acp_init` reads it on each rank. Some settings are options
of acprun, too, and words of the command line of the program. `acp_info` shows the value that each
has. Sizes may end with K, M, G or T. The settings of HMPI come last.'''

HMPI = '''## Settings of HMPI

These settings are for MPI programs that hmpirun starts.'''


def section(setting: dict[str, str]) -> str:
    """One setting, with its default, its choices and its option."""
    lines = [f'## {setting["name"]}', '', setting['documentation'], '']
    default = f'`{setting["default"]}`' if setting['default'] else 'empty'
    lines.append(f'- The default is {default}.')
    if setting['choices']:
        choices = ', '.join(f'`{choice}`' for choice in setting['choices'].split('|'))
        lines.append(f'- The choices are {choices}.')
    if setting['option']:
        lines.append(f'- The option of acprun and of programs is `{setting["option"]}`.')
    return '\n'.join(lines)


def main(table_file: str, page_file: str) -> None:
    """Reads the table, and writes the page."""
    with open(table_file, encoding='utf-8') as file:
        table = json.load(file)
    parts = [TEXT, *(section(setting) for setting in table['settings']), HMPI,
             *(section(setting) for setting in table['hmpi_settings'])]
    with open(page_file, 'w', encoding='utf-8') as file:
        file.write('\n\n'.join(parts) + '\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
