# shellcheck shell=sh
# Functions for the scripts that run in the network of with-hosts.

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# Tries a command again and again. Whether it succeeds within 30 s.
eventually() { # command...
  tries=600
  until "$@"; do
    tries=$((tries - 1))
    test $tries -gt 0 || return 1
    sleep 0.05
  done
}
