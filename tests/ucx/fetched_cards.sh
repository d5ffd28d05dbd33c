#!/bin/sh
# Jobs under other launchers than acprun whose ranks fetch address cards from the
# launcher. Every rank reaches every other one; neighbours reach each other only;
# and a rank dies, or aborts the job, while the others fetch.
#
#   with-hosts -n 4 -- fetched_cards.sh LAUNCHER LATE_CONTACT HELLO
#   with-slurm fetched_cards.sh LAUNCHER LATE_CONTACT HELLO
#
# LAUNCHER: mpich, mpich_pmi2, openmpi, slurm_pmi2 or slurm_pmix. RUNS in the
# environment is the number of rounds.
set -eu
launcher=$1 late_contact=$2 hello=$3
here=$(cd "$(dirname "$0")/../hosts" && pwd)
# shellcheck source=../hosts/eventually.sh
. "$here/eventually.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
output=$work/output
# Three steps of a second after a death, the launcher's own clean-up, and busy
# cores.
limit_s=20
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ACP_NET=ucx UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 ACP_LOG=debug
variables='ACP_NET UCX_TLS UCX_NET_DEVICES ACP_LOG ACP_ADDRESSES ACP_BOOTSTRAP'
: "${HOSTS:=2}"

addresses() { # the text behind each
  for i in $(seq "$HOSTS"); do
    printf '%s10.88.0.%s%s' "$(test "$i" = 1 || echo ,)" "$i" "$1"
  done
}

case $launcher in
mpich) tool=mpiexec.hydra interface=pmi1 ;;
mpich_pmi2) tool=mpiexec.hydra interface=pmi2 ;;
openmpi) tool=mpirun.openmpi interface=pmix ;;
slurm_*) tool=srun interface=${launcher#slurm_} ;;
esac
export ACP_BOOTSTRAP="$interface"
command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed" && exit 77; }

on_first_host() { # command
  # shellcheck disable=SC2016 # for the inner shell
  ip netns exec h1 unshare --uts sh -c 'hostname h1 && exec "$@"' job "$@"
}

# Runs the program with so many ranks on each host.
start() { # ranks of a host, program and its arguments
  ranks=$1
  shift
  all=$((ranks * HOSTS))
  case $launcher in
  mpich*)
    on_first_host mpiexec.hydra -launcher rsh -launcher-exec "$here/in-host" \
      -iface eth0 -ppn "$ranks" -hosts "$(addresses '')" -n $all "$@"
    ;;
  openmpi)
    # shellcheck disable=SC2046,SC2086 # the options are words
    on_first_host mpirun.openmpi --mca plm_rsh_agent "$here/in-host" \
      --mca oob_tcp_if_include eth0 $(printf ' -x %s' $variables) \
      --host "$(addresses ":$ranks")" -n $all "$@"
    ;;
  slurm_*)
    srun --quiet "--mpi=$interface" -K "-N$HOSTS" --overcommit \
      "--ntasks-per-node=$ranks" -n $all "$@"
    ;;
  esac
}

fail() { # text
  echo "FAILED: $1"
  cut -c1-300 "$output" | tail -n 60
  exit 1
}

fetched() { grep -c "$interface has fetched the address card of rank" "$output" || true; }

are_ready() { test "$(grep -c '^ready$' "$output")" -eq "$1"; }

none_left() { ! pgrep -f "$work/go" >/dev/null; }

# Starts late_contact and lets its ranks reach each other when all are ready.
# Leaves the job's status in `status`.
meet_late() { # ranks of a host, how rank 1 ends the job or ""
  rm -f "$work/go"
  : >"$output"
  # shellcheck disable=SC2086 # the last word may be missing
  start "$1" "$late_contact" "$work/go" $2 >"$output" 2>&1 &
  job=$!
  eventually are_ready $(($1 * HOSTS)) || fail "the ranks are not ready"
  early=$(fetched)
  begin=$(date +%s)
  : >"$work/go"
  status=0
  wait $job || status=$?
  took=$(($(date +%s) - begin))
}

expect_all() { # ranks of a host
  all=$(($1 * HOSTS))
  ACP_ADDRESSES=fetch meet_late "$1" ''
  test $status = 0 || fail "$all ranks on $HOSTS hosts: status $status"
  pairs=$((all * (all - $1)))
  test "$early" -lt "$pairs" || fail "$early address cards fetched by acp_init"
  test "$(fetched)" = $pairs || fail "$(fetched) address cards fetched for $pairs pairs"
}

expect_few() { # ranks of a host
  all=$(($1 * HOSTS))
  ACP_ADDRESSES=fetch start "$1" "$hello" >"$output" 2>&1 || fail "hello: status $?"
  few=$(fetched)
  test "$few" -ge 2 || fail "$few address cards fetched by neighbours"
  test "$few" -lt $((all * (all - $1))) ||
    fail "neighbours fetched $few address cards, as many as all pairs need"
}

expect_end() { # ranks of a host, how rank 1 ends the job
  ACP_ADDRESSES=fetch meet_late "$1" "$2"
  test $status != 0 || fail "$2: the job ended well"
  test $took -le $limit_s || fail "$2: the job ended after $took s"
  eventually none_left || fail "$2: processes are left: $(pgrep -af "$work/go")"
}

for _ in $(seq "${RUNS:-1}"); do
  for ranks in 1 2 4; do
    expect_all $ranks
    echo "$launcher, $HOSTS hosts x $ranks: $pairs address cards fetched, $early by acp_init"
  done
  ACP_ADDRESSES=all meet_late 2 ''
  test "$status,$(fetched)" = 0,0 ||
    fail "ACP_ADDRESSES=all: status $status, $(fetched) address cards fetched"
  expect_few 4
  echo "neighbours: $few address cards fetched"
  for how in abort kill; do
    expect_end 2 $how
    echo "$how: status $status after $took s, $(fetched) address cards fetched"
  done
done
