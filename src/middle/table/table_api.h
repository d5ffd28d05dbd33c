// The public functions that sets and maps share, written once for both: each
// checks the handle, calls, and translates iterators. set_api.cc and map_api.cc
// give them their C names.
#pragma once

#include "middle/structure/control.h"
#include "middle/table/copies.h"
#include "middle/table/table.h"
#include "middle/table/walk.h"
#include "middle/table/whole_tables.h"

namespace acp::middle::table {

/// `Handle` and `It` are the types of acp/set.h or acp/map.h. `kTable` is the
/// member of It that has the handle.
template <typename Handle,
          typename It,
          Handle It::*kTable,
          structure::Kind kKind>
class TableApi {
 public:
  using Call = structure::Call;

  static Handle create(const char* function,
                       int count,
                       const int* ranks,
                       int num_slots,
                       int rank) {
    const acp_ga_t ga =
        table::create(function, kKind, count, ranks, num_slots, rank);
    if (ga == ACP_GA_NULL) {
      return {};
    }
    return {ga, static_cast<std::uint64_t>(count),
            static_cast<std::uint64_t>(num_slots)};
  }

  static void destroy(const char* function, Handle handle) {
    Call call;
    if (begin(call, function, handle)) {
      table::destroy(call);
    }
  }

  static void clear(const char* function, Handle handle, Extent extent) {
    Call call;
    if (begin(call, function, handle)) {
      table::clear(call, extent);
    }
  }

  static std::uint64_t size(const char* function,
                            Handle handle,
                            Extent extent) {
    Call call;
    std::uint64_t elements = 0;
    return begin(call, function, handle) && table::size(call, extent, elements)
               ? elements
               : 0;
  }

  static void copy_elements(const char* function,
                            Handle to,
                            Handle from,
                            Extent extent,
                            CopyMode how) {
    Call call1;
    Call call2;
    std::uint64_t unused = 0;
    if (!begin(call1, function, to) || !begin(call2, function, from)) {
      return;
    }
    if (to.ga == from.ga) {
      // only checks that the table exists
      table::size(call1, Extent::kAll, unused);
    } else {
      table::copy_elements(call1, call2, extent, how);
    }
  }

  static void swap(const char* function, Handle one, Handle two) {
    Call call1;
    Call call2;
    std::uint64_t unused = 0;
    if (!begin(call1, function, one) || !begin(call2, function, two)) {
      return;
    }
    if (one.ga == two.ga) {
      table::size(call1, Extent::kAll, unused);
    } else {
      table::swap(call1, call2);
    }
  }

  static It first(const char* function, Handle handle, Extent extent) {
    Call call;
    if (!begin(call, function, handle)) {
      return end(handle, extent);
    }
    Walk walk(call, extent);
    if (!walk.begin() || !walk.next()) {
      return end(handle, extent);
    }
    return it_of(handle, Position::of(extent, walk.found()));
  }

  static It next(const char* function, It it) {
    Call call;
    const Position position = position_of(it);
    if (!begin(call, function, it.*kTable) || position.entry == ACP_GA_NULL) {
      return end(it.*kTable, position.extent);
    }
    Walk walk(call, position.extent);
    if (!walk.begin_at(position) || !walk.next()) {
      return end(it.*kTable, position.extent);
    }
    return it_of(it.*kTable, Position::of(position.extent, walk.found()));
  }

  static It end(Handle handle, Extent extent) {
    Position position;
    position.extent = extent;
    return it_of(handle, position);
  }

  static acp_pair_t dereference(const char* function, It it) {
    Call call;
    acp_pair_t pair{};
    const Position position = position_of(it);
    if (!begin(call, function, it.*kTable)) {
      return {};
    }
    if (position.entry == ACP_GA_NULL) {
      structure::fail_text(call, ACPX_BAD_ADDRESS,
                           "the iterator is the end, which has no element");
      return {};
    }
    return table::dereference(call, position, pair) ? pair : acp_pair_t{};
  }

  static It find(const char* function, Handle handle, acp_element_t key) {
    Call call;
    Found found;
    if (!begin(call, function, handle) || !table::find(call, key, found)) {
      return end(handle, Extent::kAll);
    }
    return it_of(handle, Position::of(Extent::kAll, found));
  }

  static Outcome insert(const char* function,
                        Handle handle,
                        acp_element_t key,
                        acp_element_t value) {
    Call call;
    return begin(call, function, handle)
               ? table::insert(call, key, value, Present::kKeep)
               : Outcome::kFailed;
  }

  static void remove(const char* function, Handle handle, acp_element_t key) {
    Call call;
    if (begin(call, function, handle)) {
      table::remove(call, key);
    }
  }

  static bool begin(Call& call, const char* function, Handle handle) {
    return structure::begin_call(call, function, kKind, handle.ga);
  }

  /// An iterator over the caller's own elements has the complement of the
  /// bucket index in its slot.
  static It it_of(Handle handle, const Position& position) {
    It it{};
    it.*kTable = handle;
    it.rank = position.rank;
    const int slot = static_cast<int>(position.bucket_index);
    it.slot = position.extent == Extent::kAll ? slot : ~slot;
    it.elem = position.entry;
    return it;
  }

  static Position position_of(const It& it) {
    Position position;
    position.extent = it.slot < 0 ? Extent::kLocal : Extent::kAll;
    position.rank = it.rank;
    position.bucket_index =
        static_cast<std::uint64_t>(it.slot < 0 ? ~it.slot : it.slot);
    position.entry = it.elem;
    return position;
  }
};

}  // namespace acp::middle::table
