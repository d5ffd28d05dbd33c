#!/bin/sh
# Programs, libraries, sonames, packages, manuals and CHANGELOG show the version
# of CMakeLists.txt, and the parts of QMP show QMP's own.
#
#   version_test.sh <source tree> <build tree> <version> <QMP's version> <cc>
set -eu
source_dir=$1 build_dir=$2 version=$3 qmp_version=$4 cc=$5
soname=${version%.*}
failed=0

same() { # same <where> <expected> <found>
  if [ "$2" != "$3" ]; then
    echo "$1: '$3', expected '$2'" >&2
    failed=1
  fi
}

bin=$build_dir/bin package=$build_dir/package
same "acprun --version" "acprun (ACP) $version" "$("$bin/acprun" --version)"
same "acp_info --version" "acp_info (ACP) $version" \
  "$("$bin/acp_info" --version)"
same "acp_info" "ACP $version, specification 2.1" \
  "$("$bin/acp_info" | head -n 1)"

for name in acp qmp scu lqcd; do
  library=$build_dir/lib/lib$name.so
  same "$library" "lib$name.so.$version" \
    "$(basename "$(readlink -f "$library")")"
  same "soname of $library" "lib$name.so.$soname" \
    "$(LC_ALL=C readelf -d "$library" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')"
done

for name in acp acp_static; do
  same "$name.pc" "Version: $version" "$(grep '^Version' "$package/$name.pc")"
done
if test -e "$package/acp-fortran.pc"; then
  same "acp-fortran.pc" "Version: $version" \
    "$(grep '^Version' "$package/acp-fortran.pc")"
  same "qmp-fortran.pc" "Version: $qmp_version" \
    "$(grep '^Version' "$package/qmp-fortran.pc")"
fi
same "qmp.pc" "Version: $qmp_version" "$(grep '^Version' "$package/qmp.pc")"
for name in acp:$version QMP:$qmp_version; do
  file=$package/${name%:*}ConfigVersion.cmake
  same "$file" "${name#*:}" \
    "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$file")"
done
same "qmp-config --version" "$qmp_version" "$(sh "$package/qmp-config" --version)"

for page in "$build_dir"/pages/*.1; do
  same "$page" "ACP $version" \
    "$(sed -n 's/^\.TH .*"\(ACP [^"]*\)" "ACP"$/\1/p' "$page")"
done
same "CHANGELOG.md" "$version" \
  "$(sed -n 's/^## \([^ ,]*\).*/\1/p' "$source_dir/CHANGELOG.md" | head -n 1)"
# Each version of the CHANGELOG has nothing but these parts.
same "parts of CHANGELOG.md" "" \
  "$(grep '^### ' "$source_dir/CHANGELOG.md" | grep -vxE '### (Added|Changed|Fixed)' || true)"

program=$(mktemp)
trap 'rm -f "$program"' EXIT
"$cc" -x c - -o "$program" "-I$source_dir/include" "-L$build_dir/lib" \
  "-Wl,-rpath,$build_dir/lib" -lqmp -lacp <<'C'
#include <acp/extension.h>
#include <qmp.h>
#include <stdio.h>

int main(void) {
  return printf("%s, %s\n", acpx_version(), QMP_version_str()) < 0;
}
C
same "acpx_version, QMP_version_str" "$version, $qmp_version" "$("$program")"
exit $failed
