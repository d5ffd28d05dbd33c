# A minimal Debian 12 in a folder, and commands that run there as on a machine of its
# own. tests/fresh-machine and tools/packaging/test-debian read it with `.`
#
# Before that they set `folder`, for the tree and its log, and define fail(). Then
# `root` is the tree. Needs root, debootstrap, and a network to Debian's archive as apt
# has it here. The folder is removed in the end unless KEEP=1.

PATH=$PATH:/usr/sbin:/sbin
test "$(id -u)" = 0 || fail "this needs root"
for program in debootstrap unshare; do
  command -v $program >/dev/null || fail "this needs $program"
done
root=$folder/debian
test ! -e "$root" || fail "$root exists already"
mkdir -p "$root"

# Everything is mounted in a mount namespace of its own (see the end), so that
# it is gone with the processes, however they end. Only the folder remains.
clean_up() {
  status=$?
  trap - EXIT INT TERM
  if test "${KEEP:-0}" = 1; then
    echo "kept: $root"
  elif ! grep -q " $root/" /proc/self/mounts; then
    rm -rf "$root" "$folder/debootstrap.log"
    rmdir "$folder" 2>/dev/null || true
  fi
  exit $status
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Where this machine gets Debian's packages from.
targets() { # targets <format> <filter...>
  format=$1
  shift
  apt-get indextargets --format "$format" 'Created-By: Packages' \
    'Origin: Debian' "$@" 2>/dev/null
}
mirror=$(targets '$(SITE)' 'Codename: bookworm' | head -n 1)
if test -z "$mirror"; then
  echo "$0: apt knows no Debian 12 archive here: run apt-get update" >&2
  exit 1
fi

echo "== a minimal Debian 12"
begin=$(date +%s)
debootstrap --variant=minbase bookworm "$root" "$mirror" \
  >"$folder/debootstrap.log" 2>&1 ||
  { tail -n 20 "$folder/debootstrap.log" && fail "debootstrap failed"; }
echo "$(($(date +%s) - begin)) s"

# The new machine has the ways to the network of this machine: sources, proxies,
# keys, names.
targets 'deb $(SITE) $(RELEASE) $(COMPONENT)' | grep bookworm \
  >"$root/etc/apt/sources.list" ||
  echo "deb $mirror bookworm main" >"$root/etc/apt/sources.list"
for part in keyrings trusted.gpg.d; do
  test ! -e /etc/apt/$part || cp -a /etc/apt/$part "$root/etc/apt/"
done
apt-config dump | grep -E '^Acquire::(http|https|Check)[^ ]* "[^"]' \
  >"$root/etc/apt/apt.conf.d/90host" || true
for file in /etc/resolv.conf /etc/hosts; do
  cp -L "$file" "$root/etc/"
done
for folder_of_keys in /etc/ssl/certs /usr/local/share/ca-certificates; do
  test ! -d $folder_of_keys || {
    mkdir -p "$root$folder_of_keys"
    cp -rL $folder_of_keys/. "$root$folder_of_keys/" 2>/dev/null || true
  }
done

# The outer shell is the first process there: it stays, and reaps orphans as an
# init does. The folder becomes its root by pivot_root, because the kernel allows
# no user namespace below chroot, and the tests of several hosts need some.
inside() { # inside <command line>: run as root on the new machine
  # shellcheck disable=SC2016 # for the inner shells
  unshare --mount --pid --fork --kill-child --propagation private sh -c '
    mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc &&
      mount --rbind /sys sys && mount --rbind /dev dev &&
      mount -t tmpfs tmpfs tmp && pivot_root . mnt && umount -l /mnt &&
      /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ACP_TEST_SCALE="$3" ${4:+ACP_JOBS="$4"} ${5:+ACP_TEST_JOBS="$5"} sh -c "$2"
    exit $?
  ' sh "$root" "$1" "${ACP_TEST_SCALE:-0.05}" "${ACP_JOBS:-}" \
    "${ACP_TEST_JOBS:-}" </dev/null
}
