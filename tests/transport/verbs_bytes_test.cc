// Bytes that the verbs transport reads from other processes: address cards,
// hellos, packets.
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "verbs/address_card.h"
#include "verbs/credit.h"
#include "verbs/find_ports.h"
#include "verbs/hello.h"
#include "verbs/packet.h"

namespace acp::verbs {

namespace {

using Bytes = std::vector<std::byte>;

AddressCard sample_card() {
  AddressCard card;
  card.colors = 2;
  card.packet_bytes = kPacketBytes;
  card.atomics = Executor::kDevice;
  card.listen_addresses[0] = *transport::parse_address("10.77.0.1");
  card.listen_addresses[0].port = 0x1234;
  card.listen_addresses[1] = *transport::parse_address("2001:db8::7");
  card.listen_addresses[1].port = 7;
  return card;
}

Hello sample_hello() {
  Hello hello;
  hello.source = 3;
  hello.destination = 1'000'000;
  hello.color = 5;
  hello.packet_bytes = kPacketBytes;
  hello.window = kWindow;
  hello.pair = PairKind::kGrown;
  for (std::size_t i = 0; i < hello.job.size(); ++i) {
    hello.job[i] = static_cast<std::uint8_t>(200 + i);
  }
  return hello;
}

std::size_t append(Bytes& packet, std::size_t used, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  const std::vector<std::span<const std::byte>> parts = {
      bytes.first(bytes.size() / 2), {}, bytes.subspan(bytes.size() / 2)};
  return append_frame(packet, used, parts, bytes.size(), FrameKind::kMessage);
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("verbs card: survives encoding, whatever follows it",
          "[verbs][card]") {
  std::array<std::byte, kMaxCardBytes> bytes{};
  CHECK(encode_card(sample_card(), bytes) == 12 + 2 * 20);
  bytes[12 + 2 * 20] = std::byte{0xff};
  CHECK(decode_card(bytes) == sample_card());
}

TEST_CASE("verbs card: what no peer would have written is refused",
          "[verbs][card]") {
  std::array<std::byte, kMaxCardBytes> good{};
  const std::size_t size = encode_card(sample_card(), good);
  REQUIRE(decode_card(std::span(good).first(size)));
  CHECK_FALSE(decode_card(std::span(good).first(size - 1)));
  CHECK_FALSE(decode_card({}));
  CHECK_FALSE(decode_card(std::array<std::byte, kMaxCardBytes>{}));
  const auto with = [&good](std::size_t at, unsigned value) {
    auto bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  CHECK_FALSE(decode_card(with(0, 0)));                // magic
  CHECK_FALSE(decode_card(with(4, 9)));                // version
  CHECK_FALSE(decode_card(with(5, 0)));                // no color
  CHECK_FALSE(decode_card(with(5, kMaxColors + 1U)));  // too many
  CHECK_FALSE(decode_card(with(8, 3)));                // executor
  CHECK_FALSE(decode_card(with(9, 3)));                // order of writes
  CHECK_FALSE(decode_card(with(11, 1)));               // the zeros
  CHECK_FALSE(decode_card(with(12, 5)));               // family
  CHECK_FALSE(decode_card(with(13, 1)));               // the zero
  CHECK_FALSE(decode_card(with(12 + 4 + 4, 1)));       // behind an IPv4 address
}

TEST_CASE("verbs: a GID is printed as tools print it", "[verbs]") {
  CHECK(format_gid({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 2, 0xc9, 0xff}) ==
        "fe80:0000:0000:0000:0202:c9ff:0000:0000");
}

TEST_CASE("verbs hello: survives encoding and padding", "[verbs][hello]") {
  const auto bytes = encode_hello(sample_hello());
  CHECK(decode_hello(bytes) == sample_hello());
  Bytes padded(bytes.begin(), bytes.end());
  padded.resize(56);
  CHECK(decode_hello(padded) == sample_hello());
}

TEST_CASE("verbs hello: what no peer would have written is refused",
          "[verbs][hello]") {
  const auto good = encode_hello(sample_hello());
  CHECK_FALSE(decode_hello({}));
  CHECK_FALSE(decode_hello(std::span(good).first(kHelloBytes - 1)));
  for (const std::size_t at : {0U, 4U, 20U, 23U}) {
    auto bytes = good;
    bytes[at] ^= std::byte{0x40};
    CHECK_FALSE(decode_hello(bytes));
  }
  auto unknown = good;
  unknown[20] = std::byte{3};  // no such queue pair
  CHECK_FALSE(decode_hello(unknown));
}

TEST_CASE("verbs hello: a refusal survives encoding and padding",
          "[verbs][hello]") {
  for (const Refusal refusal :
       {Refusal::kCrossed, Refusal::kGone, Refusal::kStaySmall}) {
    const auto bytes = encode_refusal(refusal);
    Bytes padded(bytes.begin(), bytes.end());
    padded.resize(148);
    CHECK(decode_refusal(padded) == refusal);
    CHECK_FALSE(decode_refusal(std::span(bytes).first(4)));
  }
  CHECK_FALSE(decode_refusal(Bytes(148)));
  auto unknown = encode_refusal(Refusal::kGone);
  unknown[4] = std::byte{4};
  CHECK_FALSE(decode_refusal(unknown));
  CHECK_FALSE(decode_refusal(encode_hello(sample_hello())));
}

TEST_CASE("verbs packet: messages come out as they went in",
          "[verbs][packet]") {
  Bytes packet(kPacketBytes);
  const std::string large(5000, 'x');
  std::size_t used = append(packet, 0, "first");
  used = append(packet, used, "");
  used = append(packet, used, large);
  CHECK(used == 5 + 0 + 5000 + 3 * kFrameHeaderBytes);
  CHECK(append(packet, used, large) == 0);
  std::span<const std::byte> rest(packet.data(), used);
  CHECK(text_of(take_frame(rest).value().bytes) == "first");
  CHECK(take_frame(rest).value().bytes.empty());
  CHECK(text_of(take_frame(rest).value().bytes) == large);
  CHECK(rest.empty());
}

TEST_CASE("verbs packet: the largest message fits alone", "[verbs][packet]") {
  Bytes packet(kPacketBytes);
  CHECK(append(packet, 0, std::string(kMaxMessageBytes, 'm')) == kPacketBytes);
  CHECK(append(packet, 0, std::string(kMaxMessageBytes + 1, 'm')) == 0);
  CHECK(append(packet, kPacketBytes - 1, "") == 0);
}

TEST_CASE("verbs packet: a size beyond the packet is refused",
          "[verbs][packet]") {
  Bytes packet(kPacketBytes);
  const std::size_t used = append(packet, 0, "message");
  for (std::size_t size = 1; size < used; ++size) {
    std::span<const std::byte> cut(packet.data(), size);
    CHECK_FALSE(take_frame(cut));
  }
}

TEST_CASE("verbs packet: frames for the connection are no messages",
          "[verbs][packet]") {
  Bytes packet(kPacketBytes);
  const Bytes large(kMaxMessageBytes - 100, std::byte{7});
  const std::span<const std::byte> part = large;
  std::size_t used =
      append_frame(packet, 0, {&part, 1}, large.size(), FrameKind::kControl);
  used = append(packet, used, "message");
  std::span<const std::byte> rest(packet.data(), used);
  const auto control = take_frame(rest);
  REQUIRE(control);
  CHECK(control->kind == FrameKind::kControl);
  CHECK(control->bytes.size() == large.size());
  const auto message = take_frame(rest);
  REQUIRE(message);
  CHECK(message->kind == FrameKind::kMessage);
  CHECK(text_of(message->bytes) == "message");
}

}  // namespace acp::verbs
