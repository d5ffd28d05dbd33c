// Copies elements of one set or map into another: assign, merge, move. Failures
// are reported; false: failed.
#pragma once

#include <cstdint>

#include "middle/structure/control.h"
#include "middle/table/walk.h"

namespace acp::middle::table {

/// Decides what happens to an element of the source.
enum class CopyMode : std::uint8_t {
  kMerge,   ///< Copies it when the destination does not have its key.
  kMove,    ///< Copies it as kMerge, and then removes it from the source.
  kAssign,  ///< Copies it always. The destination loses all other keys.
};

/// Copies the elements of `from` in the extent to `to`. kAssign takes the
/// other keys from the same extent of `to`.
bool copy_elements(const structure::Call& to,
                   const structure::Call& from,
                   Extent extent,
                   CopyMode how);

}  // namespace acp::middle::table
