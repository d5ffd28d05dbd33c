#!/bin/sh
# The transports that UCX chooses between two ranks when several are allowed:
# shared memory inside a host, whatever else may be used.
#
#   lanes.sh <acprun> <hello>
set -eu
acprun=$1 hello=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACP_NET=ucx ACP_SHM=off UCX_NET_DEVICES=lo ACP_LOG=debug

# lanes <UCX_TLS> <word>...: each endpoint of a job of 2 ranks on this host is in
# mode NONE, and has each of these transports. Each rank says the mode once.
lanes() {
  tls=$1
  shift
  UCX_TLS=$tls "$acprun" -np 2 "$hello" >"$work/output" 2>&1 || {
    cat "$work/output" >&2
    exit 1
  }
  grep 'ucx: endpoint to rank' "$work/output" >"$work/endpoints" || true
  for word in 'mode NONE' "$@"; do
    if [ "$(grep -c -e "$word" "$work/endpoints")" -ne 2 ]; then
      echo "$tls: not both endpoints have '$word':" >&2
      cat "$work/output" >&2
      exit 1
    fi
  done
  if [ "$(grep -c 'info: .*error mode NONE' "$work/output")" -ne 2 ]; then
    echo "$tls: not each rank has said the error mode once:" >&2
    cat "$work/output" >&2
    exit 1
  fi
  echo "$tls: ok"
}

lanes tcp,self,posix,cma /posix/ /cma/
lanes posix,cma,self /posix/ /cma/
lanes tcp,self /tcp/
