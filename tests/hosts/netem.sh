#!/bin/sh
# Jobs on hosts whose network delays, loses, duplicates, reorders and damages
# packets by tc's netem: copies, atomics, barriers, channels, a map and QMP, with
# authenticated packets. The results are exact, and counters of the kernel and of
# the library show that the faults have happened.
#
#   with-hosts -q NETEM -- netem.sh ACPRUN CONFORMANCE QMP_MESSAGE
#
# CONFORMANCE has the cases of several programs of the specification.
set -eu
acprun=$1 conformance=$2 qmp_message=$3
output=$TMPDIR/output lines=$TMPDIR/lines
# Tests in the virtual machine have settings for its RDMA devices.
unset ACP_SHM ACP_VERBS_ATOMICS ACP_VERBS_WRITES
ACP_NET=udp ACP_LOG=debug
export ACP_NET ACP_LOG

fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

# job RANKS_OF_A_HOST PROGRAM CASE...
job() {
  ranks=$(($1 * HOSTS)) of_a_host=$1 program=$2
  shift 2
  begin=$(date +%s)
  "$HOST_TOOLS/job" -r "$of_a_host" "$acprun" --stats --acp-startermemsize=1M \
    "$program" "$@" >"$output" 2>&1 || fail "${program##*/}: the job failed"
  cases=$(grep -c '^ok ' "$output") || true
  echo "${program##*/}: $ranks ranks, $cases cases, $(($(date +%s) - begin)) s"
  grep '^ok ' "$output" | sed 's/^ok */  /'
  grep "^acprun: udp sent" "$output" | tee -a "$lines"
  test "$cases" = $# || fail "$# cases were to run"
  test "$(grep -c "debug: udp: packets authenticated (" "$output")" = "$ranks" ||
    fail "not every rank has authenticated packets"
}

# Packets that netem has lost on the way to the hosts.
lost() {
  for host in $(seq "$HOSTS"); do
    tc -s qdisc show dev "v$host"
  done | grep -o 'dropped [0-9]*' | awk '{ sum += $2 } END { print sum + 0 }'
}

# Datagrams whose checksum is wrong, which the kernels of the hosts have dropped.
damaged() {
  for host in $(seq "$HOSTS"); do
    ip netns exec "h$host" cat /proc/net/snmp /proc/net/snmp6
  done | awk '$1 == "Udp:" && $2 != "InDatagrams" { sum += $8 }
    $1 == "Udp6InCsumErrors" { sum += $2 } END { print sum + 0 }'
}

# A count of the jobs' last lines: the number before a word.
library() { # word
  grep -o "[0-9]* $1" "$lines" | awk '{ sum += $1 } END { print sum + 0 }'
}

job 1 "$conformance" acp_rank_and_procs acp_sync_shows_stores \
  acp_reset_permutations acp_copy_all_pairs atomics_in_a_chain_of_orders \
  acp_create_ch_matches_in_order acp_create_ch_all_to_all \
  acpx_upsert_add8_map_contention acp_map_values_do_not_move
job 2 "$qmp_message" qmp_start_order qmp_start_all_to_all
echo "packets lost $(lost), damaged $(damaged), twice $(library replayed)"
test "$(lost)" -gt 0 || fail "no packet was lost"
test "$(damaged)" -gt 0 || fail "no packet was damaged"
test "$(library replayed)" -gt 0 || fail "no packet came twice"
