# shellcheck shell=sh
# An sshd on each of some hosts of with-hosts, for scripts that run in its network. Keys
# and settings are of this run alone, in a folder that only it sees.
# shellcheck source=tests/hosts/eventually.sh
. "$HOST_TOOLS/eventually.sh"

# shellcheck disable=SC2016 # for the inner shell
on() { # host, command...
  ip netns exec "$1" unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' \
    on "$@"
}

# sshd needs the folder /run/sshd. It and ssh read /etc/ssh. The working folder is
# /etc/ssh afterwards.
make_ssh_settings() {
  mkdir "$TMPDIR/run"
  mkdir "$TMPDIR/run/netns" "$TMPDIR/run/sshd"
  mount --rbind /run/netns "$TMPDIR/run/netns"
  mount --rbind "$TMPDIR/run" /run
  mount -t tmpfs ssh /etc/ssh
  # bash reads it at each login. A slow one is not the subject here, and pyenv's waits
  # a minute for the lock of a login that was killed.
  test ! -e ~/.bashrc || mount --bind /dev/null ~/.bashrc
  cd /etc/ssh || exit # the program's paths are absolute
  ssh-keygen -q -t ed25519 -N '' -f host_key
  ssh-keygen -q -t ed25519 -N '' -f key
  cp key.pub authorized_keys
  echo "* $(cut -d' ' -f1,2 host_key.pub)" >known_hosts
  cat >ssh_config <<SETTINGS
IdentityFile /etc/ssh/key
IdentitiesOnly yes
GlobalKnownHostsFile /etc/ssh/known_hosts
UserKnownHostsFile none
StrictHostKeyChecking yes
SETTINGS
  cat >sshd_config <<SETTINGS
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
SETTINGS
}

# Returns when h1 has logged in on each host. Exits with 77 where there is no sshd.
start_ssh_servers() { # number of a host...
  sshd=$(PATH=$PATH:/usr/sbin command -v sshd) ||
    { echo "skipped: sshd is not installed" && exit 77; }
  # The kernel schedules sessions as groups (sched_autogroup), and each host has a
  # session of its own here. On one machine whose cores are busy, Linux 6.18 lets a
  # group wait for 10 s and more beside a group that spins.
  export ACP_WAIT=sleep
  make_ssh_settings
  for host; do
    on "h$host" "$sshd" -D -e 2>"$TMPDIR/h$host.log" &
  done
  for host; do
    if ! eventually on h1 ssh -o BatchMode=yes "10.88.0.$host" true 2>"$TMPDIR/login"; then
      cat "$TMPDIR/login" "$TMPDIR"/h?.log
      grep -q '^ *0 *0 *4294967295$' /proc/self/uid_map ||
        { echo "skipped: sshd needs a real root" && exit 77; }
      echo "FAILED: ssh 10.88.0.$host does not work"
      exit 1
    fi
  done
}

# Whether the host has nothing of a job. sshd keeps a connection to a host that is
# disconnected until TCP gives it up.
is_empty() { # host
  for pid in $(ip netns pids "$1"); do
    case $(cat /proc/"$pid"/comm 2>/dev/null) in sshd* | '') ;; *) return 1 ;; esac
  done
}
