// Carries address cards and published records between host segments. acprun and
// its daemons call it, and the first rank of a host under another launcher. A
// table comes from another host, so no part of it may be written before all of
// it has been checked.
#include "protocol/published_table.h"

#include <algorithm>

#include "protocol/byte_codec.h"

namespace acp::protocol {

namespace {

/// An entry: the number of the process, its record, and its address card with
/// the length before it.
struct Entry {
  std::uint32_t proc = 0;
  PublishedRecord::Values values;
  std::string_view card;  ///< A part of the table.
};

Entry read_entry(ByteReader& reader) {
  Entry entry;
  entry.proc = reader.number<std::uint32_t>();
  entry.values = reader.number<PublishedRecord::Values>();
  entry.card = reader.text();
  return entry;
}

}  // namespace

bool has_table(Phase phase) noexcept {
  return phase != Phase::kFinalize;
}

std::string make_table(const HostSegment& segment,
                       std::span<const std::uint32_t> procs,
                       Phase phase) {
  const bool has_cards =
      phase == Phase::kInit && segment.header().card_table == CardTable::kOfJob;
  ByteWriter writer;
  for (const std::uint32_t proc : procs) {
    writer.number(proc);
    writer.number(segment.published(proc).get());
    const auto card = has_cards ? used_part(segment.card(proc))
                                : std::span<const std::byte>{};
    writer.text({reinterpret_cast<const char*>(card.data()), card.size()});
  }
  return writer.take();
}

bool is_table(std::string_view bytes,
              std::uint32_t procs,
              std::uint64_t card_bytes) {
  ByteReader reader(bytes);
  while (!reader.is_at_end()) {
    const Entry entry = read_entry(reader);
    if (!reader.is_good() || entry.proc >= procs ||
        entry.card.size() > card_bytes) {
      return false;
    }
  }
  return true;
}

bool write_table(const HostSegment& segment, std::string_view bytes) {
  const HostHeader& header = segment.header();
  if (!is_table(bytes, header.procs, header.card_bytes)) return false;
  ByteReader reader(bytes);
  while (!reader.is_at_end()) {
    const Entry entry = read_entry(reader);
    if (segment.slot_of_proc(entry.proc) != kNoSlot) continue;
    segment.published(entry.proc).set(entry.values);
    if (segment.has_card(entry.proc)) {
      std::ranges::copy(std::as_bytes(std::span(entry.card)),
                        segment.card(entry.proc).begin());
    }
  }
  return true;
}

}  // namespace acp::protocol
