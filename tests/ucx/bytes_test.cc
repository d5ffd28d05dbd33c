// Tests of the bytes that the UCX transport exchanges: packets and address
// cards, right ones and damaged ones.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "transport/ucx/address_card.h"
#include "transport/ucx/packet.h"

namespace acp::ucx {

namespace {

using Bytes = std::vector<std::byte>;

/// A packet with these frames.
Bytes packet_of(const std::vector<std::pair<FrameKind, std::string>>& frames) {
  Bytes packet(kPacketHeaderBytes);
  encode_packet_header({.from = 3, .number = 9, .job = 77}, packet.data());
  for (const auto& [kind, text] : frames) {
    std::byte header[kFrameHeaderBytes];
    encode_frame_header(kind, text.size(), header);
    packet.insert(packet.end(), header, header + kFrameHeaderBytes);
    for (const char letter : text) {
      packet.push_back(static_cast<std::byte>(letter));
    }
  }
  return packet;
}

AddressCard address_card() {
  return {.atomics = Executor::kDevice,
          .api = 1 << 16 | 13,
          .tls = "tcp,self",
          .host = "node7",
          .addresses = {{Bytes(100, std::byte{1}), Bytes(30, std::byte{3})},
                        {Bytes(20, std::byte{2}), {}}}};
}

}  // namespace

// An empty frame stands between two others. The second walk stops where the
// callback says so.
TEST_CASE("ucx packet: frames come out as they went in", "[ucx][bytes]") {
  const Bytes packet = packet_of({{FrameKind::kMessage, "first"},
                                  {FrameKind::kControl, ""},
                                  {FrameKind::kMessage, "third frame"}});
  const auto header = decode_packet(packet);
  REQUIRE(header.has_value());
  CHECK(*header == PacketHeader{.from = 3, .number = 9, .job = 77});
  std::vector<std::pair<FrameKind, std::size_t>> seen;
  CHECK(for_each_frame(packet,
                       [&](FrameKind kind, std::span<const std::byte> frame) {
                         seen.emplace_back(kind, frame.size());
                         return true;
                       }));
  CHECK(seen == std::vector<std::pair<FrameKind, std::size_t>>{
                    {FrameKind::kMessage, 5},
                    {FrameKind::kControl, 0},
                    {FrameKind::kMessage, 11}});
  int frames = 0;
  CHECK_FALSE(for_each_frame(
      packet,
      [&](FrameKind, std::span<const std::byte>) { return ++frames < 2; }));
  CHECK(frames == 2);
}

TEST_CASE("ucx packet: one that is truncated or too large is refused",
          "[ucx][bytes]") {
  const Bytes packet = packet_of(
      {{FrameKind::kMessage, "first"}, {FrameKind::kMessage, "second"}});
  const std::size_t first = kPacketHeaderBytes + kFrameHeaderBytes + 5;
  for (std::size_t size = 0; size < packet.size(); ++size) {
    INFO(size);
    const bool is_whole = size == kPacketHeaderBytes || size == first;
    CHECK(decode_packet(std::span(packet).first(size)).has_value() == is_whole);
  }
  CHECK_FALSE(decode_packet(Bytes(kPacketBytes + 1)).has_value());
}

TEST_CASE("ucx address card: comes out as it went in", "[ucx][bytes]") {
  CHECK(decode_card(encode_card(address_card())) == address_card());
  AddressCard plain = address_card();
  plain.tls.clear();
  plain.addresses.resize(1);
  Bytes bytes = encode_card(plain);
  bytes.resize(protocol::kCardBytes);  // The host segment has it so.
  CHECK(decode_card(bytes) == plain);
  AddressCard wordy = address_card();
  wordy.tls = std::string(kMaxText + 1, 'x');
  wordy.host = std::string(kMaxHostName + 1, 'y');
  const auto cut = decode_card(encode_card(wordy));
  CHECK(cut->tls == std::string(kMaxText, 'x'));
  CHECK(cut->host == std::string(kMaxHostName, 'y'));
  CHECK(cut->addresses == wordy.addresses);
}

TEST_CASE("ucx address card: damaged ones are refused", "[ucx][bytes]") {
  const Bytes good = encode_card(address_card());
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size);
    CHECK_FALSE(decode_card(std::span(good).first(size)).has_value());
  }
  CHECK_FALSE(decode_card(Bytes(protocol::kCardBytes)).has_value());
  for (const auto& [at, value] :
       {std::pair{0, 0}, std::pair{4, 9}, std::pair{5, 0}, std::pair{5, 9},
        std::pair{6, 2}, std::pair{7, 251}, std::pair{12, 65}}) {
    INFO(at << " " << value);
    Bytes damaged = good;
    damaged[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    CHECK_FALSE(decode_card(damaged).has_value());
  }
}

}  // namespace acp::ucx
