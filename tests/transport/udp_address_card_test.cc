// The address card of the udp transport: its layout, and text that is refused.
#include <string>

#include <catch2/catch.hpp>

#include "udp/address_card.h"

namespace acp::udp {

namespace {

using transport::format_address;
using transport::is_loopback;
using transport::parse_address;

AddressCard sample_card() {
  AddressCard card;
  card.colors = 2;
  card.datagram_bytes = 1400;
  card.security = Security::kEncrypt;
  card.has_aes = true;
  card.addresses[0] = *parse_address("127.0.0.2");
  card.addresses[0].port = 0x1234;
  card.addresses[1] = *parse_address("::1");
  card.addresses[1].port = 7;
  card.send_ports[0] = 0x5678;
  card.send_ports[1] = 9;
  return card;
}

}  // namespace

TEST_CASE("udp card: survives encoding, whatever follows it", "[udp][card]") {
  std::array<std::byte, kMaxCardBytes> bytes{};
  CHECK(encode_card(sample_card(), bytes) == 10 + 2 * 22);
  CHECK(decode_card(bytes) == sample_card());
}

TEST_CASE("udp card: the layout is what the table says", "[udp][card]") {
  std::array<std::byte, kMaxCardBytes> bytes{};
  encode_card(sample_card(), bytes);
  const std::array<int, 18> expected = {
      'U', 'D', 'P', 'C', 3, 2, 0x78, 5, 2, 1, 4, 0, 0x34, 0x12, 127, 0, 0, 2};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("byte " << i);
    CHECK(bytes[i] == static_cast<std::byte>(expected[i]));
  }
  CHECK(bytes[30] == std::byte{0x78});
  CHECK(bytes[31] == std::byte{0x56});
  CHECK(bytes[32] == std::byte{6});
  CHECK(bytes[34] == std::byte{7});
  CHECK(bytes[51] == std::byte{1});
  CHECK(bytes[52] == std::byte{9});
}

TEST_CASE("udp card: all colors fit", "[udp][card]") {
  AddressCard card = sample_card();
  card.colors = kMaxColors;
  for (Address& address : card.addresses) {
    address = *parse_address("::1");
    address.port = 9;
  }
  card.send_ports.fill(10);
  std::array<std::byte, kMaxCardBytes> bytes{};
  CHECK(encode_card(card, bytes) == kMaxCardBytes);
  CHECK(decode_card(bytes) == card);
}

TEST_CASE("udp card: damaged cards are refused", "[udp][card]") {
  std::array<std::byte, kMaxCardBytes> good{};
  const std::size_t size = encode_card(sample_card(), good);
  for (std::size_t cut = 0; cut < size; ++cut) {
    CHECK_FALSE(decode_card(std::span(good).first(cut)).has_value());
  }
  // Offsets of magic, version, colors, security, AES, family, zero, and of the
  // unused bytes behind an IPv4 address.
  for (const std::size_t at : {0U, 4U, 5U, 8U, 9U, 10U, 11U, 18U}) {
    auto bad = good;
    bad[at] ^= std::byte{0x40};
    INFO("byte " << at);
    CHECK_FALSE(decode_card(bad).has_value());
  }
  auto without_port = good;
  without_port[30] = without_port[31] = std::byte{0};
  CHECK_FALSE(decode_card(without_port).has_value());
  CHECK_FALSE(decode_card(std::array<std::byte, 512>{}).has_value());
}

TEST_CASE("udp card: a datagram comes from one of two ports", "[udp][card]") {
  const Address own = sample_card().addresses[0];
  Address from = own;
  CHECK(sends_from(own, 5, from));
  from.port = 5;
  CHECK(sends_from(own, 5, from));
  from.port = 6;
  CHECK_FALSE(sends_from(own, 5, from));
  from.port = 5;
  from.bytes[3] ^= 1;
  CHECK_FALSE(sends_from(own, 5, from));
  CHECK_FALSE(sends_from(own, 5, Address{}));
}

TEST_CASE("udp address: text and value", "[udp][card]") {
  for (const std::string text : {"127.0.0.1", "::1", "192.0.2.1", "fe80::1"}) {
    const auto address = parse_address(text);
    REQUIRE(address.has_value());
    CHECK(format_address(*address) == text);
  }
  Address address = *parse_address("::1");
  address.port = 80;
  CHECK(format_address(address) == "[::1]:80");
  for (const std::string text :
       {"", "localhost", "127.0.0", "1::2::3", " ::1"}) {
    CHECK_FALSE(parse_address(text).has_value());
  }
}

TEST_CASE("udp address: only loopback is loopback", "[udp][card]") {
  for (const std::string text : {"127.0.0.1", "127.255.3.4", "::1"}) {
    CHECK(is_loopback(*parse_address(text)));
  }
  for (const std::string text :
       {"0.0.0.0", "128.0.0.1", "::", "::2", "fe80::1", "::ffff:127.0.0.1"}) {
    CHECK_FALSE(is_loopback(*parse_address(text)));
  }
}

}  // namespace acp::udp
