#!/bin/sh
# The program in README.md is docs/examples/hello.c, which is built and run.
#
#   readme_program.sh <source tree>
set -eu
cd "$1"
awk '/^```/ { code = ($0 == "```c"); next } code' README.md |
  diff -u - docs/examples/hello.c >&2 || {
  echo "README.md shows another program than docs/examples/hello.c" >&2
  exit 1
}
