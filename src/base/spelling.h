// Finds the known word that is nearest to a mistyped one.
#pragma once

#include <span>
#include <string_view>

namespace acp {

/// The word of `candidates` nearest to `word`, or an empty view when no
/// candidate is near. Error messages ask "did you mean ...?" with it. A third
/// of the letters may differ; `prefix`, which all candidates share, does not
/// count among them.
std::string_view nearest_word(std::string_view word,
                              std::span<const std::string_view> candidates,
                              std::string_view prefix);

}  // namespace acp
