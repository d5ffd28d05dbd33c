// The groups of rows, each from a file of its own, in the table's order.
#pragma once

#include "row.h"

namespace acp::perf {

void add_raw_cpu_rows(Rows& rows);
void add_raw_pair_rows(Rows& rows);
void add_raw_udp_rows(Rows& rows);
void add_raw_udp_pattern_rows(Rows& rows);
#ifdef ACP_HAS_VERBS
void add_raw_rdma_rows(Rows& rows);
#endif
#ifdef ACP_HAS_UCX
void add_raw_ucp_rows(Rows& rows);
#endif
void add_raw_cma_rows(Rows& rows);
void add_access_rows(Rows& rows);
void add_atomic_rows(Rows& rows);
void add_inline_rows(Rows& rows);
void add_bandwidth_rows(Rows& rows);
void add_signal_rows(Rows& rows);
void add_chain_rows(Rows& rows);
void add_remote_copy_rows(Rows& rows);
void add_registered_rows(Rows& rows);
void add_thread_rows(Rows& rows);
void add_sync_rows(Rows& rows);
void add_heap_rows(Rows& rows);
void add_channel_rows(Rows& rows);
void add_structure_rows(Rows& rows);
void add_contended_rows(Rows& rows);

enum class Way : std::uint8_t { kPut, kGet };

/// Rows that the table has in some sizes, and --sweep in all.
Row memmove_row(std::uint64_t bytes);
Row bandwidth_row(Way way, std::uint64_t bytes);
Row channel_round_trip_row(std::uint64_t bytes);
Row channel_stream_row(std::uint64_t bytes);

/// All groups, in the table's order.
Rows all_rows();

/// The rows of --sweep: put, get and channel in sizes from `least` to `most`,
/// each twice as large as the one before, and atomics in windows of 1 to 64.
/// Precondition: least <= most <= kBufferBytes.
Rows sweep_rows(std::uint64_t least, std::uint64_t most);

/// "4K", "1M": how sizes appear in names.
std::string size_name(std::uint64_t bytes);

/// Sizes of the bandwidth rows, both of memmove and of acp_copy.
inline constexpr std::uint64_t kBandwidthSizes[] = {4096, 65536, 1 << 20,
                                                    8 << 20};

/// Number of copies of this size in flight: enough to keep a network busy, few
/// enough for a short batch.
std::uint64_t window_of(std::uint64_t bytes);

}  // namespace acp::perf
