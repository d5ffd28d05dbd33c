// The parser of a table of options, and the checks that its rows ask for.
// Called by acprun and macprun before anything is started. It ends no process:
// the caller prints the error.
#include "launcher/option_parser.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/join_texts.h"
#include "base/spelling.h"
#include "launcher/foreign_options.h"

namespace acp::launcher {

namespace {

constexpr std::string_view kAcpPrefix = "--acp-";

/// Names that a misspelled word may have meant: a word of the specification
/// never means another option, and the other way round.
std::vector<std::string_view> names_like(const OptionTable& table,
                                         std::string_view word) {
  std::vector<std::string_view> names;
  for (const OptionRow& row : table.rows) {
    if (row.name.starts_with(kAcpPrefix) == word.starts_with(kAcpPrefix)) {
      names.push_back(row.name);
    }
  }
  return names;
}

EarlyExit unknown_acp_option(std::string_view name,
                             std::span<const std::string_view> known) {
  const std::string_view nearest = nearest_word(name, known, kAcpPrefix);
  const std::string hint =
      nearest.empty() ? fmt::format("known are {}", join_texts(known, ", "))
                      : fmt::format("did you mean {}?", nearest);
  return launcher_error(
      fmt::format("{} is no option of ACP; {} (a program's own --acp-* "
                  "words have to stand behind a --)",
                  name, hint));
}

EarlyExit unknown_option(const OptionTable& table, std::string_view name) {
  const std::vector<std::string_view> known = names_like(table, name);
  if (name.starts_with(kAcpPrefix)) return unknown_acp_option(name, known);
  const std::string_view foreign = advice_for_foreign(name);
  const std::string_view nearest = nearest_word(name, known, "--");
  const std::string advice =
      !foreign.empty()   ? std::string(foreign)
      : !nearest.empty() ? fmt::format("did you mean {}?", nearest)
                         : fmt::format("{} --help lists them", table.program);
  return launcher_error(fmt::format("{} is no option; {}", name, advice));
}

/// Whether the option may stand without a value.
bool is_flag(const OptionRow& row) {
  return row.kind == OptionKind::kFlag || row.kind == OptionKind::kFlagOrText;
}

/// Walks over the words; each step takes one option. Used for one command line,
/// by one thread.
class Parser {
 public:
  Parser(const OptionTable& table, std::span<const std::string> words)
      : table_(table), words_(words) {}

  OrExit<ParsedWords> run() {
    while (!error_ && next_ < words_.size() && is_option(words_[next_])) {
      if (words_[next_] == "--") {
        take_rest(next_ + 1);
        return std::move(parsed_);
      }
      take_option();
    }
    take_command();
    if (error_) {
      return std::move(*error_);
    }
    return std::move(parsed_);
  }

 private:
  static bool is_option(std::string_view word) {
    return word.size() > 1 && word.front() == '-';
  }

  /// Takes "name", "name=value", or "name" and the next word.
  void take_option() {
    const std::string_view word = words_[next_++];
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const bool has_value = equals != std::string_view::npos;
    const OptionRow* row = find_row(table_, name);
    if (row == nullptr) {
      error_ = unknown_option(table_, name);
      return;
    }
    std::string value;
    if (row->kind == OptionKind::kFlag) {
      if (has_value)
        error_ = launcher_error(fmt::format("{} takes no value", name));
    } else if (has_value) {
      value = word.substr(equals + 1);
    } else if (row->kind == OptionKind::kFlagOrText) {
      // The next word is the program, or another option.
    } else if (next_ < words_.size()) {
      value = words_[next_++];
    } else {
      error_ = launcher_error(fmt::format("{} needs a value", name));
    }
    if (!error_) add(*row, name, std::move(value));
  }

  void add(const OptionRow& row, std::string_view name, std::string value) {
    if (!is_flag(row) && row.repeat == OptionRepeat::kRefused) {
      for (const GivenOption& earlier : parsed_.options) {
        if (earlier.row != &row) continue;
        error_ = launcher_error(fmt::format("{} is given twice, as {} and {}",
                                            row.name, earlier.value, value));
        return;
      }
    }
    parsed_.options.push_back({&row, std::move(value), std::string(name)});
  }

  /// Takes the program and its arguments, and --acp-* options among them.
  void take_command() {
    while (!error_ && next_ < words_.size()) {
      if (words_[next_] == "--") {
        break;
      }
      if (!parsed_.command.empty() && words_[next_].starts_with(kAcpPrefix)) {
        take_option();
      } else {
        parsed_.command.push_back(words_[next_++]);
      }
    }
    parsed_.plain_words = parsed_.command.size();
    take_rest(next_);
  }

  void take_rest(std::size_t first) {
    parsed_.command.insert(parsed_.command.end(),
                           words_.begin() + static_cast<std::ptrdiff_t>(first),
                           words_.end());
  }

  const OptionTable& table_;
  std::span<const std::string> words_;
  std::size_t next_ = 0;
  ParsedWords parsed_;
  std::optional<EarlyExit> error_;
};

std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text) {
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, seconds);
  // Clocks count in nanoseconds: a million seconds do not overflow them.
  if (failure != std::errc{} || rest != end || !(seconds >= 0) ||
      seconds > 1e6) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(std::lround(seconds * 1000.0));
}

/// The form that a row's values have, behind "must be ".
std::string describe_form(const OptionRow& row) {
  std::string form;
  switch (row.kind) {
    case OptionKind::kChoice: form = join_words(choices_of(row), "or"); break;
    case OptionKind::kSeconds: form = "seconds, like 5 or 0.5"; break;
    case OptionKind::kAssignment: form = "NAME=VALUE"; break;
    case OptionKind::kRankList: form = "a list like 0,2-3"; break;
    case OptionKind::kFlagOrText:
      form = fmt::format("{}, or without a value", row.argument);
      break;
    default: form = row.argument;
  }
  return row.needs.empty() ? form
                           : fmt::format("{}, and needs {}", form, row.needs);
}

/// Settings check their values themselves, with the library's words.
bool has_form(const OptionRow& row, const std::string& value) {
  if (std::holds_alternative<SettingId>(row.target)) return true;
  switch (row.kind) {
    case OptionKind::kChoice: {
      const auto choices = choices_of(row);
      return std::find(choices.begin(), choices.end(), value) != choices.end();
    }
    case OptionKind::kSeconds: return parse_seconds(value).has_value();
    case OptionKind::kAssignment: {
      const std::size_t equals = value.find('=');
      return equals != 0 && equals != std::string::npos;
    }
    case OptionKind::kRankList: return RankSet::parse(value).has_value();
    default: return true;
  }
}

std::optional<EarlyExit> check(const GivenOption& given,
                               const ParsedWords& parsed) {
  const OptionRow& row = *given.row;
  const bool may_be_empty =
      is_flag(row) || std::holds_alternative<SettingId>(row.target);
  if (given.value.empty() && !may_be_empty) {
    return launcher_error(fmt::format("{} needs a value", row.name));
  }
  if (!has_form(row, given.value) ||
      (!row.needs.empty() && !parsed.has(row.needs))) {
    return launcher_error(fmt::format("{}={}: must be {}", row.name,
                                      given.value, describe_form(row)));
  }
  return std::nullopt;
}

std::optional<EarlyExit> take_setting(SettingId id,
                                      const std::string& value,
                                      Options& options) {
  if (options.settings.set(id, value, SettingSource::kOption) != Status::kOk) {
    return launcher_error("");
  }
  options.setting_variables.push_back(
      fmt::format("{}={}", settings_table()[static_cast<std::size_t>(id)].name,
                  options.settings.text(id)));
  return std::nullopt;
}

/// Stores a checked value, by the type of the row's target.
struct Store {
  using Outcome = std::optional<EarlyExit>;

  const std::string& value;
  Options& options;

  Outcome operator()(std::monostate) const { return std::nullopt; }

  Outcome operator()(bool Options::*flag) const {
    options.*flag = true;
    return std::nullopt;
  }

  Outcome operator()(std::string Options::*text) const {
    options.*text = value;
    return std::nullopt;
  }

  Outcome operator()(std::vector<std::string> Options::*list) const {
    (options.*list).push_back(value);
    return std::nullopt;
  }

  Outcome operator()(std::chrono::milliseconds Options::*duration) const {
    options.*duration = *parse_seconds(value);
    return std::nullopt;
  }

  Outcome operator()(SettingId id) const {
    return take_setting(id, value, options);
  }

  Outcome operator()(TakeValue take) const { return take(value, options); }
};

}  // namespace

bool ParsedWords::has(std::string_view name) const {
  return std::any_of(
      options.begin(), options.end(),
      [name](const GivenOption& given) { return given.row->name == name; });
}

OrExit<ParsedWords> parse_words(const OptionTable& table,
                                std::span<const std::string> words) {
  return Parser(table, words).run();
}

std::optional<EarlyExit> take_values(const ParsedWords& parsed,
                                     Options& options) {
  for (const GivenOption& given : parsed.options) {
    if (auto exit = check(given, parsed)) return exit;
    if (auto exit =
            std::visit(Store{given.value, options}, given.row->target)) {
      return exit;
    }
  }
  return std::nullopt;
}

}  // namespace acp::launcher
