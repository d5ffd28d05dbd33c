#!/bin/sh
# ACP_UDP_TAGS between hosts: one library on each of two hosts, a host without the
# module, a host whose module is of another build, and a setting that cannot be had.
#
#   with-hosts -n 2 -- tags.sh ACPRUN PROGRAM HELLO ACP_INFO
#
# PROGRAM copies memory between all ranks, and checks it. HELLO only meets the others.
# Without intel-ipsec-mb in this build, only what libsodium does is tested.
set -eu
acprun=$1 program=$2 hello=$3 acp_info=$4
output=$TMPDIR/output
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
export ACP_LOG=debug

works() { # environment of rank 2 and 3, which are on h2
  "$HOST_TOOLS/job" "$acprun" --wrap "env $1" --wrap-ranks 2,3 "$program" >"$output" 2>&1 ||
    fail "$1: the job failed"
}

# says RANKS TEXT: so many ranks have a line with the text.
says() {
  test "$(grep -c "$2" "$output")" = "$1" || fail "not $1 ranks say: $2"
}

case $("$acp_info") in
*"tags by intel-ipsec-mb"*) has_module=yes ;;
*) has_module= ;;
esac
unset ACP_UDP_TAGS

for security in auth encrypt; do
  export ACP_UDP_SECURITY=$security
  works ACP_UDP_TAGS=libsodium
  if test -n "$has_module"; then
    says 2 "packets .* by libsodium"
    says 2 "packets .* by intel-ipsec-mb"
  else
    says 0 "by intel-ipsec-mb"
  fi
done
unset ACP_UDP_SECURITY
program=$hello

# h2 has a file of the module's name that is none. One rank of the host warns.
mkdir "$TMPDIR/modules"
echo "no module" >"$TMPDIR/modules/libacp-ipsec-mb.so"
works "ACP_MODULE_PATH=$TMPDIR/modules"
says 1 "warning: udp: .*$TMPDIR/modules/libacp-ipsec-mb.so.*libsodium makes the tags"

# The same file is an error where the setting asks for the module.
status=0
"$HOST_TOOLS/job" "$acprun" \
  --wrap "env ACP_MODULE_PATH=$TMPDIR/modules ACP_UDP_TAGS=ipsec-mb" --wrap-ranks 2 \
  "$program" >"$output" 2>&1 || status=$?
test $status != 0 || fail "the job ended well without the module"
says 1 "error: ACP_UDP_TAGS=ipsec-mb: .*leave the setting out"

# All hosts with one library, and all with the other one.
test -z "$has_module" || {
  export ACP_UDP_TAGS=ipsec-mb
  works ACP_LOG=debug
  says 4 "packets .* by intel-ipsec-mb"
}
export ACP_UDP_TAGS=libsodium
works ACP_LOG=debug
says 0 "by intel-ipsec-mb"
