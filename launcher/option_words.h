// The first pass over acprun's words. CLI11 cannot take "-np" and would read
// the program's options as its own; so this pass translates the words of the
// specification and of older scripts, takes the --acp-* words out, also from
// behind the program's name, and finds where the command begins.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/early_exit.h"

namespace acp::launcher {

/// An --acp-* option and its value.
struct AcpWord {
  std::string name;
  std::string value;
};

struct SplitWords {
  std::vector<AcpWord> acp;          ///< In order.
  std::vector<std::string> own;      ///< For CLI11: "--name=value" or a flag.
  std::vector<std::string> command;  ///< Program and arguments; may be empty.
};

/// Whether this own option ("--timeout") is followed by a value.
using TakesValue = std::function<bool(std::string_view)>;

/// Pure. `words` excludes acprun's own name. Fails on an unknown --acp-* word
/// and on an option without its value.
OrExit<SplitWords> split_words(std::span<const std::string> words,
                               const TakesValue& takes_value);

}  // namespace acp::launcher
