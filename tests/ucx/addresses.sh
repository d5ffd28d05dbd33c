#!/bin/sh
# Hosts with many interfaces, so that the UCX addresses of a rank take more than
# 8 KiB; each host has all of them, or fetches those that it needs.
#
#   with-hosts -n 2 -- addresses.sh ACPRUN PROGRAM
set -eu
acprun=$1 program=$2
output=$TMPDIR/output

list=eth0
for i in $(seq 40); do
  for host in 1 2; do
    ip link add "p$host.$i" type veth peer name "d$i" netns "h$host"
    ip link set "p$host.$i" master bridge up
    ip -n "h$host" address add "10.90.$i.$host/24" dev "d$i"
    ip -n "h$host" link set "d$i" up
  done
  list=$list,d$i
done
colors=$list
for _ in $(seq 7); do colors="$colors;$list"; done
export ACP_NET=ucx UCX_TLS=tcp,self ACP_UCX_DEVICES="$colors" ACP_LOG=debug

for way in all fetch; do
  ACP_ADDRESSES=$way "$HOST_TOOLS/job" "$acprun" "$program" >"$output" 2>&1 || {
    echo "FAILED: ACP_ADDRESSES=$way"
    cat "$output"
    exit 1
  }
  bytes=$(sed -n 's/.*an address card of \([0-9]*\) bytes.*/\1/p' "$output" | head -n 1)
  if ! test "$bytes" -gt 8192; then
    echo "FAILED: the address card has ${bytes:-no} bytes: too few for this test"
    exit 1
  fi
  fetched=$(grep -c "acprun has fetched the address card of rank" "$output") || true
  case $way,$fetched in
  all,0 | fetch,[1-9]*) ;;
  *)
    echo "FAILED: ACP_ADDRESSES=$way fetched $fetched address cards"
    exit 1
    ;;
  esac
done
