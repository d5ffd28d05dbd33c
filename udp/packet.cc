// Encoding, decoding and hashing of packets. Called by Endpoint, PacketGuard
// and UdpTransport. Bytes come from the network, so decoding trusts nothing
// (tests/fuzz/fuzz_udp_packet.cc).
#include "udp/packet.h"

#ifdef ACP_HAS_XXHASH_DISPATCH
#include <immintrin.h>
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <cstring>
#include <new>

#include "base/assert.h"
#include "base/little_endian.h"

namespace acp::udp {

namespace {

/// The header's layout in the packet; natural alignment leaves no gaps.
struct HeaderLayout {
  std::uint8_t version_type;
  std::uint8_t flags;
  std::uint16_t payload_bytes;
  std::uint32_t epoch;
  std::uint32_t source;
  std::uint32_t destination;
  std::uint64_t txno_grant;  ///< txno in the low 48 bits.
  std::uint32_t seq;
  std::uint32_t ack;
  std::uint64_t echo_held;  ///< echo in the low 48 bits.
};

static_assert(sizeof(HeaderLayout) == kHeaderBytes);
static_assert(offsetof(HeaderLayout, flags) == 1);
static_assert(offsetof(HeaderLayout, payload_bytes) == 2);
static_assert(offsetof(HeaderLayout, epoch) == 4);
static_assert(offsetof(HeaderLayout, source) == 8);
static_assert(offsetof(HeaderLayout, destination) == 12);
static_assert(offsetof(HeaderLayout, txno_grant) == 16);
static_assert(offsetof(HeaderLayout, seq) == 24);
static_assert(offsetof(HeaderLayout, ack) == 28);
static_assert(offsetof(HeaderLayout, echo_held) == 32);

HeaderLayout to_layout(const PacketHeader& header, std::size_t payload_bytes) {
  HeaderLayout layout{};
  layout.version_type = static_cast<std::uint8_t>(
      kPacketVersion << 4 | static_cast<unsigned>(header.type));
  layout.flags = header.flags;
  layout.payload_bytes =
      swap_unless_little(static_cast<std::uint16_t>(payload_bytes));
  layout.epoch = swap_unless_little(header.epoch);
  layout.source = swap_unless_little(header.source);
  layout.destination = swap_unless_little(header.destination);
  layout.txno_grant =
      swap_unless_little(header.txno | std::uint64_t{header.grant} << 48);
  layout.seq = swap_unless_little(header.seq);
  layout.ack = swap_unless_little(header.ack);
  layout.echo_held =
      swap_unless_little(header.echo | std::uint64_t{header.held_us} << 48);
  return layout;
}

PacketHeader from_layout(const HeaderLayout& layout) {
  const std::uint64_t txno_grant = swap_unless_little(layout.txno_grant);
  const std::uint64_t echo_held = swap_unless_little(layout.echo_held);
  PacketHeader header;
  header.type = static_cast<PacketType>(layout.version_type & 0xF);
  header.flags = layout.flags;
  header.epoch = swap_unless_little(layout.epoch);
  header.source = swap_unless_little(layout.source);
  header.destination = swap_unless_little(layout.destination);
  header.txno = txno_grant & kMaxTxno;
  header.grant = static_cast<std::uint16_t>(txno_grant >> 48);
  header.seq = swap_unless_little(layout.seq);
  header.ack = swap_unless_little(layout.ack);
  header.echo = echo_held & kMaxTxno;
  header.held_us = static_cast<std::uint16_t>(echo_held >> 48);
  return header;
}

#ifdef ACP_HAS_XXHASH_DISPATCH
__attribute__((target("avx"))) void clear_upper_halves() noexcept {
  _mm256_zeroupper();
}

/// The AVX functions of xxhash leave the upper halves of the vector registers
/// in use. Until these are cleared, all SSE code after a hash is slow: 64 puts
/// of 8 bytes took 41 us instead of 22.
void end_vector_code() noexcept {
  if (__builtin_cpu_supports("avx")) {
    clear_upper_halves();
  }
}
#else
void end_vector_code() noexcept {}
#endif

std::uint64_t hash(std::span<const std::byte> bytes) noexcept {
  const std::uint64_t value = XXH3_64bits(bytes.data(), bytes.size());
  end_vector_code();
  return value;
}

/// Only a fragment has a seq. Acks have no payload, and size probes have any.
bool is_consistent(const PacketView& packet) noexcept {
  const PacketHeader& header = packet.header;
  if (header.txno == 0 || (header.flags & ~kKnownFlags) != 0) {
    return false;
  }
  switch (header.type) {
    case PacketType::kData: return true;
    case PacketType::kAck:
    case PacketType::kProbeReply:
      return packet.payload.empty() && header.seq == 0 &&
             (header.flags & kFlagOrdered) == 0;
    case PacketType::kSizeProbe:
      return header.seq == 0 && (header.flags & kFlagOrdered) == 0;
  }
  return false;
}

}  // namespace

TailHash::TailHash() : state_(XXH3_createState()) {
  if (state_ == nullptr) {
    throw std::bad_alloc();
  }
}

TailHash::~TailHash() {
  (void)XXH3_freeState(state_);
}

std::uint64_t TailHash::operator()(std::span<const std::byte> bytes,
                                   std::span<const std::byte> tail) noexcept {
  (void)XXH3_64bits_reset(state_);
  (void)XXH3_64bits_update(state_, bytes.data(), bytes.size());
  (void)XXH3_64bits_update(state_, tail.data(), tail.size());
  const std::uint64_t value = XXH3_64bits_digest(state_);
  end_vector_code();
  return value;
}

/// The length is checked against the header's fields first; later code reads
/// the bitmap and the payload without further checks of bounds.
std::optional<PacketView> decode_packet(std::span<const std::byte> bytes) {
  if (bytes.size() < kMinPacketBytes) {
    return std::nullopt;
  }
  HeaderLayout layout{};
  std::memcpy(&layout, bytes.data(), sizeof layout);
  const bool has_sack = (layout.flags & kFlagSack) != 0;
  const std::size_t before =
      has_sack ? kMinPacketBytes + kSackBytes : kMinPacketBytes;
  if (layout.version_type >> 4 != kPacketVersion || bytes.size() < before ||
      bytes.size() - before != swap_unless_little(layout.payload_bytes)) {
    return std::nullopt;
  }
  PacketView packet;
  packet.header = from_layout(layout);
  packet.payload = bytes.subspan(before);
  if (has_sack) {
    for (std::size_t i = 0; i < packet.sack.size(); ++i) {
      packet.sack[i] =
          load_little<std::uint64_t>(bytes.data() + kMinPacketBytes + 8 * i);
    }
  }
  if (!is_consistent(packet)) {
    return std::nullopt;
  }
  return packet;
}

bool has_whole_messages(std::span<const std::byte> payload) noexcept {
  while (!payload.empty()) {
    if (payload.size() < kMessagePrefixBytes) {
      return false;
    }
    const std::size_t size = load_little<std::uint16_t>(payload.data());
    if (size > payload.size() - kMessagePrefixBytes) {
      return false;
    }
    payload = payload.subspan(kMessagePrefixBytes + size);
  }
  return true;
}

/// Writes backwards from the payload: bitmap, then header.
std::span<std::byte> encode_packet(const PacketHeader& header,
                                   const SackBitmap& sack,
                                   std::span<std::byte> payload,
                                   std::size_t tail_bytes) noexcept {
  ACP_ASSERT(header.txno >= 1 && header.txno <= kMaxTxno &&
             payload.size() + tail_bytes <= UINT16_MAX);
  std::byte* body = payload.data();
  if ((header.flags & kFlagSack) != 0) {
    body -= kSackBytes;
    for (std::size_t i = 0; i < sack.size(); ++i) {
      store_little(body + 8 * i, sack[i]);
    }
  }
  std::byte* start = body - kMinPacketBytes;
  const HeaderLayout layout = to_layout(header, payload.size() + tail_bytes);
  std::memcpy(start, &layout, sizeof layout);
  std::memset(start + kHeaderBytes, 0, kTagBytes);
  return {start, payload.data() + payload.size()};
}

std::uint64_t checksum_of(std::span<const std::byte> packet,
                          std::span<const std::byte> tail,
                          TailHash& tail_hash) noexcept {
  const auto rest = packet.subspan(kMinPacketBytes);
  std::array<std::byte, kHeaderBytes + sizeof(std::uint64_t)> input{};
  std::memcpy(input.data(), packet.data(), kHeaderBytes);
  store_little(input.data() + kHeaderBytes,
               tail.empty() ? hash(rest) : tail_hash(rest, tail));
  return hash(input);
}

std::span<const std::byte> take_message(
    std::span<const std::byte>& payload) noexcept {
  const std::size_t size = load_little<std::uint16_t>(payload.data());
  const auto message = payload.subspan(kMessagePrefixBytes, size);
  payload = payload.subspan(kMessagePrefixBytes + size);
  return message;
}

std::uint32_t epoch_of(std::span<const std::uint8_t> job_id) noexcept {
  return static_cast<std::uint32_t>(XXH3_64bits(job_id.data(), job_id.size()));
}

std::optional<std::uint64_t> extend(std::uint64_t near,
                                    std::uint32_t low) noexcept {
  const auto distance =
      static_cast<std::int32_t>(low - static_cast<std::uint32_t>(near));
  if (distance < 0 &&
      near < static_cast<std::uint64_t>(-std::int64_t{distance})) {
    return std::nullopt;
  }
  return near + static_cast<std::uint64_t>(std::int64_t{distance});
}

}  // namespace acp::udp
