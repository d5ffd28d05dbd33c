#!/bin/sh
# The component python3-acp of an installation has the package alone. It works beside
# the libraries and programs of the installation, without a variable that names them.
#
#   installed_test.sh <build tree> <scratch> <cmake> <python3> <package dir> <library dir>
set -eu
build=$1 work=$2 cmake=$3 python=$4 package=$5 libraries=$6

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --component python3-acp --prefix "$work" >"$work/install.log"
rm "$work/install.log"
elsewhere=$(cd "$work" && find . -type f ! -path "./$package/acp/*")
test -z "$elsewhere" || fail "the component has also: $elsewhere"
for file in __init__.py _acp.pyi py.typed; do
  test -f "$work/$package/acp/$file" || fail "$file is missing"
done
# A prefix has the libraries and the programs beside each other.
mkdir -p "$work/$libraries" "$work/bin"
cp -P "$build"/lib/libacp.so* "$work/$libraries"
cp "$build/bin/acprun" "$build/bin/acp_info" "$work/bin"
readelf -d "$work/$package"/acp/_acp*.so | grep -q "$build" &&
  fail "the extension module has a path of the build tree"
cd "$work"
unset LD_LIBRARY_PATH PYTHONHOME
export PYTHONPATH="$work/$package" PYTHONDONTWRITEBYTECODE=1
"$python" -c 'import acp
ranks = acp.run(acp.procs, ranks=2)
assert ranks == [2, 2], ranks
print("ACP", acp.__version__)' >output
"$python" -m acp --version >>output
test "$(sed -n 's/.*ACP)* //p' output | sort -u | wc -l)" = 1 || fail "versions: $(cat output)"
