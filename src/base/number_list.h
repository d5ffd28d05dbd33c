// Writes lists of numbers for people: ranks that wait, ranks that are missing.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace acp {

/// Returns "0,2-3". `numbers` has to be ascending, each once. Behind 12 ranges
/// stands a count of the rest: " and 38 more".
std::string describe_numbers(std::span<const std::uint32_t> numbers);

}  // namespace acp
