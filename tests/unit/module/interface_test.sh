#!/bin/bash
# Tests the hash of the interface of modules: interface_test.sh CMAKE SOURCE.
# A changed header changes it, and an equal one leaves the made file alone.
set -euo pipefail

cmake=$1
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$1" >&2
  exit 1
}

make_header() {
  "$cmake" -DSOURCE="$folder/tree" -DOUTPUT="$folder/$1" \
    -P "$source/tools/cmake/module_interface.cmake"
}

mkdir -p "$folder/tree/tools"
cp -r "$source/src" "$folder/tree/src"
cp -r "$source/tools/cmake" "$folder/tree/tools/cmake"

make_header first.h
grep -Eq '^#define ACP_MODULE_INTERFACE "[0-9a-f]{16}"$' "$folder/first.h" ||
  fail "the header has no hash of 16 digits"

touch -d '2001-01-01' "$folder/first.h"
before=$(stat -c %Y "$folder/first.h")
make_header first.h
[ "$(stat -c %Y "$folder/first.h")" = "$before" ] ||
  fail "an equal header was written again"

for header in transport/transport.h protocol/step.h settings/settings.h \
  settings/module.h runtime/process_manager.h; do
  echo '// A change.' >>"$folder/tree/src/$header"
  make_header second.h
  ! cmp -s "$folder/first.h" "$folder/second.h" ||
    fail "a change of $header left the hash as it was"
  mv "$folder/second.h" "$folder/first.h"
done

echo '// A change.' >>"$folder/tree/src/settings/module.cc"
make_header second.h
cmp -s "$folder/first.h" "$folder/second.h" ||
  fail "a change of settings/module.cc changed the hash"
