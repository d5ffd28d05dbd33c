# shellcheck shell=sh
# One function for the scripts that run in the network of with-hosts.

# Tries a command again and again. Whether it succeeds within 30 s.
eventually() { # command...
  tries=600
  until "$@"; do
    tries=$((tries - 1))
    test $tries -gt 0 || return 1
    sleep 0.05
  done
}
