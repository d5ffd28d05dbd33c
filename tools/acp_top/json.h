// Pictures as JSON: the format of --json and --from. docs/observability.md
// has the schema.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "picture.h"

namespace acp::top {

/// Raised when a member changes its meaning or goes. New members may come.
inline constexpr int kJsonSchema = 1;

/// One JSON object of ASCII on several lines, with the findings.
std::string json_of(const Picture& picture);

/// Why a text is no picture.
struct BadJson {
  std::string why;
};

/// Reads what json_of() writes. Members that it does not know are left out.
std::variant<Picture, BadJson> picture_from_json(std::string_view text);

}  // namespace acp::top
