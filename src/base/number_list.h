// Writes lists of numbers for people, such as those of processors or processes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace acp {

/// Returns "0,2-3". `numbers` has to be ascending, each once. Behind 12 ranges
/// stands a count of the rest: " and 38 more".
std::string describe_numbers(std::span<const std::uint32_t> numbers);

}  // namespace acp
