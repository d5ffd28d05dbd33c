// Joins texts, as fmt::join does, without the header that fmt::join needs.
#pragma once

#include <string>
#include <string_view>

namespace acp {

/// Returns the texts one behind the other, with `separator` between them.
/// `texts` is a sequence of std::string or std::string_view.
template <typename Texts>
std::string join_texts(const Texts& texts, std::string_view separator) {
  std::string joined;
  bool first = true;
  for (const std::string_view text : texts) {
    if (!first) joined += separator;
    joined += text;
    first = false;
  }
  return joined;
}

}  // namespace acp
