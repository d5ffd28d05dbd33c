#!/bin/sh
# docs/specification.md names each function that libacp adds to the specification.
#
#   specification_page.sh <source tree>
set -eu
cd "$1"
status=0
for name in $(grep '^acpx_' docs/symbols.txt) acp_waitall_ch; do
  if ! grep -q "\`$name\`" docs/specification.md; then
    echo "docs/specification.md does not name the addition $name" >&2
    status=1
  fi
done
exit $status
