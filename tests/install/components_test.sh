#!/bin/sh
# Installs each component by itself, as packages have them. The component without
# a name has no module, and nothing in it needs the library of a module. The
# component of a module has the module's file alone. acp_info says which package
# to install, and finds the module when its component is there.
#
#   components_test.sh <build tree> <scratch folder> <cmake> [<module>...]
set -eu
build_dir=$1 work=$2 cmake=$3
shift 3
foreign='lib(ucp|ucs|uct|ibverbs|rdmacm|pmix|IPSec_MB)\.so'

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

install_component() { # install_component <component> <folder>
  "$cmake" --install "$build_dir" --component "$1" --prefix "$work/$2" \
    >"$work/install.log"
}

rm -rf "$work"
mkdir -p "$work"
install_component Unspecified acp
prefix=$work/acp
find "$prefix" -type f -name 'libacp-*.so*' >"$work/modules"
test ! -s "$work/modules" || fail "acp has modules: $(xargs <"$work/modules")"
find "$prefix" -type f \( -perm -u+x -o -name '*.so*' \) >"$work/files"
while read -r file; do
  needed=$(readelf -d "$file" 2>/dev/null | grep NEEDED) || continue
  ! echo "$needed" | grep -qE "$foreign" || fail "$file needs $needed"
  echo "$file" >>"$work/binaries"
done <"$work/files"
for name in bin/acprun bin/acp_info bin/acp_perf libacp.so; do
  grep -q "/$name" "$work/binaries" || fail "$name is not among the binaries"
done

for module; do
  install_component "acp-$module" "$module"
  files=$(cd "$work/$module" && find . ! -type d)
  case $files in
  */libacp-"$module".so) ;;
  *) fail "acp-$module has: $files" ;;
  esac
  test "$(echo "$files" | wc -l)" -eq 1 || fail "acp-$module has: $files"
  "$prefix/bin/acp_info" >"$work/info.log"
  grep -q "install the package acp-$module" "$work/info.log" ||
    fail "acp_info does not name the package acp-$module: $(cat "$work/info.log")"
  install_component "acp-$module" acp
  "$prefix/bin/acp_info" >"$work/info.log"
  grep -q "module .*libacp-$module\.so" "$work/info.log" ||
    fail "acp_info does not find libacp-$module.so: $(cat "$work/info.log")"
done
rm -rf "$work"
