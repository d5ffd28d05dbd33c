// Reads a node file, which says which host runs which rank. Line i is rank i:
//
//   host          one rank
//   host:2        two ranks; so does "host slots=2"
//   [::1]:2       an address with colons takes brackets before a count
//   # comment     also at the end of a line; empty lines do not count
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace acp::launcher {

/// The most that a global address can name (docs/global_address.md).
inline constexpr std::uint32_t kMaxRanks = 1'048'575;

struct Node {
  std::string host;
  std::uint32_t capacity = 1;  ///< Ranks that it has room for: 1 .. kMaxRanks.
  std::size_t line = 0;        ///< Counted from 1.
  bool has_count = false;      ///< The capacity stands behind the name.

  bool operator==(const Node&) const = default;
};

struct NodefileError {
  std::size_t line = 0;
  std::string text;
};

/// Parses the text of a node file; any bytes are allowed. Pure.
std::variant<std::vector<Node>, NodefileError> parse_nodefile(
    std::string_view text);

/// Returns why a name from outside must not reach the remote shell. The shell
/// would read a host that begins with '-' as an option, and an option such as
/// ssh's -oProxyCommand runs a command. nullopt: the name is none of these.
/// Every source of hosts calls it. Pure.
std::optional<std::string> refuse_option_as_host(std::string_view host);

/// Returns how many ranks these nodes have room for, at most kMaxRanks.
std::uint32_t capacity_of(const std::vector<Node>& nodes);

}  // namespace acp::launcher
