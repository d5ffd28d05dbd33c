// Lists of words as exec takes them, environments, and numbers in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acp::launcher {

/// A null-terminated array of pointers into `words`, as exec wants it.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

/// The name in an entry "NAME=value" of an environment.
std::string_view name_in(std::string_view entry);

/// The value of a variable of an environment; "" when there is none.
std::string value_in(const std::vector<std::string>& environment,
                     std::string_view name);

/// The number that the digits are; nothing when there is another character, no
/// digit, or more than 32 bits. Null counts as no digit.
std::optional<std::uint32_t> number_in(std::string_view digits);
std::optional<std::uint32_t> number_in(const char* digits);

}  // namespace acp::launcher
