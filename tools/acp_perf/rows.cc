// Collects the rows of all files in the table's order, and has the helpers that
// several files of rows share. Called by main.cc and by those files. It
// measures nothing.
#include "rows.h"

#include <algorithm>
#include <atomic>

namespace acp::perf {

bool Context::is_row_over() const {
  std::atomic_ref<std::uint64_t> stop(*memory.own_word(Word::kStop));
  return stop.load(std::memory_order_acquire) >= row;  // rank 0's put_word
}

Outcome expect(bool ok, std::string_view text) {
  Outcome outcome;
  if (!ok) outcome.failure = text;
  return outcome;
}

/// A row must come after the row that it is compared with, since select_rows
/// goes through the rows backwards.
Rows all_rows() {
  Rows rows;
  add_raw_cpu_rows(rows);
  add_raw_pair_rows(rows);
  add_raw_udp_rows(rows);
  add_raw_udp_pattern_rows(rows);
#ifdef ACP_HAS_VERBS
  add_raw_rdma_rows(rows);
#endif
#ifdef ACP_HAS_UCX
  add_raw_ucp_rows(rows);
#endif
  add_raw_cma_rows(rows);
  add_access_rows(rows);
  add_atomic_rows(rows);
  add_inline_rows(rows);
  add_bandwidth_rows(rows);
  add_signal_rows(rows);
  add_chain_rows(rows);
  add_remote_copy_rows(rows);
  add_registered_rows(rows);
  add_thread_rows(rows);
  add_sync_rows(rows);
  add_heap_rows(rows);
  add_channel_rows(rows);
  add_structure_rows(rows);
  add_contended_rows(rows);
  return rows;
}

std::string size_name(std::uint64_t bytes) {
  for (const auto& [bits, suffix] : {std::pair{20, "M"}, std::pair{10, "K"}}) {
    if (bytes >= std::uint64_t{1} << bits && bytes % (1U << bits) == 0) {
      return std::to_string(bytes >> bits) + suffix;
    }
  }
  return std::to_string(bytes);
}

std::uint64_t window_of(std::uint64_t bytes) {
  return std::clamp<std::uint64_t>((std::uint64_t{1} << 20) / bytes, 2, 64);
}

}  // namespace acp::perf
