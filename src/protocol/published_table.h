// A table of the data that processes publish to all processes, between hosts:
// address cards, without zeros at the end, and published records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/bootstrap.h"
#include "protocol/host_segment.h"

namespace acp::protocol {

struct PublishedEntry {
  std::uint32_t proc = 0;
  PublishedRecord::Values values;
  std::string card;  ///< "" in phases other than kInit.
};

/// Plain value.
using PublishedTable = std::vector<PublishedEntry>;

/// Whether arrivals at this phase carry a table.
bool has_table(Phase phase) noexcept;
/// Whether the table of this phase has address cards.
bool has_cards(Phase phase) noexcept;

/// Reads the entries of these processes, after they have arrived at `phase`.
PublishedTable read_table(const HostSegment& segment,
                          std::span<const std::uint32_t> procs,
                          Phase phase);

/// Writes the entries of processes on other hosts into the segment.
void write_table(const HostSegment& segment, const PublishedTable& table);

std::string encode_table(const PublishedTable& table);

/// nullopt: bytes that no acprun of this version would send, for a job of so
/// many processes whose address cards have up to `card_bytes`.
std::optional<PublishedTable> decode_table(std::string_view bytes,
                                           std::uint32_t procs,
                                           std::uint64_t card_bytes);

}  // namespace acp::protocol
