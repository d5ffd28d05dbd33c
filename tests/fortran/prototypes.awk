# Brings prototypes of C, one a line, into one form, "name(result; arg:kind, ...)"
# in lower case. bindings_test.sh compares the prototypes of the headers with
# those that gfortran makes of the module sources.
#
# Kinds: i4 and i8 for integers, f4, f8 and f16 for reals, the name of a
# structure, ptr for pointers to memory of any kind and to functions, "kind*"
# for other pointers.

BEGIN {
  split("int uint32_t acpx_log_level_t acpx_opcode_t QMP_bool_t QMP_status_t " \
        "QMP_ictype_t QMP_thread_level_t QMP_clear_to_send_t", list, " ")
  for (i in list) kind_of[tolower(list[i])] = "i4"
  split("long int64_t uint64_t size_t ptrdiff_t acp_ga_t acp_atkey_t " \
        "acp_handle_t", list, " ")
  for (i in list) kind_of[list[i]] = "i8"
  kind_of["unsigned long"] = "i8"
  kind_of["float"] = "f4"
  kind_of["double"] = "f8"
  kind_of["long double"] = "f16"
  kind_of["long_double"] = "f16"
  kind_of["void"] = "void"
}

# The kind of a type. QMP_mem_t is a pointer in C only.
function kind(type, stars, base) {
  gsub(/const|restrict/, " ", type)
  stars = gsub(/\*/, " ", type)
  gsub(/^ +| +$/, "", type)
  gsub(/ +/, " ", type)
  if (type == "qmp_mem_t" && stars == 1) stars = 0
  base = (type in kind_of) ? kind_of[type] : type
  if (stars == 0) return base
  if (stars > 1 || base == "void" || base == "char") return "ptr"
  return base "*"
}

# "name:kind" of a parameter.
function parameter(text, name, stars) {
  if (text ~ /\(\*/ || text ~ /qmp_binary_func/) {
    name = text
    if (text ~ /\(\*/) {
      sub(/^[^(]*\(\* */, "", name)
      sub(/\).*/, "", name)
    } else {
      sub(/.* /, "", name)
    }
    return name ":ptr"
  }
  stars = gsub(/\[\]/, "", text)
  match(text, /[a-z_0-9]+ *$/)
  name = substr(text, RSTART)
  text = substr(text, 1, RSTART - 1) (stars ? "*" : "")
  gsub(/ /, "", name)
  return name ":" kind(text)
}

{
  line = tolower($0)
  gsub(/\/\*[^/]*\*\//, "", line)
  open_at = index(line, "(")
  head = substr(line, 1, open_at - 1)
  rest = substr(line, open_at + 1)
  sub(/\)[^)]*$/, "", rest)
  match(head, /[a-z_0-9]+ *$/)
  name = substr(head, RSTART)
  gsub(/ /, "", name)
  # A pointer that a function returns is type(c_ptr) in Fortran.
  result = kind(substr(head, 1, RSTART - 1))
  sub(/.*\*$/, "ptr", result)
  out = ""
  if (rest !~ /^ *(void)? *$/) {
    depth = 0
    part = ""
    for (i = 1; i <= length(rest) + 1; i++) {
      sign = substr(rest, i, 1)
      if (sign == "(") depth++
      if (sign == ")") depth--
      if ((sign == "," && depth == 0) || i > length(rest)) {
        out = out (out == "" ? "" : ", ") parameter(part)
        part = ""
      } else {
        part = part sign
      }
    }
  }
  print name "(" result "; " out ")"
}
