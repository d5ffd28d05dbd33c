// Reads a launcher's command line by a table of options. Called by
// parse_options; touches neither the environment nor the settings.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/early_exit.h"
#include "launcher/option_table.h"

namespace acp::launcher {

/// One option of the command line. A plain value; the table outlives it.
struct GivenOption {
  const OptionRow* row = nullptr;
  std::string value;      ///< A flag has "".
  std::string word = {};  ///< Its name as it was written: "-net".
};

struct ParsedWords {
  std::vector<GivenOption> options;  ///< In the order of the command line.
  std::vector<std::string> command;  ///< Program and arguments; may be empty.
  std::size_t plain_words = 0;  ///< Words of `command` in front of any "--".

  bool has(std::string_view name) const;
};

/// Splits the words behind the launcher's name into options and command.
/// `-name value` and `-name=value` are the same. The command begins at the
/// first word that is no option, or behind a leading "--". Behind the program's
/// name, `--acp-*` words are options, too, up to a literal "--"
/// (specification, section 3.3).
///
/// Fails on an unknown option, a missing value, a flag with a value, and an
/// option that is refused a second time. It does not check the form of values.
OrExit<ParsedWords> parse_words(const OptionTable& table,
                                std::span<const std::string> words);

/// Checks the form of each value, and that the options are there which others
/// need. Then gives each value to its target, in order.
std::optional<EarlyExit> take_values(const ParsedWords& parsed,
                                     Options& options);

}  // namespace acp::launcher
