#!/bin/sh
# acp.hpp compiles without a warning by each compiler that is installed, without
# RTTI too, and each of its headers compiles alone. A type that cannot be an
# element or a key is refused with a sentence for people.
#
#   compilers_test.sh <source tree> <C++ compiler>...
set -eu
top=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=c++20 -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -pedantic
  -Wold-style-cast -Werror -fsyntax-only -I $top/include"

# refuse <compiler> <text> <line>: the line does not compile, and the text says
# why.
refuse() {
  printf '#include <acp/acp.hpp>\n#include <string>\nvoid f() { %s }\n' "$3" \
    >"$work/bad.cc"
  # shellcheck disable=SC2086 # the flags are words
  if "$1" $flags "$work/bad.cc" 2>"$work/text"; then
    echo "$1 takes: $3" >&2
    exit 1
  fi
  grep -qF "$2" "$work/text" || {
    echo "$1 does not say '$2' of: $3" >&2
    cat "$work/text" >&2
    exit 1
  }
}

for cxx in "$@"; do
  command -v "$cxx" >/dev/null || continue
  for rtti in -frtti -fno-rtti; do
    for test in pointers structures messages job; do
      # shellcheck disable=SC2086
      "$cxx" $flags $rtti -I "$top/tests" "$top/tests/cpp/$test.cc"
    done
  done
  for header in "$top"/include/acp/cpp/*.hpp; do
    printf '#include <%s>\n' "${header#"$top/include/"}" \
      "${header#"$top/include/"}" >"$work/alone.cc"
    # shellcheck disable=SC2086
    "$cxx" $flags "$work/alone.cc"
  done
  element="has to be trivially copyable"
  refuse "$cxx" "$element" 'acp::vector<std::string> v(0);'
  refuse "$cxx" "$element" 'acp::publish("x", std::string());'
  refuse "$cxx" "$element" 'acp::get(acp::global_ptr<std::string>());'
  refuse "$cxx" "$element" 'acp::map<int, std::string> m(1);'
  refuse "$cxx" "$element" 'acp::registered<std::string> r(1U);'
  refuse "$cxx" "$element" 'acp::channel<std::string> c(0, 1);'
  refuse "$cxx" "no padding" 'struct k { char a; int b; }; acp::set<k> s(1);'
  refuse "$cxx" "2,048 bytes at most" \
    'struct t { char a[4000]; }; acp::get(acp::global_ptr<t>());'
  refuse "$cxx" "" 'acp::vector<int> a(0), b = a;'
  echo "$cxx: tests, headers alone, refusals"
done
