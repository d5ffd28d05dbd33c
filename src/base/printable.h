// Makes texts from outside safe to show: of another host, a launcher, a file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace acp {

/// Enough for a name or a version in a message.
inline constexpr std::size_t kPrintableName = 80;

/// Returns the text with each byte that is no printable character of UTF-8 as
/// \xNN, and \n, \r and \t as these two letters. So the text can neither
/// command a terminal nor begin a line of its own. What would make the result
/// longer than `most` bytes is left out, and "..." says so.
std::string printable(std::string_view text,
                      std::size_t most = std::string_view::npos);

/// Whether printable() would return the text as it is. Allocates no memory.
bool is_printable(std::string_view text) noexcept;

/// Returns the same for a text of several lines: each \n stays.
std::string printable_lines(std::string_view text);

}  // namespace acp
