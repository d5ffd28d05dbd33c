#!/bin/sh
# Proves that lint.prose sees bad sentences, and no others.
#
#   prose_selftest.sh <check_prose.sh>
set -eu
lint=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

judge() { # judge <file name> <text>: prints accepted or refused
  printf '%s\n' "$2" >"$work/$1"
  if "$lint" "$work/$1" >"$work/log" 2>&1; then
    echo accepted
  else
    echo refused
  fi
}

expect() { # expect <accepted|refused> <file name> <text>
  verdict=$(judge "$2" "$3")
  if test "$verdict" != "$1"; then
    echo "'$3' in $2 was $verdict" >&2
    cat "$work/log" >&2
    exit 1
  fi
}

# A comment alone, beside code, in a block, behind a tag, in a page, and in a script.
comment() { # comment <accepted|refused> <sentence>
  expect "$1" one.h "// $2"
  expect "$1" one.h "int bytes;  ///< $2"
  expect "$1" one.h "/** $2 */"
  expect "$1" one.h "/*
 * @param size $2
 */"
  expect "$1" one.h "// An address.
//
// - $2"
  expect "$1" page.md "# Of pages

- a list
- $2"
  expect "$1" one.sh "#!/bin/sh
# $2"
}

comment accepted 'Bytes of payload in flight.'
comment accepted 'The endpoint sends the oldest fragment again.'
comment accepted 'What happens when the ring is full?'
comment accepted 'As section 4.11.1 allows, CONT waits like ALL.'
comment accepted 'As long as the window is full, the caller makes progress.'
comment accepted 'For each peer, the sender keeps a window.'
comment accepted 'To a peer that died, the endpoint sends nothing.'
comment accepted 'Nothing throws.'
comment accepted 'The same program runs over UDP.'
comment accepted 'Which address card and doorbell a peer has, the slice says.'
comment refused 'The same for reads.'
comment refused 'The same, once more.'
comment refused 'The same.'
comment refused 'Those that have pieces to send.'
comment refused 'Of the oldest fragment.'
comment refused 'What a peer sends is a packet.'
comment refused 'As kSelf; the CPU executes them.'
comment refused 'For tests.'
comment refused 'To a tick of the kernel.'
comment refused 'Who waits takes the lock.'
comment refused 'Nobody rings.'
comment refused 'And of the upper edge.'
comment refused 'A path is added to the company.'
comment refused 'The bell of a slice.'
comment refused 'Each wire publishes its card.'
comment refused 'The path is crowded.'
comment refused 'Takes a hold of the region.'
comment refused 'Nothing starts while a link is on hold.'
comment accepted 'The caller holds the lock, so no rank holds up another rank.'
comment refused 'The daemon is cut off from acprun.'
comment refused 'A longer text is cut.'
comment accepted 'The sender takes a shortcut, and cuts no message.'
comment refused 'A rank that is apart comes to no barrier.'
comment accepted 'The epoch tells jobs apart, and the words are 64 bytes apart.'
comment accepted 'Apart from messages, the ring has a header.'

# Code, strings, examples and continued comments are no beginnings.
expect accepted one.cc '// Opens the socket.
const char* text = "// As a wire";  // The URL is https://example.org.
char quote = 0x22;
int as_bell(int wire);'
expect accepted one.cc '// The sender keeps the fragment for the receiver
// as long as it takes, and the bytes
// of the header.
int size;  ///< Bytes of the payload, and
           ///< those of the header.'
expect accepted page.md '```
As a wire
```

    company, bell

The option `wire` is gone.'
expect accepted one.cc '// Opens the socket.
}  // namespace

/// The endpoint sends the fragment once more
/// for each loss that the peer reports.
int size;'
expect refused one.cc 'int size;  ///< Bytes of the payload.
int rest;  ///< Of the header.'

# In scripts and CMake files, comments with a line of their own count, but examples
# do not.
expect accepted one.sh '#!/bin/sh
# Opens the socket, and
# those of its peers.
#
#   one.sh wire
open() { # Of wires
  echo "$#" # As a wire
}'
expect refused one.sh "#!/bin/sh
# Opens the socket.
set -eu
$(printf '# Of its peers.')"
expect refused script "#!/bin/bash
$(printf '# Of its peers.')"
expect accepted script "#!/bin/bash
# Opens the socket of its peers."
expect refused one.cmake "set(bytes 1)
# An address.
#
# - $(printf 'Of its peers.')"
expect refused CMakeLists.txt "if(bytes)
  # $(printf 'Of its peers.')
endif()"
expect accepted CMakeLists.txt '# ---- Those of others ---
set(one "#
Those of others")'

# Many indefinite words in a text of more than 500 words.
many() { # many <sentence> <times>
  for i in $(seq "$2"); do
    echo "$1"
  done
}
expect accepted page.md "$(many 'The endpoint sends the oldest fragment.' 120)"
expect refused page.md "$(many 'The one that somebody sends is the same.' 120)"

# Sentences of pages have at most 25 words, in cells of tables too. Code spans count
# as one word, links by their text, and headings and code not at all.
words() { # words <number>: "word1 ... wordN"
  seq -f 'word%.0f' -s ' ' "$1"
}
expect accepted page.md "$(words 25)."
expect refused page.md "$(words 26)."
expect refused page.md "Short. $(words 26)! Short."
expect accepted page.md "$(words 20). $(words 20)? $(words 20)! \"$(words 20).\" $(words 20).
*$(words 20).* ($(words 20).) $(words 20)."
expect refused page.md "$(words 20): $(words 6)."
expect refused page.md "$(words 20); $(words 6)."
expect refused page.md "- $(words 12)
  $(words 14)"
expect accepted page.md "$(words 20):

- $(words 20)
- $(words 20)
1. $(words 20)

\`--option\`
: $(words 25)"
expect refused page.md "\`--option\`
: $(words 26)"
expect accepted page.md "# $(words 30)

\`\`\`
$(words 30)
\`\`\`

    $(words 30)"
expect accepted page.md "$(words 24) \`$(words 9)\`."
expect refused page.md "$(words 25) \`word\`."
expect accepted page.md "$(words 24) [one](a/page.md#of-$(words 1))."
expect refused page.md "$(words 24) [one two](page.md)."
expect accepted page.md "$(words 24) 0.25 - / + =."
expect refused page.md "$(words 24) 0.25 26."
expect accepted page.md "| $(words 20) | $(words 20) |
|---|---|
| $(words 25) | $(words 20). $(words 20) |"
expect refused page.md "| $(words 3) | $(words 26) |"
expect refused page.md "| $(words 3) | Short. $(words 26) | $(words 3) |"
expect refused page.md "| $(words 13) \\| $(words 13) |"
"$lint" "$work/page.md" >"$work/log" && exit 1
grep -q 'page.md:1: a sentence has 26 words: word1' "$work/log"

# Comments may have longer sentences.
expect accepted one.cc "// $(words 26)."
expect accepted one.sh "#!/bin/sh
# $(words 26)."

# Product code: long functions and tops of files.
long() { # long <line before the function>
  echo "$1
int f(int x) {"
  many '  x += f(x, 1);' 20
  echo '}'
}
top='// Opens the socket.
#include "one.h"
'
mkdir -p "$work/src/base" "$work/tests/src" "$work/udp"
expect accepted src/base/one.cc "$top$(long '// Adds up, from the front.')"
expect refused src/base/one.cc "$top$(long '')"
expect refused udp/one.h "$(long '')"
expect refused udp/one.cc '#include "one.h"
// Opens the socket.'
expect accepted tests/src/one.cc "$(long '')"
expect accepted udp/one.cc "${top}const char* script = R\"(
$(long '')
)\";"

# The measures of --report.
measure() { # measure <column> <value> <file name> <text>
  printf '%s\n' "$4" >"$work/$3"
  seen=$("$lint" --report "$work/$3" | awk -v c="$1" '$1 == "sum" { print $c }')
  if test "$seen" != "$2"; then
    echo "column $1 is '$seen', not '$2', for '$4'" >&2
    exit 1
  fi
}

lines() { many '  x += f(x, 1);' 20; }
measure 8 1/1 one.cc "namespace a {
int f(int x) {
$(lines)
}
}"
measure 8 0/1 one.cc "// Adds up.
int f(int x) {
$(lines)
}"
measure 8 0/1 one.cc "int f(int x) {
  // The first is the longest.
$(lines)
}"
measure 8 0/0 one.cc "TEST_CASE(\"f: adds up\") {
$(lines)
}"
measure 9 0.50 one.cc '// Opens the socket.
int open();

int close();'
measure 10 0/1 one.cc '// Opens the socket.
int open();'
measure 10 1/1 one.cc '#include "one.h"
// Opens the socket.'
measure 11 0/2 one.h "// $(words 25). Short.
int size;"
measure 11 1/2 one.h "// $(words 26). Short.
int size;"
measure 11 2/3 page.md "| $(words 26) | Short. |

$(words 26)."
