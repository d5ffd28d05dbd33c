#!/bin/sh
# clang-tidy 14 (.clang-tidy) over library, programs and tests, on two processors.
#
#   tools/lint/check_tidy.sh [--changed REF] [FILE...]
#
# Without files it looks at every .cc of these that preset dev compiles. With
# --changed it looks at those that differ from REF, and for each header that
# differs at the .cc beside it, or else at the first file that includes it.
#
# A file that was clean is not looked at again while nothing that it is made of
# has changed: the file, its headers, its flags, the .clang-tidy files and the version
# of clang-tidy. ACP_TIDY_CACHE is the directory that remembers this, by default
# ~/.cache/acp-tidy; "off" remembers nothing. The headers are known from the
# build: a file that was not compiled since it changed is looked at.
# Exit 77: there is no clang-tidy 14.
set -eu
cd "$(dirname "$0")/../.."

changed=
while test $# -gt 0; do
  case $1 in
  --changed) changed=$2 && shift 2 ;;
  -*) echo "usage: $0 [--changed REF] [FILE...]" >&2 && exit 2 ;;
  *) break ;;
  esac
done

tidy=$(tools/lint/llvm14.sh clang-tidy)

test -f build/dev/compile_commands.json || cmake --preset dev >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The folders that have code, as a pattern, and the .cc files of them that preset dev
# compiles, from the top of the tree.
folders="src|$(tools/lint/network_folders.sh '|')|launcher|tools|tests"
headers="($folders)/.*\.(h|cc)\$"
export headers
sed -n 's|^ *"file": "\(.*\)",*$|\1|p' build/dev/compile_commands.json |
  sed -n "s|^$(pwd)/\(.*\.cc\)\$|\1|p" |
  grep -E "^($folders)/" | sort -u >"$work/compiled"

# Prints the file to look at for each changed file.
to_look_at() {
  while read -r file; do
    beside=${file%.h}.cc
    case $file in
    *.cc) echo "$file" ;;
    *) if test -f "$beside"; then
      echo "$beside"
    else
      name=${file#src/}
      name=${name#include/}
      for name in "${name#tests/}" "$file" "${file##*/}"; do
        xargs grep -lF "#include \"$name\"" <"$work/compiled" | head -n 1
      done | head -n 1
    fi ;;
    esac
  done
}

if test $# -gt 0; then
  printf '%s\n' "$@" | sort -u >"$work/files"
elif test -n "$changed"; then
  git diff --name-only "$changed" -- '*.cc' '*.h' | to_look_at | sort -u |
    comm -12 - "$work/compiled" >"$work/files"
else
  cp "$work/compiled" "$work/files"
fi

# ---- What was clean before -------------------------------------------------
# "FILE KEY" for each file whose headers are known. The key is the hash of a
# list: the versions, the flags, and the hash of each file that takes part.
keys() {
  ninja -C build/dev -t deps | awk '
    /^[^ ].*: #deps/ {
      known = /\(VALID\)/
      built = substr($6, 1, length($6) - 9) "." substr($6, length($6) - 8)
      source = ""
      next
    }
    known && NF {
      sub(/^ +/, "")
      if (!sub(/^(\.\.\/)+/, "") && !/^\//) $0 = "build/dev/" $0
      if (source == "") source = $0
      print source "\t" $0 "\t" built
    }' | sort -u >"$work/parts"
  cut -f2 "$work/parts" | sort -u | tr '\n' '\0' >"$work/names"
  xargs -0 sha256sum <"$work/names" >"$work/sums" 2>/dev/null || true
  xargs -0 stat -c '%.9Y %n' <"$work/names" >"$work/times" 2>/dev/null || true
  mkdir "$work/lists"
  rules=$({ "$tidy" --version | grep version &&
    cat .clang-tidy tests/.clang-tidy src/hmpi/.clang-tidy; } | sha256sum)
  awk -v lists="$work/lists/" -v rules="$rules" -v root="$(pwd)/" '
    function list_of(file) { gsub(/\//, ":", file); return lists file }
    FILENAME ~ /files$/ { wanted[$0] = 1; next }
    FILENAME ~ /sums$/ { sum[substr($0, 67)] = substr($0, 1, 64); next }
    FILENAME ~ /times$/ { time[substr($0, length($1) + 2)] = $1; next }
    FILENAME ~ /json$/ {
      if (/"command":/) command = $0
      if (!/"file":/) next
      gsub(/"file": "|",?$|^ +/, "")
      if (index($0, root) == 1) $0 = substr($0, length(root) + 1)
      while (at = index(command, root))
        command = substr(command, 1, at - 1) substr(command, at + length(root))
      sub(/.*c\+\+ /, "", command)
      flags[$0] = command
      next
    }
    {
      split($0, pair, "\t")
      if (!(pair[1] in wanted)) next
      file = list_of(pair[1])
      if (file != last) {
        if (last) close(last)
        print rules "\n" flags[pair[1]] >file
      }
      last = file
      print sum[pair[2]], pair[2] >file
      # A part that is newer than the object may include other headers now.
      if (!(pair[2] in sum) || time[pair[2]] + 0 > pair[3] + 0)
        changed[pair[1]] = 1
    }
    END { for (file in changed) print file >(lists ".changed") }' \
    "$work/files" "$work/sums" "$work/times" build/dev/compile_commands.json \
    "$work/parts"
  touch "$work/lists/.changed"
  (cd "$work/lists" && find . -type f ! -name .changed -exec sha256sum {} +) |
    sed 's|^\([0-9a-f]*\)  \./\(.*\)|\2 \1|; s|:|/|g' |
    awk 'FILENAME != "-" { changed[$0]; next } !($1 in changed)' \
      "$work/lists/.changed" -
}

cache=${ACP_TIDY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/acp-tidy}
: >"$work/keys"
if test "$cache" != off && mkdir -p "$cache" 2>/dev/null; then
  keys >"$work/keys"
  find "$cache" -type f -mtime +60 -exec rm -f {} +
fi
while read -r file key; do
  test ! -f "$cache/$key" || { touch "$cache/$key" && echo "$file"; }
done <"$work/keys" | sort >"$work/known"
sort "$work/files" | comm -23 - "$work/known" >"$work/rest"

# ---- The others ------------------------------------------------------------
# Most of a file's time goes to the headers of the standard library and of Catch2. So up
# to 40 files are looked at as one. Files whose names clash are looked at in groups of 8
# and then alone, and a file with findings is looked at alone, which prints them.

# Divides the files of $work/rest into groups of at most so many files with equal flags:
# groups/N.names and groups/N.flags, those of tests in groups/tests. Code generation, the
# value of a string macro, and macros that say which library is built make no difference
# here. Two warnings are off, which GCC gives: shadowing, as files may have equal names, and
# a function without a result, as main() of a group has another name. GCC knows options that
# clang does not know.
make_groups() {
  rm -rf "$work/groups"
  mkdir -p "$work/groups/tests"
  cp .clang-tidy "$work/groups"
  cp tests/.clang-tidy "$work/groups/tests"
  awk -v most="$1" -v groups="$work/groups/" -v root="$(pwd)/" '
    FILENAME ~ /rest$/ { wanted[root $0] = 1; next }
    /"command":/ {
      sub(/^ *"command": *"[^ ]*c\+\+ /, "")
      sub(/ -o [^ ]* -c .*/, "")
      gsub(/\\\\/, "\001")  # the escapes of JSON; those of the shell stay
      gsub(/\\"/, "\"")
      gsub("\001", "\\\\")
      flags = strings = ""
      for (i = 1; i <= NF; ++i) {
        if ($i ~ /^-D[A-Za-z_0-9]+=\\"/) strings = strings " " $i
        else if ($i !~ /^-[Ofg]|^-D.*_EXPORTS$/) flags = flags " " $i
      }
    }
    /"file":/ {
      gsub(/^ *"file": *"|",?$/, "")
      if (!($0 in wanted)) next
      delete wanted[$0]
      $0 = substr($0, length(root) + 1)
      folder = /^tests/ ? "tests/" : ""
      group = of[folder, flags]
      if (!group || members[group] == most) {
        of[folder, flags] = group = folder (++count)
        print flags, "-Wno-shadow -Wno-return-type -Wno-unknown-warning-option",
          "-ferror-limit=0" >(groups group ".flags")
      }
      ++members[group]
      print >(groups group ".names")
      define(strings)
    }
    function define(strings, word, name, n, i) {
      n = split(strings, word, " ")
      for (i = 1; i <= n; ++i) {
        name = word[i]
        sub(/=.*/, "", name)
        if (!((group, name) in defined)) print word[i] >(groups group ".flags")
        defined[group, name]
      }
    }' "$work/rest" build/dev/compile_commands.json
}

# Looks at group $3. Of files whose names clash, all but the first go to the next round.
# The files that findings name go to the last round, and the others are clean then. But
# if a finding is in a header, all go to the next round.
# shellcheck disable=SC2016 # for the inner shell
look_at_group='
  tidy=$1 work=$2 group=${3%.names}
  run() {
    # Each file has a function of these names.
    grep -n "" "$group.names" | sed "h; s|\(.*\):.*|\
#undef main  // NOLINT\n#define main main_\1  // NOLINT\n\
#undef LLVMFuzzerTestOneInput  // NOLINT\n\
#define LLVMFuzzerTestOneInput fuzz_\1  // NOLINT|p; g
      s|.*:\(.*\)|#include \"$PWD/\1\"  // NOLINT|" >"$group.cc"
    eval "$tidy --quiet $1 \"--header-filter=\$headers\"" \
      "$group.cc" -- $(cat "$group.flags") >"$group.log" 2>&1
  }
  leave_out() { # those of its list $1, for round $2
    cat "$1" >>"$work/$2"
    grep -vxF -f "$1" "$group.names" >"$group.left"
    mv "$group.left" "$group.names"
  }

  next=next
  test "$(wc -l <"$group.names")" -gt 1 || next=single
  test $next = single || run "--checks=-*,misc-static-assert" || {
    awk -v root="$PWD/" "
      FILENAME ~ /names\$/ { member[root \$0]; next }
      / error: / { is_open = 1 }
      is_open && split(\$0, part, \":\") && part[1] in member {
        print substr(part[1], length(root) + 1)
        is_open = 0
      }" "$group.names" "$group.log" | sort -u >"$group.clash"
    leave_out "$group.clash" next
  }
  status=0
  run || status=$?
  # This check takes each file of the group for a header.
  sed -n "/\.cc:.*\[google-global-names-in-headers/d
    s|^$PWD/\([^:]*\):[0-9:]* error: .*|\1|p
    s|^/[^:]*:[0-9:]* error: .*|a header|p" "$group.log" | sort -u >"$group.found"
  if test $status -gt 1 || grep -q "\[clang-diagnostic-error" "$group.log" ||
    grep -qvxF -f "$group.names" "$group.found"; then
    leave_out "$group.names" $next
  else
    leave_out "$group.found" single
  fi
  cat "$group.names" >>"$work/clean"
'
for most in 40 8; do
  make_groups $most
  : >"$work/next"
  find "$work/groups" -name '*.names' -printf '%s %p\n' | sort -rn | cut -d' ' -f2 |
    xargs -r -P2 -n1 sh -c "$look_at_group" sh "$tidy" "$work" || true
  mv "$work/next" "$work/rest"
done
cat "$work/rest" >>"$work/single"

# One file: nothing printed when it is clean, its name kept either way.
# shellcheck disable=SC2016 # for the inner shell
xargs -r -a "$work/single" -P2 -n1 sh -c '
  if "$1" -p build/dev --quiet --extra-arg=-Wno-unknown-warning-option --header-filter="$headers" "$3" >"$2/$$.log" 2>&1; then
    echo "$3" >>"$2/clean"
  else
    echo "$3" >>"$2/dirty"
    grep -v "warnings generated\|^Suppressed\|^Use -header-filter" "$2/$$.log"
  fi
  rm -f "$2/$$.log"
' sh "$tidy" "$work" || true

touch "$work/clean" "$work/dirty"
while read -r file; do
  key=$(sed -n "s|^$file ||p" "$work/keys")
  test -z "$key" || : >"$cache/$key"
done <"$work/clean"
lines() { wc -l <"$1"; }
echo "clang-tidy: $(lines "$work/clean") clean, $(lines "$work/known") clean" \
  "before, $(lines "$work/dirty") with findings, of $(lines "$work/files")"
test ! -s "$work/dirty" &&
  test "$(($(lines "$work/clean") + $(lines "$work/known")))" = \
    "$(lines "$work/files")"
