#!/bin/sh
# usage: tls_test.sh MOST_BYTES LIBRARY...
#
# The libraries reach their thread-local variables without __tls_get_addr, and
# all of these together have at most MOST_BYTES: static TLS is scarce when a
# running program loads a library.
set -eu
most=$1
shift
total=0
for library in "$@"; do
  name=$(basename "$library")
  if readelf --relocs --wide "$library" | grep -E 'DTPMOD|TLSDESC'; then
    echo "$name: some thread-local variables are found at run time." >&2
    echo "Do its sources have the flags of acp_internal_flags?" >&2
    exit 1
  fi
  if readelf --dyn-syms --wide "$library" | grep __tls_get_addr; then
    echo "$name calls __tls_get_addr" >&2
    exit 1
  fi
  # Program headers: type, offset, two addresses, bytes in the file, in memory.
  for bytes in $(readelf --program-headers --wide "$library" |
    awk '$1 == "TLS" { print $6 }'); do
    total=$((total + bytes))
  done
done
echo "$total bytes of static TLS in $# libraries"
if [ "$total" -gt "$most" ]; then
  echo "more than $most bytes: move what is large to the heap" >&2
  exit 1
fi
