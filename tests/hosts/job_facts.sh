#!/bin/sh
# acp_info --job between hosts whose firewall drops all UDP of the job: each host
# says which addresses it uses, although no rank can tell another rank.
#
#   with-hosts -n 2 -- job_facts.sh ACPRUN ACP_INFO
set -eu
acprun=$1 acp_info=$2
output=$TMPDIR/output
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"

need_filter
for host in 1 2; do
  ip netns exec h$host nft -f - <<RULES
table inet wall {
  chain input {
    type filter hook input priority 0;
    ip saddr 10.88.0.$((3 - host)) udp dport 1-65535 drop
  }
}
RULES
done
status=0
"$HOST_TOOLS/job" "$acprun" "$acp_info" --job >"$output" 2>&1 || status=$?
test $status != 0 || fail "the job ended with status 0"
for host in 1 2; do
  grep -qE "^acp_info: rank $((2 * (host - 1))) on h$host waits .*udp .*0: eth0 at 10.88.0.$host\$" \
    "$output" || fail "h$host does not say its address"
done
