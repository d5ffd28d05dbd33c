#!/bin/sh
# Takes the network from a job, and looks how the job ends. In case ports each host
# lets only UDP of its narrowed range of ports pass, and the job does not notice. In
# case vanishes four jobs lose the same host: one starts, one works, and in two the
# ranks of the other hosts wait in acp_reset or in acp_finalize.
#
#   with-hosts -- failures.sh CASE ACPRUN STEADY
set -eu
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"
case=$1 acprun=$2 steady=$3
seconds=60 limit_ms=15000
case $case in
returns) seconds=8 ;;
ports) seconds=2 ;;
esac
output=$TMPDIR/output

# A host drops all UDP datagrams from another one; the other way is left open.
drop() { # by, from
  ip netns exec "h$1" nft -f - <<RULES
table inet wall {
  chain input {
    type filter hook input priority 0;
    ip saddr 10.88.0.$2 udp dport 1-65535 drop
  }
}
RULES
}

# Whether a rank of one host reports that the other host does not answer.
names() { # rank, its host, other host
  grep -q "^acprun: rank $1 on h$2 at 10.88.0.$2 .*does not answer.* at 10.88.0.$3:" \
    "$output"
}

# The kernel chooses ports from this range, and the firewall drops all others.
narrow_ports() { # host
  ip netns exec "$1" sh -c \
    'echo 40000 40015 >/proc/sys/net/ipv4/ip_local_port_range'
  ip netns exec "$1" nft -f - <<RULES
table inet ports {
  chain input {
    type filter hook input priority 0;
    meta l4proto udp udp dport != 40000-40015 drop
    meta l4proto tcp drop
  }
}
RULES
}

needs_nft() {
  case $case in wall* | ports) return 0 ;; *) return 1 ;; esac
}

if needs_nft; then
  need_filter
fi
if test "$case" = ports; then
  for host in $(seq "$HOSTS"); do
    narrow_ports "h$host"
  done
fi

start_job() { # output, word of steady...
  output=$1
  shift
  : >"$output"
  "$HOST_TOOLS/job" "$acprun" --acp-startermemsize=1M "$steady" "$@" \
    >"$output" 2>&1 &
  job=$!
}

no_process_is_left() {
  for host in $(seq "$HOSTS"); do
    test -z "$(ip netns pids "h$host")" || fail "processes are left on h$host"
  done
}

# Whether the ranks of the other hosts have come to the call.
wait_in() { # call
  test "$(grep -c "^rank [0-9] calls acp_$1" "$output")" = $((2 * HOSTS - 1))
}

# Waits for the job of this output, and judges its end. h3 misses the others as soon
# as they miss it.
loses_host() { # job, output
  output=$2
  status=0
  wait "$1" || status=$?
  took=$(($(now_ms) - begin))
  echo "${output##*/}: the job ended after $took ms: $(grep -m1 '^acprun: ' "$output")"
  test $status != 0 || fail "the job ended well"
  test $took -le $limit_ms || fail "the job ended after $took ms"
  grep "^acprun: rank . on .* is lost: " "$output" |
    grep -q "10.88.0.3" || fail "acprun does not name h3"
}

if test "$case" = vanishes; then
  # The rank that stays out of the call is on h3.
  start_job "$TMPDIR/resets" 0 reset 4
  resets=$job
  eventually wait_in reset || fail "the ranks do not wait in acp_reset"
  start_job "$TMPDIR/finalizes" 0 finalize 4
  finalizes=$job
  eventually wait_in finalize || fail "the ranks do not wait in acp_finalize"
  start_job "$TMPDIR/works" 60
  works=$job
  eventually grep -q "first round" "$output" || fail "the job did not begin"
  # This remote shell tells that acprun is about to start the daemon of h3.
  cat >"$TMPDIR/rsh" <<RSH
#!/bin/sh
test "\$1" != 10.88.0.3 || : >"$TMPDIR/has_begun"
exec "$HOST_TOOLS/in-host" "\$@"
RSH
  chmod +x "$TMPDIR/rsh"
  export HOST_RSH="$TMPDIR/rsh"
  start_job "$TMPDIR/starts" 60
  starts=$job
  eventually test -e "$TMPDIR/has_begun" || fail "the last job did not begin"
  begin=$(now_ms)
  # The messages of acprun do not pass the bridge, so the start goes on. The
  # ranks of the other hosts need h3 after acp_init only.
  ip link set v3 down
  eventually grep -q "acp_init is over" "$output" || fail "no start without h3"
  init_is_over=$(now_ms)
  loses_host $resets "$TMPDIR/resets"
  grep -q "^acprun: .*waiting in acp_reset" "$output" || fail "no rank was in acp_reset"
  loses_host $finalizes "$TMPDIR/finalizes"
  grep -q "^acprun: .*waiting in acp_finalize" "$output" ||
    fail "no rank was in acp_finalize"
  loses_host $works "$TMPDIR/works"
  begin=$init_is_over
  loses_host $starts "$TMPDIR/starts"
  no_process_is_left
  exit 0
fi

start_job "$output" $seconds
eventually grep -q "first round" "$output" || fail "the job did not begin"

begin=$(now_ms)
case $case in
returns)
  ip link set v3 down
  sleep 3 # the outage itself, not a wait for something
  ip link set v3 up
  ;;
wall) drop 2 3 && drop 3 2 ;;
wall.one_way) drop 2 3 ;;
esac
status=0
wait $job || status=$?
took=$(($(now_ms) - begin))

if test "$case" = returns || test "$case" = ports; then
  test $status = 0 || fail "status $status"
  grep -q "rounds were exact" "$output" || fail "the job said nothing"
else
  test $status != 0 || fail "the job ended well"
  test $took -le $limit_ms || fail "the job ended after $took ms"
fi
case $case in
wall*)
  names "[23]" 2 3 || names "[45]" 3 2 || fail "acprun does not name both hosts"
  ;;
esac
no_process_is_left
cat "$output"
echo "the job ended after $took ms"
