// A table of the data that processes publish to all processes, between hosts:
// address cards, without zeros at the end, and published records. A table is a
// string of entries. So the table of many hosts is the tables of each, one
// after the other, and may travel in pieces. No table is ever in memory as
// values: with a million processes they would take more than the host segment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/bootstrap.h"
#include "protocol/host_segment.h"

namespace acp::protocol {

/// Whether arrivals at this phase carry a table.
bool has_table(Phase phase) noexcept;

/// Returns the table of these processes, after they have arrived at `phase`. It
/// has address cards in kInit only, and with CardTable::kOfJob.
std::string make_table(const HostSegment& segment,
                       std::span<const std::uint32_t> procs,
                       Phase phase);

/// Whether a process of this version may send the bytes, in a job of so many
/// processes whose address cards have up to `card_bytes`.
bool is_table(std::string_view bytes,
              std::uint32_t procs,
              std::uint64_t card_bytes);

/// Writes the entries of processes on other hosts into the segment. False: the
/// bytes are no table, and nothing has been written.
[[nodiscard]] bool write_table(const HostSegment& segment,
                               std::string_view bytes);

}  // namespace acp::protocol
