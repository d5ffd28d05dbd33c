// Reads the definition of the machine and files of seeds. Called when a node
// joins, and by Seed(). It may not end the job: a failure is a text for the
// caller.
#include "compat/scu/definition.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "scu/sysfunc.h"  // COMMS_ENVVAR and COMMS_DEFFILE

namespace scu {

namespace {

constexpr std::string_view kSpace = " ,=\n\t\r";

/// The words of a text, separated by kSpace.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) {
      return words;
    }
    text.remove_prefix(begin);
    const std::size_t length = text.find_first_of(kSpace);
    words.emplace_back(text.substr(0, length));
    text.remove_prefix(words.back().size());
  }
}

/// Reads the whole word as a number from `least` to `most`. False: it is none.
bool take_number(const std::string& word,
                 unsigned long long least,
                 unsigned long long most,
                 unsigned long long& number) {
  char* end = nullptr;
  if (word.empty() || word[0] < '0' || word[0] > '9') {
    return false;
  }
  number = std::strtoull(word.c_str(), &end, 10);
  return *end == '\0' && number >= least && number <= most;
}

std::string take_grid(const std::vector<std::string>& words, Definition& made) {
  const std::string wanted =
      "{GRID=t,x,y,z} needs four numbers of nodes, 1 or more each";
  if (words.size() != 1 + kAxes) {
    return wanted + "; there are " + std::to_string(words.size() - 1);
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    unsigned long long size = 0;
    if (!take_number(words[axis + 1], 1, std::numeric_limits<int>::max(),
                     size)) {
      return wanted + "; '" + words[axis + 1] + "' is none";
    }
    made.grid.at(axis) = static_cast<int>(size);
  }
  return {};
}

/// Reads what stands in one pair of braces. Returns a failure, or nothing.
std::string take_item(std::string_view text, Definition& made) {
  const std::vector<std::string> words = words_of(text);
  const std::string name = words.empty() ? "" : words[0];
  if (name == "GRID") {
    return take_grid(words, made);
  }
  if (name != "LOGFILE" && name != "SEED" && name != "SEEDFILE") {
    return {};
  }
  if (words.size() != 2) {
    return "{" + name + "=...} needs one value; there are " +
           std::to_string(words.size() - 1);
  }
  unsigned long long seed = 0;
  if (name == "LOGFILE") {
    made.log_file = words[1];
  } else if (name == "SEEDFILE") {
    made.seed_file = words[1];
  } else if (!take_number(words[1], 0, std::numeric_limits<unsigned int>::max(),
                          seed)) {
    return "{SEED=" + words[1] + "}: expected a number from 0 to " +
           std::to_string(std::numeric_limits<unsigned int>::max());
  } else {
    made.seed = static_cast<unsigned int>(seed);
  }
  return {};
}

bool read_file(const std::string& name, std::string& text) {
  std::ifstream file(name);
  std::ostringstream all;
  all << file.rdbuf();
  text = all.str();
  return file.is_open() && !file.bad();
}

/// The folder of the executable, with a slash at its end.
std::string own_folder() {
  std::error_code failed;
  const std::string path =
      std::filesystem::read_symlink("/proc/self/exe", failed).string();
  return path.substr(0, path.rfind('/') + 1);
}

Parsed parse_file(const std::string& name, const std::string& advice) {
  std::string text;
  if (!read_file(name, text)) {
    return {{}, "cannot read '" + name + "'; " + advice};
  }
  Parsed parsed = parse(text);
  if (!parsed.failure.empty()) {
    parsed.failure = name + ": " + parsed.failure;
  }
  return parsed;
}

}  // namespace

/// Goes from one pair of braces to the next. {GRID} is the only item that has
/// no default.
Parsed parse(const std::string& text) {
  Parsed parsed;
  std::string_view rest = text;
  for (;;) {
    const std::size_t open = rest.find('{');
    if (open == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(open + 1);
    const std::size_t close = rest.find('}');
    parsed.failure = close == std::string_view::npos
                         ? "a '{' has no '}'"
                         : take_item(rest.substr(0, close), parsed.definition);
    if (!parsed.failure.empty()) {
      return parsed;
    }
    rest.remove_prefix(close + 1);
  }
  if (parsed.definition.grid[0] == 0) {
    parsed.failure =
        "there is no {GRID=t,x,y,z}, the number of nodes in each direction";
  }
  return parsed;
}

/// A value with a brace is a definition; any other value is the name of a file.
Parsed find_definition() {
  const char* given = std::getenv(COMMS_ENVVAR);
  if (given == nullptr) {
    return parse_file(own_folder() + COMMS_DEFFILE,
                      "set " COMMS_ENVVAR
                      " to {GRID=t,x,y,z} or to a file's "
                      "name, or make this file");
  }
  const std::string text = given;
  if (text.find('{') == std::string::npos) {
    const std::vector<std::string> words = words_of(text);
    return parse_file(words.empty() ? "" : words[0], COMMS_ENVVAR
                      " has to be the name of a file, or to have "
                      "{GRID=t,x,y,z} in it");
  }
  Parsed parsed = parse(text);
  if (!parsed.failure.empty()) {
    parsed.failure = COMMS_ENVVAR ": " + parsed.failure;
  }
  return parsed;
}

/// Reads the whole file at each call and keeps nothing.
Seed seed_from(const std::string& file, int index) {
  std::string text;
  if (!read_file(file, text)) {
    return {0, "cannot read '" + file + "'; {SEEDFILE=...} names it"};
  }
  const std::vector<std::string> words = words_of(text);
  const auto at = static_cast<std::size_t>(index);
  unsigned long long value = 0;
  if (at >= words.size()) {
    return {0, file + " has " + std::to_string(words.size()) +
                   " numbers; this node needs number " +
                   std::to_string(index + 1)};
  }
  if (!take_number(words[at], 0, std::numeric_limits<unsigned int>::max(),
                   value)) {
    return {0, file + ": '" + words[at] + "', number " +
                   std::to_string(index + 1) + ", is no number from 0 to " +
                   std::to_string(std::numeric_limits<unsigned int>::max())};
  }
  return {static_cast<unsigned int>(value), {}};
}

}  // namespace scu
