"""`python3 -m acp` prints what acp_info prints, and takes its options."""

import os
import sys

from .launch import find_program

if __name__ == "__main__":
    try:
        program = find_program("acp_info")
    except FileNotFoundError as error:
        sys.exit(f"acp: {error}")
    os.execv(program, [program, *sys.argv[1:]])
