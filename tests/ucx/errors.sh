#!/bin/sh
# Jobs over UCX that cannot work: each ends soon, with an error that names the
# cause and the remedy.
#
#   errors.sh <acprun> <hello> <crowd>
set -eu
acprun=$1 hello=$2 crowd=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACP_NET=ucx ACP_SHM=off UCX_NET_DEVICES=lo

# fails <name> <text>...: the last job has failed, and its output has each text.
fails() {
  name=$1
  shift
  if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
    echo "$name: ended with status $status" >&2
    cat "$work/output" >&2
    exit 1
  fi
  for text; do
    if ! grep -q -e "$text" "$work/output"; then
      echo "$name: the output does not say '$text':" >&2
      cat "$work/output" >&2
      exit 1
    fi
  done
  echo "$name: ok"
}

job() { # job <word>...: a job of 2 ranks
  status=0
  timeout 60 "$acprun" -np 2 "$@" >"$work/output" 2>&1 || status=$?
}

export UCX_TLS=tcp,self
job --wrap 'env UCX_TLS=posix,cma' --wrap-ranks 1 "$hello"
fails "unlike transports" 'no way to it: .*unreachable' \
  'UCX_TLS is .*tcp,self' 'posix,cma' 'give all ranks equal UCX_TLS'
# UCX's own line is about the way to the peer, and not about error modes.
if grep 'no peer failure handler' "$work/output"; then
  echo "unlike transports: UCX complains of an error mode" >&2
  exit 1
fi
job --wrap 'env ACP_UCX_ATOMICS=device' --wrap-ranks 1 "$hello"
fails "unlike atomics" 'ACP_UCX_ATOMICS=device' \
  'give all ranks equal ACP_UCX_ATOMICS'
job --wrap 'env ACP_UCX_DEVICES=lo;lo' --wrap-ranks 1 "$hello"
fails "unlike colors" 'has colors: 2' 'as many lists in ACP_UCX_DEVICES'
job --wrap 'env ACP_UCX_DEVICES=lo;lo' --wrap-ranks 1 "$crowd"
fails "unlike colors, and a program that looks at no error" \
  'is lost: .*other settings of ucx'

UCX_TLS=ib
job "$hello"
fails "no device" 'ucp_init: No such device' 'UCX_TLS=ib, UCX_NET_DEVICES=lo' \
  'acp_info'
UCX_TLS=tcp,self
UCX_NET_DEVICES=all ACP_UCX_DEVICES=nosuch job "$hello"
fails "no such device" 'no way to it' 'devices here: nosuch' 'UCX_NET_DEVICES'
ACP_UCX_DEVICES='lo;;lo' job "$hello"
fails "an empty list" 'none of several may be empty'
