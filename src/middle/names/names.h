// Small values under names that every rank of the job can look up. Called by
// names_api.cc. docs/containers.md, "Published names", has the design.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "acp/extension.h"
#include "middle/structure/site.h"

namespace acp::middle::names {

/// The result of a call. kNot: the name is taken, was not there, or has not
/// come in time. kFailed: reported, with acp_errno.
enum class Answer : std::int8_t { kDone = 0, kNot = 1, kFailed = -1 };

/// Adds the module: one word of each rank.
int add_module(int (*add)(const acpx_module_t*));

/// Publishes `value` unless the name has a value already.
Answer publish(structure::Site& site,
               const char* name,
               std::span<const std::byte> value);

/// Copies the value to `room`. `size` gets its bytes; if it is null, the value
/// has to fill `room`. Waits until there is one, or as convention 1 of
/// acp/extension.h says.
Answer lookup(structure::Site& site,
              const char* name,
              std::span<std::byte> room,
              std::size_t* size,
              int timeout_ms);

/// Removes the name with its value.
Answer unpublish(structure::Site& site, const char* name);

}  // namespace acp::middle::names
