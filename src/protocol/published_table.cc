// Carries address cards and published records between host segments. acprun and
// its agents call it, and the first rank of a host under another launcher.
#include "protocol/published_table.h"

#include <algorithm>

#include "protocol/byte_codec.h"

namespace acp::protocol {

bool has_table(Phase phase) noexcept {
  return phase == Phase::kInit || phase == Phase::kCollective;
}

bool has_cards(Phase phase) noexcept {
  return phase == Phase::kInit;
}

PublishedTable read_table(const HostSegment& segment,
                          std::span<const std::uint32_t> procs,
                          Phase phase) {
  PublishedTable table;
  table.reserve(procs.size());
  for (const std::uint32_t proc : procs) {
    PublishedEntry entry{proc, segment.published(proc).get(), {}};
    if (has_cards(phase)) {
      const auto card = used_part(segment.card(proc));
      entry.card.assign(reinterpret_cast<const char*>(card.data()),
                        card.size());
    }
    table.push_back(std::move(entry));
  }
  return table;
}

void write_table(const HostSegment& segment, const PublishedTable& table) {
  for (const PublishedEntry& entry : table) {
    if (segment.slot_of_proc(entry.proc) != kNoSlot) continue;
    segment.published(entry.proc).set(entry.values);
    std::ranges::copy(std::as_bytes(std::span(entry.card)),
                      segment.card(entry.proc).begin());
  }
}

std::string encode_table(const PublishedTable& table) {
  ByteWriter writer;
  writer.number(static_cast<std::uint32_t>(table.size()));
  for (const PublishedEntry& entry : table) {
    writer.number(entry.proc);
    writer.number(entry.values);
    writer.text(entry.card);
  }
  return writer.take();
}

std::optional<PublishedTable> decode_table(std::string_view bytes,
                                           std::uint32_t procs,
                                           std::uint64_t card_bytes) {
  ByteReader reader(bytes);
  PublishedTable table(reader.count());
  for (PublishedEntry& entry : table) {
    entry.proc = reader.number<std::uint32_t>();
    entry.values = reader.number<PublishedRecord::Values>();
    entry.card = reader.text();
    if (entry.proc >= procs || entry.card.size() > card_bytes) {
      return std::nullopt;
    }
  }
  if (!reader.is_at_end()) return std::nullopt;
  return table;
}

}  // namespace acp::protocol
