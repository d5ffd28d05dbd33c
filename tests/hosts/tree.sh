#!/bin/sh
# Disconnects two hosts from each other, in jobs whose daemons are a tree. All processes
# stay alive. The hosts h2 and h3 drop each other's packets. Between these two are
#   - in jobs of acprun on h2: its connection to the daemon of h3, which has started the
#     daemons of h1 and h4, and
#   - in jobs of acprun on h1: the connection between the daemon of h2, which has started
#     the daemons of h3 and h4, and the daemon of h3.
# One job of each tree works, and in the other one the ranks wait without any message.
# Each job ends within 15 s, acprun names h3 and its ranks, and no process is left on any
# host.
#
#   with-hosts -n 4 -- tree.sh ACPRUN STEADY VICTIM
set -eu
acprun=$1 steady=$2 victim=$3
limit_ms=15000
output=$TMPDIR/output
# shellcheck source=tests/hosts/ssh_servers.sh
. "$HOST_TOOLS/ssh_servers.sh"

need_filter
start_ssh_servers 1 2 3 4

# Starts a job of two ranks on each host. With a fan-out of 1 the first other host has
# the daemon between acprun and the other daemons.
start_job() { # name, hosts in their order, word...
  output=$TMPDIR/$1
  of=$1 list='' first=${2%% *}
  for host in $2; do
    list=$list${list:+,}10.88.0.$host:2
  done
  shift 2
  : >"$output"
  on "h$first" "$acprun" -np 8 --host "$list" --fan-out 1 --acp-startermemsize=1M "$@" \
    >"$output" 2>&1 &
  eval "job_$of=$!"
}

# How many remote shells acprun and daemons of a host have started.
has_shells() { # host, number
  shells=0
  for pid in $(ip netns pids "$1"); do
    test "$(cat /proc/"$pid"/comm 2>/dev/null)" != ssh || shells=$((shells + 1))
  done
  test $shells = "$2"
}

have_come() { # number of ranks, file
  test "$(wc -l <"$2")" = "$1"
}

begin_jobs() { # tree, hosts in their order
  : >"$TMPDIR/ranks_$1"
  start_job "waits_$1" "$2" "$victim" in_wait stay "$TMPDIR/ranks_$1"
  eventually have_come 8 "$TMPDIR/ranks_$1" || fail "$1: the ranks do not wait"
  start_job "works_$1" "$2" "$steady" 60
  eventually grep -q "first round" "$output" || fail "$1: the job did not begin"
}

# A host drops all packets of another one.
drop() { # by, from
  ip netns exec "h$1" nft -f - <<RULES
table inet wall {
  chain input {
    type filter hook input priority 0;
    ip saddr 10.88.0.$2 drop
  }
}
RULES
}

# Waits for the end of a job, and judges it.
ends_in_time() { # name, ranks of h3
  output=$TMPDIR/$1
  status=0
  eval "wait \$job_$1" || status=$?
  took=$(($(now_ms) - begin))
  echo "$1: status $status after $took ms: $(grep -m1 '^acprun: ' "$output")"
  test $status != 0 || fail "$1: the job ended well"
  test $took -le $limit_ms || fail "$1: the job ended after $took ms"
  grep -m1 "^acprun: " "$output" | grep "10\.88\.0\.3" | grep -qE "$2" ||
    fail "$1: acprun does not name h3 and its ranks"
}

begin_jobs middle "2 3 1 4"
begin_jobs leaf "1 2 3 4"
# Two jobs of each tree. Each has an ssh to its daemon in the middle, and from there two.
for shells in "h1 2" "h2 6" "h3 4" "h4 0"; do
  # shellcheck disable=SC2086 # two words
  has_shells $shells || fail "the daemons are no such trees: not $shells"
done
begin=$(now_ms)
drop 2 3
drop 3 2
# h3 has ranks 2-3 where its daemon is in the middle, and ranks 4-5 as a leaf.
ends_in_time waits_middle "ranks 2-3"
ends_in_time waits_leaf "ranks 4-5"
ends_in_time works_middle "ranks 2-3|rank [23] is lost"
ends_in_time works_leaf "ranks 4-5|rank [45] is lost"
for host in h1 h2 h3 h4; do
  eventually is_empty $host || fail "processes are left on $host"
done
took=$(($(now_ms) - begin))
echo "all hosts were empty after $took ms"
test $took -le $limit_ms || fail "processes were left for $took ms"
