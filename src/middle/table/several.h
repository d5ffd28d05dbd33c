// Several elements of a map in one call, and counting: the extensions for maps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/table/table.h"

namespace acp::middle::table {

/// Insert or find `count` elements, many of them in flight at a time.
/// `outcomes` and `found` have `count` items. False: one failed; inserts go on
/// with the others.
bool insert_many(const structure::Call& call,
                 const acp_pair_t* pairs,
                 std::size_t count,
                 Outcome* outcomes);
bool find_many(const structure::Call& call,
               const acp_element_t* keys,
               std::size_t count,
               Found* found);

// The bodies of acpx_insert_map_n, acpx_find_map_n and acpx_upsert_add8_map.
int insert_all(const structure::Call& call,
               const acp_pair_t* pairs,
               std::size_t count,
               int* results);
int find_all(const structure::Call& call,
             const acp_element_t* keys,
             std::size_t count,
             acp_pair_t* pairs);
int upsert(const structure::Call& call,
           acp_element_t key,
           std::uint64_t add,
           std::uint64_t* old);

}  // namespace acp::middle::table
