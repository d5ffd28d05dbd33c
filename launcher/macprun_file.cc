// Parses macprun's input file. Called by macprun before anything is planned.
// Makes no system call.
#include "launcher/macprun_file.h"

#include <fmt/core.h>

#include <optional>

#include "launcher/nodefile.h"
#include "launcher/options.h"
#include "launcher/words.h"

namespace acp::launcher {

namespace {

/// A line that counts, without its comment.
struct Line {
  std::size_t number = 0;
  std::string text;
};

/// Removes a comment, which begins at a `#` that is the first character of a
/// word.
std::string_view without_comment(std::string_view text) {
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '#' &&
               (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) {
      return text.substr(0, i);
    }
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// The specification prints such a line above and below its example.
bool is_rule(std::string_view text) {
  return text.size() >= 3 &&
         text.find_first_not_of('-') == std::string_view::npos;
}

std::vector<Line> lines_that_count(std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(without_comment(text.substr(0, end)));
    ++number;
    if (!line.empty() && !is_rule(line)) {
      lines.push_back({number, std::string(line)});
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// A number from 1 to the largest number of ranks.
std::optional<std::uint32_t> parse_count(std::string_view text) {
  const auto number = number_in(text);
  if (!number || *number == 0 || *number > kMaxRanks) return std::nullopt;
  return number;
}

/// Takes the lines one after the other. Used for one file, by one thread.
class Reader {
 public:
  explicit Reader(std::string_view text) : lines_(lines_that_count(text)) {}

  /// Order of the file: the number of environments, all launchers, all numbers
  /// of processes, all commands. The first mistake ends the reading.
  std::variant<std::vector<MacprunLine>, MacprunFileError> read() {
    std::uint32_t environments = 0;
    if (!take_number("the number of runtime environments", environments)) {
      return error_;
    }
    // Each environment has three lines, so a number that is too large is found
    // before memory is taken for it.
    if (environments > lines_.size()) {
      return MacprunFileError{
          lines_.front().number,
          fmt::format("'{}': the file has fewer lines than runtime "
                      "environments; write how many lines like \"mpirun\" "
                      "follow",
                      environments)};
    }
    std::vector<MacprunLine> all(environments);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!take_words(fmt::format("runtime environment {} of {}, like "
                                  "\"acprun\" or \"mpirun\"",
                                  i + 1, all.size()),
                      all[i].launcher, all[i].launcher_line)) {
        return error_;
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!take_number(
              fmt::format("the number of processes of runtime environment {}, "
                          "\"{}\"",
                          i + 1, all[i].launcher.front()),
              all[i].procs)) {
        return error_;
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!take_words(fmt::format("the command of runtime environment {}, "
                                  "\"{}\"",
                                  i + 1, all[i].launcher.front()),
                      all[i].command, all[i].command_line)) {
        return error_;
      }
    }
    if (next_ < lines_.size()) {
      return MacprunFileError{
          lines_[next_].number,
          fmt::format("'{}': the file says {} at its beginning, and so many "
                      "runtime environments have their commands already; raise "
                      "that number, or take the line out",
                      lines_[next_].text, all.size())};
    }
    return all;
  }

 private:
  /// The next line; nullptr, with error_ set, at the end of the file.
  const Line* take(const std::string& what) {
    if (next_ < lines_.size()) return &lines_[next_++];
    const std::size_t last = lines_.empty() ? 0 : lines_.back().number;
    error_ = {last, fmt::format("the file ends here; {} has to follow", what)};
    return nullptr;
  }

  bool take_number(const std::string& what, std::uint32_t& number) {
    const Line* const line = take(what);
    if (line == nullptr) return false;
    const auto parsed = parse_count(line->text);
    if (!parsed) {
      error_ = {line->number,
                fmt::format("'{}': write {} here, a number from 1 to {}",
                            line->text, what, kMaxRanks)};
      return false;
    }
    number = *parsed;
    return true;
  }

  /// A number here means that a line before is missing.
  bool take_words(const std::string& what,
                  std::vector<std::string>& words,
                  std::size_t& number) {
    const Line* const line = take(what);
    if (line == nullptr) return false;
    auto split = split_command(line->text);
    if (!split || split->empty()) {
      error_ = {line->number,
                fmt::format("'{}': a quote is not closed; write {} here",
                            line->text, what)};
      return false;
    }
    number = line->number;
    if (parse_count(line->text)) {
      error_ = {line->number, fmt::format("'{}' is a number; write {} here",
                                          line->text, what)};
      return false;
    }
    words = std::move(*split);
    return true;
  }

  std::vector<Line> lines_;
  std::size_t next_ = 0;
  MacprunFileError error_;
};

}  // namespace

std::variant<std::vector<MacprunLine>, MacprunFileError> parse_macprun_file(
    std::string_view text) {
  return Reader(text).read();
}

}  // namespace acp::launcher
