#!/bin/sh
# acp.hpp compiles without a warning and without RTTI by each compiler that is
# installed, and each of its headers compiles alone. A type that cannot be an
# element or a key is refused with a sentence for people.
#
#   compilers_test.sh <source tree> <C++ compiler>...
set -eu
top=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=c++20 -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -pedantic
  -Wold-style-cast -Werror -fsyntax-only -fno-rtti -I $top/include"

# Lines that do not compile, each with the words that say why. A compiler refuses
# a type once, so each line has a type of its own.
cat >"$work/bad.txt" <<'END'
has to be trivially copyable|void f1() { acp::vector<std::string> v(0); }
has to be trivially copyable|void f2() { acp::publish("x", std::vector<int>()); }
has to be trivially copyable|void f3() { acp::map<int, std::vector<char>> m(1); }
has to be trivially copyable|void f4() { acp::registered<std::vector<long>> r(1U); }
has to be trivially copyable|void f5() { acp::channel<std::vector<short>> c(0, 1); }
may have no padding|struct k { char a; int b; }; void f6() { acp::set<k> s(1); }
2,048 bytes at most|struct t { char a[4000]; }; void f7() { acp::get(acp::global_ptr<t>()); }
deleted|void f8(acp::vector<int>& a) { acp::vector<int> b = a; }
END
{
  printf '#include <acp/acp.hpp>\n#include <string>\n'
  cut -d'|' -f2 "$work/bad.txt"
} >"$work/bad.cc"

refuse_all() { # refuse_all <compiler>
  # shellcheck disable=SC2086 # the flags are words
  if "$1" $flags "$work/bad.cc" 2>"$work/text"; then
    echo "$1 takes bad.cc" >&2
    exit 1
  fi
  line=3
  while IFS='|' read -r words _; do
    # Behind the place in bad.cc come lines inside of the header, with the words.
    grep -q "bad.cc:$line:" "$work/text" && grep -qF "$words" "$work/text" || {
      echo "$1 does not say '$words' of line $line of bad.cc:" >&2
      cat "$work/bad.cc" "$work/text" >&2
      exit 1
    }
    line=$((line + 1))
  done <"$work/bad.txt"
}

for header in "$top"/include/acp/cpp/*.hpp; do
  name=${header#"$top/include/"}
  printf '#include <%s>\n#include <%s>\n' "$name" "$name" >"$work/alone.cc"
  # shellcheck disable=SC2086
  "$1" $flags "$work/alone.cc"
done
for cxx in "$@"; do
  command -v "$cxx" >/dev/null || continue
  for test in pointers structures messages job; do
    # shellcheck disable=SC2086
    "$cxx" $flags -I "$top/tests" "$top/tests/cpp/$test.cc"
  done
  refuse_all "$cxx"
  echo "$cxx: tests and refusals"
done
