# shellcheck shell=sh
# Functions for the scripts that run in the network of with-hosts.

# Ends a script whose job has written to $output.
fail() { # text
  echo "FAILED: $1"
  cat "$output"
  exit 1
}

# Skips a script where the hosts cannot drop packets.
need_filter() {
  ip netns exec h1 nft list ruleset 2>/dev/null || {
    echo "skipped: nft is not installed, or the kernel has no filter"
    exit 77
  }
}

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
