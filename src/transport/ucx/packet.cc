// Encoding and decoding of packets. Called by Endpoint and UcxTransport. Bytes
// come from the network, so decoding trusts nothing.
#include "transport/ucx/packet.h"

#include "base/little_endian.h"

namespace acp::ucx {

namespace {

constexpr std::uint32_t kControlBit = std::uint32_t{1} << 31;

/// The bytes behind the first row; nothing when that row does not fit.
std::optional<std::span<const std::byte>> behind_row(
    std::span<const std::byte> rows) {
  if (rows.size() < kRowHeaderBytes) {
    return std::nullopt;
  }
  const std::size_t size =
      load_little<std::uint32_t>(rows.data()) & ~kControlBit;
  if (size > rows.size() - kRowHeaderBytes) {
    return std::nullopt;
  }
  return rows.subspan(kRowHeaderBytes + size);
}

}  // namespace

void encode_packet_header(const PacketHeader& header, std::byte* bytes) {
  store_little(bytes, header.from);
  store_little(bytes + 4, header.number);
  store_little(bytes + 8, header.job);
}

std::optional<PacketHeader> decode_packet(std::span<const std::byte> packet) {
  if (packet.size() < kPacketHeaderBytes || packet.size() > kPacketBytes) {
    return std::nullopt;
  }
  auto rows = packet.subspan(kPacketHeaderBytes);
  while (!rows.empty()) {
    const auto behind = behind_row(rows);
    if (!behind) {
      return std::nullopt;
    }
    rows = *behind;
  }
  PacketHeader header;
  header.from = load_little<std::uint32_t>(packet.data());
  header.number = load_little<std::uint32_t>(packet.data() + 4);
  header.job = load_little<std::uint64_t>(packet.data() + 8);
  return header;
}

void encode_row_header(RowKind kind, std::size_t size, std::byte* bytes) {
  const auto word = static_cast<std::uint32_t>(size);
  store_little(bytes, kind == RowKind::kControl ? word | kControlBit : word);
}

bool for_each_row(
    std::span<const std::byte> packet,
    const std::function<bool(RowKind, std::span<const std::byte>)>& take) {
  auto rows = packet.subspan(kPacketHeaderBytes);
  while (!rows.empty()) {
    const auto word = load_little<std::uint32_t>(rows.data());
    const auto behind = behind_row(rows);
    const auto row = rows.subspan(
        kRowHeaderBytes, rows.size() - kRowHeaderBytes - behind->size());
    const RowKind kind =
        (word & kControlBit) != 0 ? RowKind::kControl : RowKind::kMessage;
    if (!take(kind, row)) {
      return false;
    }
    rows = *behind;
  }
  return true;
}

}  // namespace acp::ucx
