# Measures the prose of C, C++ and Markdown files, and of comments in scripts and
# CMake files; check_prose.sh calls it.
#
# Variable: mode is "tree", "files" or "report".
#
# A paragraph is a comment, a part of a comment between blank lines or tags, or
# a paragraph or list item of a page. Code, code spans and headings are no
# prose. Table rows count for words, rates and sentences, not as beginnings.

BEGIN {
  order = 0
  most_indefinite = 5.0  # of 1,000 words
  most_words = 25        # of a sentence; long sentences of comments only count
  load_words()
}

# The words that are not to be used, and what to write instead. The text that
# they are searched in is in lower case, with a blank at both ends and each run
# of other characters than letters, digits and hyphens turned into one blank.
function load_words() {
  forbid(" compan(y|ies) ", "batching, or the other endpoints")
  forbid(" bells? ", "doorbell")
  forbid(" cards? ", "address card, or NIC")
  forbid(" wires? ", "transport, network, or layout")
  forbid(" crowd(s|ed)? ", "full")
  forbid(" news ", "the count or message that it is")
  forbid(" (a|the|each|every|this|its|his|their|any|no|on) holds? ",
         "lock, or reference")
  forbid(" (is|are|was|were|be|been|being) cut ",
         "truncated, divided, disconnected, or failed")
  # Not "tells jobs apart" and "64 bytes apart", which are plain English.
  forbid(" (is|are|was|were|be|been|being) apart ",
         "out of step, or what has happened")
}

BEGIN {
  same_without_noun = " (for|as|in|with|without|to|when|where|but|and|at|by|" \
      "of|that|into|from|on|over|under|until|if|is|are|was|goes|holds|" \
      "applies|happens|here|there|again|once|then|after|before|except) $"
}

function forbid(pattern, instead) {
  words++
  word_pattern[words] = pattern
  word_instead[words] = instead
}

FNR == 1 {
  finish_file()
  start_file()
}

is_page { page_line($0); next }

is_script { script_line($0); next }

{ code_line($0) }

END {
  finish_file()
  judge()
}

function start_file() {
  is_page = FILENAME ~ /\.md$/
  is_script = $0 ~ /^#!/ ||
      FILENAME ~ /(\.sh|\.cmake|(^|\/)CMakeLists\.txt)$/
  group = group_of(FILENAME)
  if (!(group in seen)) {
    seen[group] = 1
    groups[++order] = group
  }
  in_block = 0
  in_fence = 0
  in_raw_string = 0
  beside = 0
  depth = 0
  statement = ""
  function_depth = 0
  last_comment_line = -9
  opening = 0  # 1: the file opens with a comment, 2: it does not.
}

function finish_file() {
  if (group == "") return
  end_paragraph()
  if (!is_page && current ~ /\.cc$/) {
    sources[group]++
    if (opening != 1) {
      unopened[group]++
      note_bare("opens without a comment that says what it is", 1)
    }
  }
}

# src/gma/order.cc -> src/gma; udp/open.cc -> udp; docs/udp.md -> docs.
function group_of(path, part, parts, name) {
  current = path
  sub(/^(\.\/|\/)/, "", path)
  parts = split(path, part, "/")
  if (parts == 1) return "."
  name = part[1]
  if ((name == "src" || name == "tests" || name == "docs" || name == "tools") &&
      parts > 2)
    name = name "/" part[2]
  return name
}

# The library, the transports, the launcher and the tools. Their files need a comment
# at the top and at each long function; tests only count in --report.
function is_product(path) {
  return path ~ ("(^|/)(src|" networks "|launcher|tools)/") &&
      path !~ /(^|\/)(tests|docs)\//
}

# --- Markdown ---

function page_line(line) {
  if (line ~ /^ *```/) {
    in_fence = !in_fence
    end_paragraph()
    return
  }
  if (in_fence || line ~ /^#/ || line ~ /^ *$/ || line ~ /^<!--/) {
    end_paragraph()
    return
  }
  # Indented code; a continued list item has text before it.
  if (text == "" && line ~ /^    /) return
  if (line ~ /^ *\|/) {
    end_paragraph()
    if (line ~ /^[ |:-]+$/) return
    text = line
    text_line = FNR
    is_row = 1
    end_paragraph()
    return
  }
  # An item of a list, or the meaning of an option in a manual page.
  if (line ~ /^ *([-*:]|[0-9]+\.) /) {
    end_paragraph()
    sub(/^ *([-*:]|[0-9]+\.) +/, "", line)
  }
  add_text(line)
}

# --- Scripts and CMake files ---

# Only comments that have a line of their own count: one behind a function of a
# script lists its arguments. Examples in comments are indented by three blanks.
function script_line(line) {
  if (line !~ /^[ \t]*#/ || (FNR == 1 && line ~ /^#!/)) {
    end_paragraph()
    return
  }
  sub(/^[ \t]*#+/, "", line)
  if (line ~ /^ *$/ || line ~ /^   / || line ~ /^ *(-----*|shellcheck )/) {
    end_paragraph()
    return
  }
  if (line ~ /^ *([-*]|[0-9]+[.)]) /) {
    end_paragraph()
    sub(/^ *([-*]|[0-9]+[.)]) +/, "", line)
  }
  add_text(line)
}

# --- C and C++ ---

function code_line(line, at, comment) {
  if (in_raw_string) {
    code_lines[group]++
    in_raw_string = !index(line, ")\"")
    return
  }
  if (in_block) {
    comment_lines[group]++
    last_comment_line = FNR
    if (function_depth) function_comment = 1
    at = index(line, "*/")
    if (at) {
      add_comment(substr(line, 1, at - 1))
      in_block = 0
    } else {
      add_comment(line)
    }
    return
  }
  if (line ~ /^ *$/) {
    end_paragraph()
    return
  }
  code = line
  comment = ""
  has_comment = 0
  if (index(line, "//") || index(line, "/*")) split_comment(line)
  if (has_comment) {
    comment_lines[group]++
    if (opening == 0) opening = 1
    if (function_depth) function_comment = 1
  } else if (opening == 0) {
    opening = 2
  }
  if (code ~ /[^ ]/) {
    if (!has_comment || !beside || !continues) end_paragraph()
    code_lines[group]++
    beside = has_comment ? comment_column : 0
    # The text of a string R"(...)" of several lines is no code of ours.
    in_raw_string = code ~ /R"\(/ && code !~ /\)"/
    if (code !~ /^#/ && !in_macro) track_functions(code)
    in_macro = code ~ /\\$/ && (in_macro || code ~ /^#/)
  } else {
    # A comment below one beside code continues it if it stands in line.
    if (beside && comment_column != beside) {
      end_paragraph()
      beside = 0
    }
    if (!beside && last_comment_line != FNR - 1) end_paragraph()
  }
  if (has_comment) {
    last_comment_line = FNR
    add_comment(comment_text)
  }
}

# Sets code, comment_text, comment_column and in_block.
function split_comment(line, rest, from, token, at) {
  rest = line
  from = 1
  while (match(rest, /"([^"\\]|\\.)*"|'([^'\\]|\\.)'|\/\/|\/\*/)) {
    token = substr(rest, RSTART, RLENGTH)
    if (token == "//" || token == "/*") {
      at = from + RSTART - 1
      has_comment = 1
      comment_column = at
      code = substr(line, 1, at - 1)
      comment_text = substr(line, at + 2)
      if (token == "/*") {
        at = index(comment_text, "*/")
        if (at) comment_text = substr(comment_text, 1, at - 1)
        else in_block = 1
      }
      continues = 0
      return
    }
    from += RSTART + RLENGTH - 1
    rest = substr(rest, RSTART + RLENGTH)
  }
}

# One line of a comment without the slashes.
function add_comment(line) {
  sub(/^[\/!*]*<?/, "", line)
  sub(/^ *\*+/, "", line)
  if (line ~ /^ *$/ || line ~ /NOLINT|clang-format/) {
    end_paragraph()
    return
  }
  if (line ~ /^ *@(file|name|defgroup|ingroup|addtogroup|[{}])/ ||
      line ~ /SPDX/) {
    end_paragraph()
    return
  }
  # An example in a comment is indented.
  if (text == "" && line ~ /^     /) return
  if (line ~ /^ *[@\\][a-z]/) {
    end_paragraph()
    sub(/^ *[@\\]t?param(\[[a-z,]*\])? +[A-Za-z_0-9.]+/, "", line)
    sub(/^ *[@\\][a-z]+/, "", line)
  } else if (line ~ /^ *([-*]|[0-9]+[.)]) /) {
    end_paragraph()
    sub(/^ *([-*]|[0-9]+[.)]) +/, "", line)
  }
  add_text(line)
}

# Finds functions: braces whose head has a parenthesis and that stand in
# namespaces and classes only.
function track_functions(line, at, sign, head) {
  # The text of strings and characters may have braces.
  gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
  gsub(/'([^'\\]|\\.)'/, "0", line)
  if (statement == "" && !function_depth && line ~ /[^ ]/) first_line = FNR
  while (match(line, /[{};]/)) {
    sign = substr(line, RSTART, 1)
    head = statement substr(line, 1, RSTART - 1)
    line = substr(line, RSTART + 1)
    if (sign == "{") {
      depth++
      if (!function_depth && is_function(head)) {
        function_depth = depth
        function_line = first_line
        function_comment = last_comment_line >= first_line - 1 &&
            last_comment_line > 0
        function_named = head ~ /TEST_CASE|SCENARIO/
      }
    } else if (sign == "}") {
      if (depth == function_depth) {
        if (function_depth && FNR - function_line + 1 >= 20 &&
            !function_named) {
          long_functions[group]++
          if (!function_comment) {
            bare_functions[group]++
            note_bare("a function of " FNR - function_line + 1 \
                          " lines has no comment", function_line)
          }
        }
        function_depth = 0
      }
      if (depth > 0) depth--
    }
    statement = ""
    first_line = FNR + (line ~ /^ *$/ ? 1 : 0)
  }
  if (line ~ /[^ ]/) statement = statement line " "
}

function is_function(head) {
  if (head !~ /\(/) return 0
  if (head ~ /^ *(namespace|enum|extern|union)/) return 0
  if (head ~ /(^|[ >])(class|struct) / && head !~ /\) *(const|noexcept|override|final| )*$/)
    return 0
  return head !~ /= *$/
}

# --- Paragraphs ---

function add_text(line) {
  if (text == "") {
    text_line = FNR
    text = line
  } else {
    text = text " " line
  }
}

function end_paragraph() {
  if (text == "") return
  measure(text, text_line, is_row)
  text = ""
  is_row = 0
}

function measure(words_of, at, row, plain, low, vague, i) {
  gsub(/`[^`]*`/, "code", words_of)
  gsub(/\]\([^)]*\)/, "]", words_of)
  gsub(/[*_]*\[|\]|\*\*/, "", words_of)
  gsub(/^[ "(]+/, "", words_of)
  paragraphs[group] += !row
  if (is_page || mode == "report") measure_sentences(words_of, at, row)
  low = tolower(words_of)
  plain = low
  gsub(/[a-z0-9_.\/-]+\.(md|h|cc|c|def|sh|cmake)/, "file name", plain)
  gsub(/[^a-z0-9-]+/, " ", plain)
  plain = " " plain " "
  total_words[group] += gsub(/ /, " ", plain) - 1
  vague = count_indefinite(plain)
  indefinite[group] += vague
  if (vague && mode == "files")
    note("indefinite words (" vague "): " substr(words_of, 1, 40), at, 0)
  gsub(/ address cards? /, " address ", plain)
  for (i = 1; i <= words; i++)
    if (match(plain, word_pattern[i])) {
      bad_words[group]++
      note("says '" substr(plain, RSTART + 1, RLENGTH - 2) "'; write " \
               word_instead[i], at, 1)
    }
  if (!row && is_elliptical(low)) {
    elliptical[group]++
    note("begins elliptically: " substr(words_of, 1, 40), at, 1)
  }
}

# Counts the sentences, and the sentences that are too long. A sentence ends at a
# full stop, question mark or exclamation mark with a blank behind it, and at the
# end of a cell. A word has a letter or a digit, so a dash is none. A code span is
# one word, and a link has the words of its text.
function measure_sentences(words_of, at, row, parts, count, i, size) {
  if (row) {
    gsub(/\\\|/, "", words_of)
    gsub(/\|/, "\n", words_of)
  }
  gsub(/[.!?]["*)]* +/, "&\n", words_of)
  count = split(words_of, parts, "\n")
  for (i = 1; i <= count; i++) {
    size = count_words(parts[i])
    if (size == 0) continue
    sentences[group]++
    if (size <= most_words) continue
    long_sentences[group]++
    if (!is_page) continue
    sub(/^ +/, "", parts[i])
    too_long[group]++
    note("a sentence has " size " words: " substr(parts[i], 1, 40), at, 1)
  }
}

function count_words(sentence, tokens, count, i, size) {
  count = split(sentence, tokens, " ")
  for (i = 1; i <= count; i++) size += tokens[i] ~ /[A-Za-z0-9]/
  return size + 0
}

# Words that name nothing. "those" counts in any use, "one" and "the same" only
# where they stand for a noun.
function count_indefinite(plain, count) {
  # The blanks are doubled, since a match takes the one that two words share.
  gsub(/ /, "  ", plain)
  count = gsub(/ (who|whom|whoever|what|whatever|whichever) /, " ", plain)
  count += gsub(/ (nobody|somebody|someone|something|anybody) /, " ", plain)
  count += gsub(/ (anyone|everybody|everyone) /, " ", plain)
  count += gsub(/ (those|the  others|elsewhere) /, " ", plain)
  count += gsub(/ (that|those)  of /, " ", plain)
  count += gsub(/ (the|this|that|another|each|such)  ones? /, " ", plain)
  count += gsub(/ ones?  (that|which|of  them) /, " ", plain)
  while (match(plain, / the  same  [a-z]* /)) {
    count += substr(plain, RSTART, RLENGTH) ~ same_without_noun
    plain = substr(plain, RSTART + 11)
  }
  return count
}

# Beginnings that lean on the sentence before, or on no noun at all.
#
# Always: "Those", "Of", "Who", "Nobody", "And", "But", ... and "The same"
# without a noun ("The same for reads", but not "The same program runs"). Not
# "Nothing", "Where", "How many", "Whether", "It": good sentences begin so.
# "What ..." hits unless it is a question: "What a peer sends is ..." can always
# be "The datagram that a peer sends is ...".
# "As", "For" and "To a" begin good sentences when a main clause follows a comma
# ("As section 4.11.1 allows, CONT waits"); without a comma they are fragments
# ("As kSelf.", "For tests."), or sentences that want the comma.
function is_elliptical(low, first) {
  first = low
  if (match(first, /[.;:?!]( |$)/)) first = substr(first, 1, RSTART)
  if (first ~ /^(the )?same[,.;:]/ || first ~ /^(the )?same$/) return 1
  if (match(first, /^(the )?same [a-z]+/) &&
      (substr(first, 1, RLENGTH) " ") ~ same_without_noun)
    return 1
  if (first ~ /^(those|of|nobody|ditto|likewise)[ ,.;:]/) return 1
  if (first ~ /^(who|whom|whoever|whatever|whichever)[ ,.;:]/)
    return first !~ /\?$/
  if (first ~ /^(and|or|nor|but|that of|one that|one of them|so do)[ ,]/)
    return 1
  if (first ~ /^what /) return first !~ /\?$/
  if (first ~ /^as (long|soon|far|many|much|of) /) return 0
  if (first ~ /^(as|for) / || first ~ /^to (a|an|the|each|every) /)
    return first !~ /,/
  return 0
}

# --- Verdict ---

function note(what, at, counts) {
  if (mode == "report" && !verbose) return
  if (mode == "tree" && !counts) return
  notes[group] = notes[group] current ":" at ": " what "\n"
}

# A comment is missing.
function note_bare(what, at) {
  if (is_product(current)) bare[group]++
  note(what, at, is_product(current))
}

function per(count, base, by) { return base ? count * by / base : 0 }

function judge(i, name, failed) {
  if (mode == "report")
    printf "%-16s %7s %6s %6s %5s %5s %6s %9s %7s %7s %11s\n", "directory",
        "words", "indef.", "per1k", "begin", "%", "words!", "bare/20+",
        "com/cod", "no top", "long/sent."
  for (i = 1; i <= order; i++) {
    name = groups[i]
    if (mode == "report") {
      row(name)
      add(name)
    } else if (!passes(name)) {
      failed = 1
    }
  }
  if (mode == "report") row("sum")
  for (i = 1; i <= order; i++)
    if (mode == "report" || mode == "files") printf "%s", notes[groups[i]]
  exit failed
}

function row(name) {
  printf "%-16s %7d %6d %6.1f %5d %5.1f %6d %4d/%-4d %7.2f %3d/%-3d %5d/%-5d\n", name,
      total_words[name], indefinite[name],
      per(indefinite[name], total_words[name], 1000), elliptical[name],
      per(elliptical[name], paragraphs[name], 100), bad_words[name],
      bare_functions[name], long_functions[name],
      per(comment_lines[name], code_lines[name], 1), unopened[name],
      sources[name], long_sentences[name], sentences[name]
}

function add(name) {
  total_words["sum"] += total_words[name]
  indefinite["sum"] += indefinite[name]
  elliptical["sum"] += elliptical[name]
  paragraphs["sum"] += paragraphs[name]
  bad_words["sum"] += bad_words[name]
  bare_functions["sum"] += bare_functions[name]
  long_functions["sum"] += long_functions[name]
  comment_lines["sum"] += comment_lines[name]
  code_lines["sum"] += code_lines[name]
  unopened["sum"] += unopened[name]
  sources["sum"] += sources[name]
  sentences["sum"] += sentences[name]
  long_sentences["sum"] += long_sentences[name]
}

# A rate says nothing about the few words of a named file.
function passes(name, rate, good) {
  rate = per(indefinite[name], total_words[name], 1000)
  good = 1
  if (rate > most_indefinite && (mode == "tree" || total_words[name] > 500)) {
    printf "%s: %.1f indefinite words per 1,000; at most %.1f are allowed\n",
        name, rate, most_indefinite
    good = 0
  }
  if (elliptical[name] > 0) {
    printf "%s: %d paragraphs begin elliptically\n", name, elliptical[name]
    good = 0
  }
  if (bad_words[name] > 0) {
    printf "%s: %d paragraphs with words not to be used\n", name,
        bad_words[name]
    good = 0
  }
  if (too_long[name] > 0) {
    printf "%s: %d sentences have more than %d words\n", name, too_long[name],
        most_words
    good = 0
  }
  if (bare[name] > 0) {
    printf "%s: %d long functions or files without a comment\n", name, bare[name]
    good = 0
  }
  if (!good && mode == "tree") printf "%s", notes[name]
  return good
}
