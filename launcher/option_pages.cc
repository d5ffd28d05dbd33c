// Writes the pages of a table of options. acprun calls help_text;
// launcher_pages writes the others while the project is built. Pure; no option
// may be named here.
#include "launcher/option_pages.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/join_texts.h"

namespace acp::launcher {

namespace {

/// Columns of --help: a terminal has 80, and some wrap at the last.
constexpr std::size_t kWidth = 79;
/// Column of --help in which descriptions begin.
constexpr std::size_t kHelpColumn = 31;

/// Breaks a text at blanks. `text` goes on in `column`; later lines begin with
/// `indent` blanks.
std::string wrap(std::string_view text,
                 std::size_t column,
                 std::size_t indent) {
  std::string lines;
  bool is_first = true;
  for (const std::string_view word : split_text(text, ' ')) {
    if (!is_first && column + 1 + word.size() > kWidth) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!is_first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
    is_first = false;
  }
  return lines;
}

/// "-np N", "--acp-nprocs=N", "--tag": a name with one dash takes a blank.
std::string with_argument(std::string_view name, const OptionRow& row) {
  if (row.kind == OptionKind::kFlag) return std::string(name);
  if (row.kind == OptionKind::kFlagOrText) {
    return fmt::format("{}[={}]", name, row.argument);
  }
  const char* between = name.starts_with("--") ? "=" : " ";
  return fmt::format("{}{}{}", name, between, row.argument);
}

/// The short and the long name.
std::vector<std::string_view> names_of(const OptionRow& row) {
  std::vector<std::string_view> names;
  if (!row.short_name.empty()) names.push_back(row.short_name);
  names.push_back(row.name);
  return names;
}

/// A name that is too long for the first column gets a line of its own.
std::string help_line(const OptionRow& row) {
  std::string line = "  ";
  for (const std::string_view name : names_of(row)) {
    if (line.size() > 2) line += ", ";
    line += with_argument(name, row);
  }
  if (line.size() + 2 > kHelpColumn) {
    line += '\n' + std::string(kHelpColumn, ' ');
  } else {
    line.resize(kHelpColumn, ' ');
  }
  std::string description(row.summary);
  if (row.kind == OptionKind::kChoice) {
    description += fmt::format(": {}", join_words(choices_of(row), "and"));
  }
  for (const std::string_view name : split_text(row.old_names, ' ')) {
    if (name.starts_with("--")) description += fmt::format("; also {}", name);
  }
  if (!row.default_value.empty()) {
    description += fmt::format(" (default {})", row.default_value);
  }
  return line + wrap(description, kHelpColumn, kHelpColumn) + '\n';
}

/// Calls `visit` for each row, and `begin` before the first one of a group.
template <typename Begin, typename Visit>
void for_each_row(const OptionTable& table, Begin begin, Visit visit) {
  const OptionRow* before = nullptr;
  for (const OptionRow& row : table.rows) {
    if (before == nullptr || before->group != row.group) begin(row.group);
    visit(row);
    before = &row;
  }
}

std::string definition(const OptionRow& row, ManualScope scope) {
  std::string names;
  std::vector<std::string_view> all = names_of(row);
  const auto old_names = split_text(row.old_names, ' ');
  all.insert(all.end(), old_names.begin(), old_names.end());
  for (const std::string_view name : all) {
    if (!names.empty()) names += ", ";
    names += fmt::format("`{}`", with_argument(name, row));
  }
  std::string text(row.manual);
  if (scope == ManualScope::kThisBuild &&
      std::holds_alternative<SettingId>(row.target) &&
      row.kind == OptionKind::kChoice) {
    text +=
        fmt::format(" This build has {}.", join_words(choices_of(row), "and"));
  }
  return fmt::format("{}\n: {}\n\n", names, wrap(text, 2, 2));
}

/// A branch of the completion's `case` for the values of a row; "" where any
/// text may stand.
std::string completion_of_value(const OptionRow& row) {
  std::string names(row.name);
  for (const std::string_view name : split_text(row.old_names, ' ')) {
    names += fmt::format(" | {}", name);
  }
  switch (row.kind) {
    case OptionKind::kChoice:
      return fmt::format("    {}) compgen -W '{}' -- \"$2\" ;;\n", names,
                         join_texts(choices_of(row), " "));
    case OptionKind::kFile:
      return fmt::format("    {}) compgen -f -- \"$2\" ;;\n", names);
    case OptionKind::kDirectory:
      return fmt::format("    {}) compgen -d -- \"$2\" ;;\n", names);
    case OptionKind::kCommand:
      return fmt::format("    {}) compgen -c -- \"$2\" ;;\n", names);
    case OptionKind::kFlagOrText: {
      const std::string_view begin =
          row.argument.substr(0, row.argument.find(':') + 1);
      return fmt::format("    {}) compgen -f -P '{}' -- \"${{2#{}}}\" ;;\n",
                         names, begin, begin);
    }
    default: return "";
  }
}

/// In the script, "@" stands for the launcher's name.
constexpr std::string_view kScript = R"(
# Prints the values of option $1 that begin with $2.
_@_values() {
  case $1 in
VALUES  esac
}

# Bash has split the line at "=" and ":" as well as at blanks: the loop joins these
# pieces. The second loop looks for what is completed: a value, an option, the
# program, or a word of the program's own.
_@() {
  local options='OPTIONS'
  local with_value=' WITH_VALUE '
  local words=() word option='' program='' ended='' current prefix='' i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word == [=:]* || ${words[-1]} == *[=:] ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  current=${words[-1]}
  unset 'words[-1]'
  for word in "${words[@]}"; do
    if [[ -n $option ]]; then
      option=
    elif [[ -n $ended || (-n $program && $word != --*) ]]; then
      program=$word
    elif [[ $word == -- ]]; then
      ended=yes
    elif [[ $with_value == *" $word "* && (-z $program || $word == --acp-*) ]]; then
      option=$word
    elif [[ $word != -* ]]; then
      program=$word
    fi
  done
  if [[ -z $option && -z $ended && (-z $program || $current == --acp-*) ]]; then
    if [[ $current == -* && $current != *=* ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
      return
    fi
    [[ $current != -*=* ]] || option=${current%%=*}
  fi
  if [[ -n $option && $current == "$option="* ]]; then
    # Without "=" in COMP_WORDBREAKS, bash replaces the option's name as well.
    [[ ${COMP_WORDS[COMP_CWORD]} != -*=* ]] || prefix=$option=
    current=${current#*=}
  fi
  if [[ -n $option ]]; then
    mapfile -t COMPREPLY < <(_@_values "$option" "$current")
  elif [[ -z $program ]]; then
    mapfile -t COMPREPLY < <(compgen -c -f -- "$current" | sort -u)
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
  COMPREPLY=("${COMPREPLY[@]/#/$prefix}")
  compopt -o filenames 2>/dev/null || true
}
complete -F _@ @
)";

void replace_all(std::string& text,
                 std::string_view what,
                 std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

std::string help_text(const OptionTable& table) {
  std::string text = fmt::format(
      "Usage: {} {}\n"
      "A value may also be the next word: --name value.\n",
      table.program, table.arguments);
  for_each_row(
      table,
      [&text](OptionGroup group) {
        text += fmt::format("\n{}:\n", title_of(group));
        if (group == OptionGroup::kSpecification) {
          text += "  (before or behind the program)\n";
        }
      },
      [&text](const OptionRow& row) { text += help_line(row); });
  return text;
}

std::string options_in_markdown(const OptionTable& table, ManualScope scope) {
  std::string text;
  for_each_row(
      table,
      [&text](OptionGroup group) {
        text += fmt::format("### {}\n\n", title_of(group));
        if (group == OptionGroup::kSpecification) {
          text += wrap(
                      "Options that begin with `--acp-` may stand behind the "
                      "program, too, up to a literal `--`.",
                      0, 0) +
                  "\n\n";
        }
      },
      [&](const OptionRow& row) { text += definition(row, scope); });
  text.pop_back();
  return text;
}

/// Puts the lists into the script, then the header line, and the launcher's
/// name last. Only the three texts that name functions may have their "@"
/// replaced.
std::string bash_completion(const OptionTable& table) {
  std::vector<std::string_view> names;
  std::vector<std::string_view> with_value;
  std::string values;
  for (const OptionRow& row : table.rows) {
    std::vector<std::string_view> own = names_of(row);
    names.insert(names.end(), own.begin(), own.end());
    values += completion_of_value(row);
    if (row.kind == OptionKind::kFlag || row.kind == OptionKind::kFlagOrText) {
      continue;
    }
    with_value.insert(with_value.end(), own.begin(), own.end());
    const auto old_names = split_text(row.old_names, ' ');
    with_value.insert(with_value.end(), old_names.begin(), old_names.end());
  }
  std::string script(kScript);
  replace_all(script, "VALUES", values);
  replace_all(script, "OPTIONS", join_texts(names, " "));
  replace_all(script, "WITH_VALUE", join_texts(with_value, " "));
  script = fmt::format(
      "# bash completion for {}, written from its table of "
      "options.\n{}",
      table.program, script);
  // Variables and arrays of the script have an "@" of their own: "${words[@]}".
  for (const std::string_view part : {"_@_values", "_@()", "-F _@ @"}) {
    std::string with(part);
    replace_all(with, "@", table.program);
    replace_all(script, part, with);
  }
  return script;
}

}  // namespace acp::launcher
