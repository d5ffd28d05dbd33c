#!/bin/sh
# The Fortran modules have every public function of C, with its arguments; every
# constant, with its value; and the tests beside this file call every procedure.
#
#   bindings_test.sh <source tree> <C compiler> <gfortran> <module files>
set -eu
top=$1 c=$2 fortran=$3 modules=$4
here=$top/tests/fortran
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

differ() { # differ <what> <advice>
  echo "$1:" >&2
  cat "$work/diff" >&2
  echo "$2" >&2
  exit 1
}

# Prototypes of the headers, by the preprocessor.
printf '#include <%s>\n' acp.h acp/extension.h qmp.h |
  "$c" -E -P -I "$top/include" -x c - | tr '\n' ' ' | tr ';{}' '\n\n\n' |
  grep -E '^[^=(]*\b(acpx?|QMP)_[a-z][A-Za-z0-9_]* *\(' | grep -v typedef |
  awk -f "$here/prototypes.awk" | sort >"$work/all_of_c"

# Prototypes that gfortran makes of the interfaces. It prints the types and
# functions of each source. Three are abstract: the shapes of callbacks.
grep '\.f90$' "$top/src/fortran/sources.txt" | while read -r file; do
  "$fortran" -fc-prototypes -fsyntax-only -I "$modules" -J "$work" \
    "$top/src/fortran/$file"
done | grep -E '^[a-zA-Z][^=]*\b(acpx?|QMP)_[a-z][A-Za-z0-9_]* *\(.*\);' |
  sed 's/;$//' | awk -f "$here/prototypes.awk" |
  grep -vE '^(acp_comparison|acpx_callback|qmp_binary_func)\(' | sort -u >"$work/of_fortran"

# The functions that are left out have to be some.
grep -v '^#' "$here/left_out.txt" | awk 'NF < 3 { print "no reason:", $0 > "/dev/stderr"; exit 1 }
  { print tolower($1) "(" }' >"$work/left_out"
while read -r name; do
  if ! grep -qF "$name" "$work/all_of_c"; then
    echo "left_out.txt names $name), which no header has" >&2
    exit 1
  fi
done <"$work/left_out"
awk -F'(' 'NR == FNR { out[$1] = 1; next } !($1 in out)' "$work/left_out" \
  "$work/all_of_c" >"$work/of_c"
diff -u "$work/of_c" "$work/of_fortran" >"$work/diff" ||
  differ "C (-) and the Fortran modules (+) differ" \
    "Bring src/fortran up to date, or name the function in left_out.txt."
count=$(wc -l <"$work/of_c")
test "$count" -gt 300

# Fortran has all constants of the headers, with equal values. acp/inline.h is for C.
cat "$top"/include/acp/*.h "$top/include/qmp.h" |
  grep -oE '^(#define|  ) ?(ACP|ACPX|QMP)_[A-Z0-9_]+( =|,| [(U0-9]|$)' |
  grep -oE '(ACP|ACPX|QMP)_[A-Z0-9_]+' | grep -vE '_H$|NO_GENERIC|_INLINE_' | sort -u \
  >"$work/constants_of_c"
cat "$top"/src/fortran/*_types.f90 "$top/src/fortran/acp_extension.f90" |
  tr '\n' ' ' | sed "s/& *//g" | grep -oE \
    "(ACPX?|QMP)_[A-Z0-9_]+ = (int\(z'[0-9a-f]+'|-?[0-9]+|[a-zA-Z_]+_t\()" \
  >"$work/constants_of_fortran"
sed 's/ =.*//' "$work/constants_of_fortran" | grep -vE '^QMP_[A-Z]*_NULL' | sort -u \
  >"$work/named"
diff -u "$work/constants_of_c" "$work/named" >"$work/diff" ||
  differ "Constants of C (-) and of the Fortran modules (+) differ" \
    "Bring src/fortran up to date."
{
  printf '#include <%s>\n' acp.h acp/extension.h qmp.h
  sed -n "s/^\([A-Z0-9_]*\) = int(z'\([0-9a-f]*\)'/\1 0x\2/p
    s/^\([A-Z0-9_]*\) = \(-*[0-9]*\)$/\1 \2/p" "$work/constants_of_fortran" |
    while read -r name value; do
      echo "_Static_assert((int64_t)($name) == $value, \"$name\");"
    done
} >"$work/values.c"
"$c" -std=c11 -fsyntax-only -I "$top/include" "$work/values.c"

# Calls: a name with its parenthesis, not in a comment.
cat "$here"/*.f90 | sed 's/^ *!.*//' | tr '[:upper:]' '[:lower:]' |
  grep -oE '\b(acpx?|qmp)_[a-z0-9_]+\(' | sed 's/(//' | sort -u >"$work/called"
{
  sed 's/(.*//' "$work/of_c"
  sed 's/qmp_error(/qmp_print_error/; s/(//; /qmp_fprintf/d' "$work/left_out"
  echo acpx_set_errno
  echo acp_errno
  echo acpx_command_argument_count
  echo acpx_get_command_argument
  sed -n 's/^  interface \(acpx\{0,1\}_[a-z_]*\)$/\1/p' \
    "$top/src/fortran/acp_generic.f90"
} | sort -u | comm -23 - "$work/called" >"$work/diff"
test ! -s "$work/diff" || differ "No test in tests/fortran calls" \
  "Each procedure needs a call whose result is checked."

echo "$count functions and $(wc -l <"$work/named") constants agree"
