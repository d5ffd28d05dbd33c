// The parser of node files, and the check of host names. Called by place_ranks
// for node files and for each host of --host; allocations need the check only.
// Pure; no name is resolved.
#include "launcher/nodefile.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/printable.h"

namespace acp::launcher {

namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

std::string_view take_word(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    line = {};
    return {};
  }
  line.remove_prefix(begin);
  const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

std::optional<std::uint32_t> parse_capacity(std::string_view text) {
  std::uint32_t capacity = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, capacity);
  if (error != std::errc{} || rest != end || capacity == 0 ||
      capacity > kMaxRanks) {
    return std::nullopt;
  }
  return capacity;
}

/// Returns a word of the file for a message.
std::string shown(std::string_view word) {
  return printable(word, kPrintableName);
}

/// Splits "host:2" and "[::1]:2" before the colon of the count. A word with
/// several colons is an IPv6 address without a count.
std::pair<std::string_view, std::string_view> split_count(
    std::string_view word) {
  if (word.starts_with('[')) {
    const std::size_t close = word.find(']');
    if (close == std::string_view::npos) {
      return {word, {}};
    }
    return {word.substr(1, close - 1), word.substr(close + 1)};
  }
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos || colon != word.rfind(':')) {
    return {word, {}};
  }
  return {word.substr(0, colon), word.substr(colon)};
}

/// Fills `node` from a line without its comment; returns what is wrong with the
/// line, if anything.
std::optional<std::string> parse_line(std::string_view line, Node& node) {
  const std::string_view first = take_word(line);
  const std::string_view option = take_word(line);
  const auto [host, count] = split_count(first);
  if (host.empty() || host.find_first_of("[]") != std::string_view::npos) {
    return fmt::format("'{}' is no host", shown(first));
  }
  if (auto error = refuse_option_as_host(host)) {
    return error;
  }
  std::string_view capacity = count.empty() ? count : count.substr(1);
  if (!count.empty() && (count.front() != ':' || capacity.empty())) {
    return fmt::format("'{}' has no number behind the host", shown(first));
  }
  if (!option.empty()) {
    constexpr std::string_view kSlots = "slots=";
    if (!option.starts_with(kSlots) || !count.empty() ||
        !take_word(line).empty()) {
      return fmt::format("'{}': expected 'host', 'host:N' or 'host slots=N'",
                         shown(option));
    }
    capacity = option.substr(kSlots.size());
  }
  node.host = host;
  if (!count.empty() || !option.empty()) {
    const auto number = parse_capacity(capacity);
    if (!number) {
      return fmt::format("'{}' is no number of ranks from 1 to {}",
                         shown(capacity), kMaxRanks);
    }
    node.capacity = *number;
    node.has_count = true;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refuse_option_as_host(std::string_view host) {
  if (!host.starts_with('-')) {
    return std::nullopt;
  }
  return fmt::format(
      "'{}' is no host: it begins with '-', so the remote shell would take it "
      "for an option",
      shown(host));
}

/// The line's number counts all lines, empty ones as well.
std::variant<std::vector<Node>, NodefileError> parse_nodefile(
    std::string_view text) {
  std::vector<Node> nodes;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) {
      continue;
    }
    Node node;
    node.line = number;
    if (auto error = parse_line(line, node)) {
      return NodefileError{number, std::move(*error)};
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::uint32_t capacity_of(const std::vector<Node>& nodes) {
  std::uint64_t capacity = 0;
  for (const Node& node : nodes) {
    capacity += node.capacity;
  }
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(capacity, kMaxRanks));
}

}  // namespace acp::launcher
