// Sets and maps as a whole. Failures are reported; false: failed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/control.h"
#include "middle/table/walk.h"

namespace acp::middle::table {

/// Returns the handle of a new table, or ACP_GA_NULL.
acp_ga_t create(const char* function,
                structure::Kind kind,
                int count,
                const int* ranks,
                int num_slots,
                int rank);
/// Returns a uid for a new or swapped table; never 0.
std::uint32_t new_uid(int rank);

bool destroy(const structure::Call& call);

/// Counts the elements of all shares, in one flight, or those of the caller's
/// share.
bool size(const structure::Call& call, Extent extent, std::uint64_t& elements);

bool clear(const structure::Call& call, Extent extent);

bool swap(const structure::Call& call1, const structure::Call& call2);

}  // namespace acp::middle::table
