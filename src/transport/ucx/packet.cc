// Encoding and decoding of packets. Called by Endpoint and UcxTransport. Bytes
// come from the network, so decoding trusts nothing.
#include "transport/ucx/packet.h"

#include "base/little_endian.h"

namespace acp::ucx {

namespace {

constexpr std::uint32_t kControlBit = std::uint32_t{1} << 31;

/// The bytes behind the first frame; nothing when that frame does not fit.
std::optional<std::span<const std::byte>> behind_frame(
    std::span<const std::byte> frames) {
  if (frames.size() < kFrameHeaderBytes) {
    return std::nullopt;
  }
  const std::size_t size =
      load_little<std::uint32_t>(frames.data()) & ~kControlBit;
  if (size > frames.size() - kFrameHeaderBytes) {
    return std::nullopt;
  }
  return frames.subspan(kFrameHeaderBytes + size);
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
  auto frames = packet.subspan(kPacketHeaderBytes);
  while (!frames.empty()) {
    const auto behind = behind_frame(frames);
    if (!behind) {
      return std::nullopt;
    }
    frames = *behind;
  }
  PacketHeader header;
  header.from = load_little<std::uint32_t>(packet.data());
  header.number = load_little<std::uint32_t>(packet.data() + 4);
  header.job = load_little<std::uint64_t>(packet.data() + 8);
  return header;
}

void encode_frame_header(FrameKind kind, std::size_t size, std::byte* bytes) {
  const auto word = static_cast<std::uint32_t>(size);
  store_little(bytes, kind == FrameKind::kControl ? word | kControlBit : word);
}

bool for_each_frame(
    std::span<const std::byte> packet,
    const std::function<bool(FrameKind, std::span<const std::byte>)>& take) {
  auto frames = packet.subspan(kPacketHeaderBytes);
  while (!frames.empty()) {
    const auto word = load_little<std::uint32_t>(frames.data());
    const auto behind = behind_frame(frames);
    const auto frame = frames.subspan(
        kFrameHeaderBytes, frames.size() - kFrameHeaderBytes - behind->size());
    const FrameKind kind =
        (word & kControlBit) != 0 ? FrameKind::kControl : FrameKind::kMessage;
    if (!take(kind, frame)) {
      return false;
    }
    frames = *behind;
  }
  return true;
}

}  // namespace acp::ucx
