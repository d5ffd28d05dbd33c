# Prints the table of tests/bench/peers from lines "SYSTEM ROW VALUE", sorted by
# value within a system and row. The variable `rows` has the rows in order. A
# ratio above 1 says that ACP is better than the best of the others, also where
# a row is a time.
BEGIN {
  systems = split("acp acp_auth openmpi ucx libfabric_tcp libfabric_udp", name)
  split("ACP|ACP, authenticated|Open MPI, TCP|UCX, TCP|libfabric, TCP|" \
        "libfabric, UDP", title, "|")
  row_count = split(rows, row)
}

{
  value[$1, $2, ++count[$1, $2]] = $3
  has[$1] = 1
}

function median(which, row,    n) {
  n = count[which, row]
  return n ? value[which, row, int((n + 1) / 2)] : ""
}

function is_rate(row) {
  return row ~ /^(put|get)\./ || row ~ /rate$/
}

function unit(row) {
  return row ~ /rate$/ ? "Mop/s" : is_rate(row) ? "GB/s" : "us"
}

function digits(x) {
  if (x == "") return "-"
  return sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : \
                 x >= 0.1 ? "%.2f" : "%.2g", x)
}

# The best median of the systems that are not ACP; "" without any.
function best_other(row,    i, x, best) {
  best = ""
  for (i = 3; i <= systems; ++i) {
    x = median(name[i], row)
    if (x == "") continue
    if (best == "" || (is_rate(row) ? x > best : x < best)) best = x
  }
  return best
}

function ratio(ours, best, row) {
  if (ours == "" || best == "") return "-"
  return sprintf("%.2f", is_rate(row) ? ours / best : best / ours)
}

END {
  head = "| row | unit |"
  line = "|---|---|"
  for (i = 1; i <= systems; ++i) {
    if (!(name[i] in has)) continue
    head = head " " title[i] " |"
    line = line "---|"
  }
  print head " ACP to the best other | authenticated |"
  print line "---|---|"
  for (j = 1; j <= row_count; ++j) {
    text = "| `" row[j] "` | " unit(row[j]) " |"
    for (i = 1; i <= systems; ++i) {
      if (name[i] in has) text = text " " digits(median(name[i], row[j])) " |"
    }
    best = best_other(row[j])
    print text " " ratio(median("acp", row[j]), best, row[j]) " | " \
      ratio(median("acp_auth", row[j]), best, row[j]) " |"
  }
}
