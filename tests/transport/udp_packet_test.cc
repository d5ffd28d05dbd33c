// The layout of udp packets, and the packets that decoding refuses.
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "udp/packet.h"
#include "udp/packet_guard.h"

namespace acp::udp {

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

PacketHeader sample_header() {
  PacketHeader header;
  header.type = PacketType::kData;
  header.flags = kFlagOrdered | kFlagAckRequest;
  header.epoch = 0x04030201;
  header.source = 0x14131211;
  header.destination = 0x24232221;
  header.txno = 0x363534333231;
  header.seq = 0x44434241;
  header.ack = 0x54535251;
  header.echo = 0x666564636261;
  header.held_us = 0x7271;
  header.grant = 0x3738;
  return header;
}

constexpr SackBitmap kSampleSack = {0x0807060504030201, 0, 0,
                                    0x8000000000000000};

/// Two messages: "AB" and an empty one.
const Bytes kSamplePayload = bytes_of({2, 0, 'A', 'B', 0, 0});

Bytes encode(const PacketHeader& header, const Bytes& payload) {
  Bytes storage(kHeadroomBytes);
  storage.insert(storage.end(), payload.begin(), payload.end());
  PacketGuard guard(Security::kOff, {}, 1);
  const Datagram packet =
      guard.seal(Cipher::kChecksum, 0, header,
                 encode_packet(header, kSampleSack,
                               std::span(storage).subspan(kHeadroomBytes)),
                 {});
  return {packet.head.begin(), packet.head.end()};
}

/// `header` is the header of the packet in `bytes`.
bool has_valid_tag(const PacketHeader& header, Bytes bytes) {
  PacketGuard guard(Security::kOff, {}, 1);
  return guard.open(Cipher::kChecksum, 0, header, bytes);
}

bool is_accepted(const Bytes& bytes) {
  const auto packet = decode_packet(bytes);
  return packet.has_value() && has_valid_tag(packet->header, bytes) &&
         has_whole_messages(packet->payload);
}

}  // namespace

TEST_CASE("udp packet: the layout is what the table says", "[udp][packet]") {
  const Bytes packet = encode(sample_header(), kSamplePayload);
  const Bytes expected = bytes_of({
      0x21, 3,    6,    0,     // version, type, flags, length
      0x01, 0x02, 0x03, 0x04,  // epoch
      0x11, 0x12, 0x13, 0x14,  // source
      0x21, 0x22, 0x23, 0x24,  // destination
      0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x38, 0x37,  // txno, grant
      0x41, 0x42, 0x43, 0x44,                          // seq
      0x51, 0x52, 0x53, 0x54,                          // ack
      0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x71, 0x72,  // echo, held
      0x0a, 0xee, 0x07, 0xcf, 0xb2, 0x48, 0x61, 0x26,  // XXH3-64
      0,    0,    0,    0,    0,    0,    0,    0,     // rest of the tag
      2,    0,    'A',  'B',  0,    0,                 // payload
  });
  CHECK(packet == expected);
}

TEST_CASE("udp packet: the tag is the hash of header and hash of the rest",
          "[udp][packet]") {
  const Bytes packet = encode(sample_header(), kSamplePayload);
  Bytes input(packet.begin(), packet.begin() + 40);
  input.resize(48);
  const XXH64_hash_t rest = XXH3_64bits(packet.data() + 56, 6);
  std::memcpy(input.data() + 40, &rest, 8);
  const XXH64_hash_t tag = XXH3_64bits(input.data(), input.size());
  CHECK(std::memcmp(packet.data() + 40, &tag, 8) == 0);
}

TEST_CASE("udp packet: a bitmap lies between tag and payload",
          "[udp][packet]") {
  PacketHeader header = sample_header();
  header.flags |= kFlagSack;
  const Bytes packet = encode(header, kSamplePayload);
  REQUIRE(packet.size() ==
          kMinPacketBytes + kSackBytes + kSamplePayload.size());
  CHECK(packet[56] == std::byte{1});
  CHECK(packet[63] == std::byte{8});
  CHECK(packet[87] == std::byte{0x80});
  CHECK(std::equal(kSamplePayload.begin(), kSamplePayload.end(),
                   packet.begin() + 88));
}

// The payload is divided at many places. The sealed packet has to be equal to
// the one with the whole payload, its tag included.
TEST_CASE("udp packet: a tail counts as if it lay behind the payload",
          "[udp][packet]") {
  Bytes payload(50'000);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    payload[i] = static_cast<std::byte>(i * 7);
  }
  PacketGuard guard(Security::kOff, {}, 1);
  for (const std::uint8_t flags : {std::uint8_t{0}, kFlagSack}) {
    PacketHeader header = sample_header();
    header.flags = flags;
    const Bytes whole = encode(header, payload);
    for (const std::size_t cut : {1, 100, 256, 257, 4096, 49'999}) {
      Bytes storage(kHeadroomBytes);
      storage.insert(storage.end(), payload.begin(),
                     payload.begin() + static_cast<std::ptrdiff_t>(cut));
      const auto tail = std::span<const std::byte>(payload).subspan(cut);
      const Datagram sealed =
          guard.seal(Cipher::kChecksum, 0, header,
                     encode_packet(header, kSampleSack,
                                   std::span(storage).subspan(kHeadroomBytes),
                                   tail.size()),
                     tail);
      Bytes joined(sealed.head.begin(), sealed.head.end());
      joined.insert(joined.end(), tail.begin(), tail.end());
      CHECK(joined == whole);
    }
  }
}

TEST_CASE("udp packet: what was encoded is decoded", "[udp][packet]") {
  for (const unsigned flags : {0U, 1U, 2U, 4U, 7U}) {
    PacketHeader header = sample_header();
    header.flags = static_cast<std::uint8_t>(flags);
    const Bytes bytes = encode(header, kSamplePayload);
    const auto packet = decode_packet(bytes);
    REQUIRE(packet.has_value());
    CHECK(has_valid_tag(packet->header, bytes));
    CHECK(packet->header == header);
    CHECK((packet->sack == kSampleSack) == ((flags & kFlagSack) != 0));
    auto rest = packet->payload;
    CHECK(take_message(rest).size() == 2);
    CHECK(take_message(rest).empty());
    CHECK(rest.empty());
  }
}

TEST_CASE("udp packet: a pure ack has no payload and no seq", "[udp][packet]") {
  PacketHeader header = sample_header();
  header.type = PacketType::kAck;
  header.flags = kFlagSack;
  header.seq = 0;
  CHECK(is_accepted(encode(header, {})));
  CHECK_FALSE(is_accepted(encode(header, kSamplePayload)));
  header.seq = 1;
  CHECK_FALSE(is_accepted(encode(header, {})));
}

TEST_CASE("udp packet: a size probe has any payload, and its reply has none",
          "[udp][packet]") {
  const Bytes odd = bytes_of({0, 0, 1});  // no whole number of messages
  PacketHeader header = sample_header();
  header.type = PacketType::kSizeProbe;
  header.flags = kFlagSack;
  header.seq = 0;
  CHECK(decode_packet(encode(header, odd)).has_value());
  header.seq = 1;
  CHECK_FALSE(decode_packet(encode(header, odd)).has_value());
  header.seq = 0;
  header.flags = kFlagOrdered;
  CHECK_FALSE(decode_packet(encode(header, odd)).has_value());
  header.flags = 0;
  header.type = PacketType::kProbeReply;
  CHECK(decode_packet(encode(header, {})).has_value());
  CHECK_FALSE(decode_packet(encode(header, odd)).has_value());
}

TEST_CASE("udp packet: every truncation and every longer one is refused",
          "[udp][packet]") {
  for (const std::uint8_t flags : {std::uint8_t{0}, kFlagSack}) {
    PacketHeader header = sample_header();
    header.flags = flags;
    Bytes good = encode(header, kSamplePayload);
    for (std::size_t size = 0; size < good.size(); ++size) {
      CHECK_FALSE(decode_packet(std::span(good).first(size)).has_value());
    }
    good.push_back(std::byte{0});
    CHECK_FALSE(decode_packet(good).has_value());
  }
}

TEST_CASE("udp packet: every damaged bit is noticed", "[udp][packet]") {
  for (const std::uint8_t flags : {std::uint8_t{0}, kFlagSack}) {
    PacketHeader header = sample_header();
    header.flags = flags;
    const Bytes good = encode(header, kSamplePayload);
    REQUIRE(is_accepted(good));
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      INFO("bit " << bit);
      CHECK_FALSE(is_accepted(bad));
    }
  }
}

TEST_CASE("udp packet: a probe is a fragment without messages",
          "[udp][packet]") {
  CHECK(is_accepted(encode(sample_header(), {})));
}

// The decoder refuses these packets by what they say. Their tags are not looked
// at before.
TEST_CASE("udp packet: what no peer would send is refused", "[udp][packet]") {
  PacketHeader header = sample_header();
  SECTION("unknown type") {
    header.type = static_cast<PacketType>(5);
    CHECK_FALSE(is_accepted(encode(header, kSamplePayload)));
  }
  SECTION("unknown flag") {
    header.flags = 8;
    CHECK_FALSE(is_accepted(encode(header, kSamplePayload)));
  }
  SECTION("a message longer than the payload") {
    CHECK_FALSE(is_accepted(encode(header, bytes_of({2, 0, 'A'}))));
  }
  SECTION("half a message prefix") {
    CHECK_FALSE(is_accepted(encode(header, bytes_of({0, 0, 1}))));
  }
  SECTION("transmission number 0") {
    Bytes packet = encode(header, kSamplePayload);
    std::fill_n(packet.begin() + 16, 6, std::byte{0});
    CHECK_FALSE(decode_packet(packet).has_value());
  }
}

TEST_CASE("udp packet: truncated numbers extend to the nearest",
          "[udp][packet]") {
  CHECK(extend(0, 0) == 0);
  CHECK(extend(0, 255) == 255);
  CHECK(extend(0, 0xFFFFFFFF) == std::nullopt);
  CHECK(extend(5, 3) == 3);
  CHECK(extend(0xFFFFFFF0, 0x10) == 0x100000010);
  CHECK(extend(0x100000010, 0xFFFFFFF0) == 0xFFFFFFF0);
  CHECK(extend(0x7'00000000, 0x1) == 0x7'00000001);
}

TEST_CASE("udp packet: jobs have different epochs", "[udp][packet]") {
  const std::array<std::uint8_t, 16> one = {1};
  const std::array<std::uint8_t, 16> two = {2};
  CHECK(epoch_of(one) == epoch_of(one));
  CHECK(epoch_of(one) != epoch_of(two));
}

}  // namespace acp::udp
