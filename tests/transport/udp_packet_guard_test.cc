// Tags and encryption: what a process of the job seals, another one opens, and
// nobody else does.
#include <algorithm>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>

#include "support/aes_libraries.h"
#include "udp/packet.h"
#include "udp/packet_guard.h"

namespace acp::udp {

namespace {

using Bytes = std::vector<std::byte>;

constexpr protocol::JobSecret kSecret = {1, 2, 3, 4};
constexpr protocol::JobSecret kOtherSecret = {1, 2, 3, 5};

PacketHeader header_with(std::uint8_t flags, std::uint64_t txno = 7) {
  PacketHeader header;
  header.flags = flags;
  header.epoch = 5;
  header.source = 1;
  header.destination = 2;
  header.txno = txno;
  header.seq = 3;
  return header;
}

/// One message of `size` bytes behind room for the header.
Bytes fragment_with(std::size_t size) {
  Bytes storage(kHeadroomBytes + kMessagePrefixBytes + size, std::byte{0x5A});
  storage[kHeadroomBytes] = static_cast<std::byte>(size & 0xFF);
  storage[kHeadroomBytes + 1] = static_cast<std::byte>(size >> 8);
  return storage;
}

Bytes seal(PacketGuard& guard,
           Cipher cipher,
           transport::Color color,
           const PacketHeader& header,
           Bytes& storage) {
  const auto head =
      encode_packet(header, {0x11}, std::span(storage).subspan(kHeadroomBytes));
  const Datagram sealed = guard.seal(cipher, color, header, head, {});
  return {sealed.head.begin(), sealed.head.end()};
}

/// The payload if the guard accepts the packet.
std::optional<Bytes> open(PacketGuard& guard,
                          Cipher cipher,
                          transport::Color color,
                          Bytes packet) {
  const auto view = decode_packet(packet);
  if (!view || !guard.open(cipher, color, view->header, packet)) {
    return std::nullopt;
  }
  return Bytes(view->payload.begin(), view->payload.end());
}

struct Kind {
  Security security;
  Cipher cipher;
  const transport::AesGcm* aes = nullptr;  ///< The library of both sides.
};

/// Every protection that this processor can make.
std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds = {
      {Security::kOff, Cipher::kChecksum},
      {Security::kAuth, Cipher::kChaCha20Poly1305},
      {Security::kEncrypt, Cipher::kChaCha20Poly1305},
  };
  for (const test::AesLibrary& library : test::aes_libraries()) {
    kinds.push_back({Security::kAuth, Cipher::kAes256Gcm, library.aes});
    kinds.push_back({Security::kEncrypt, Cipher::kAes256Gcm, library.aes});
  }
  return kinds;
}

}  // namespace

TEST_CASE("udp guard: what one process seals another one opens",
          "[udp][guard]") {
  for (const Kind& kind : all_kinds()) {
    INFO(name_of(kind.cipher, kind.security));
    PacketGuard one(kind.security, &kSecret, 2, kind.aes);
    PacketGuard two(kind.security, &kSecret, 2, kind.aes);
    for (const std::size_t size : {0U, 1U, 24U, 1000U, 59'000U}) {
      for (const std::uint8_t flags : {std::uint8_t{0}, kFlagSack}) {
        Bytes storage = fragment_with(size);
        const Bytes payload(storage.begin() + kHeadroomBytes, storage.end());
        const Bytes packet =
            seal(one, kind.cipher, 1, header_with(flags), storage);
        CHECK(open(two, kind.cipher, 1, packet) == payload);
        // A retransmission seals the same fragment again.
        CHECK(std::equal(payload.begin(), payload.end(),
                         storage.begin() + kHeadroomBytes));
      }
    }
  }
}

// The check must not change the packet, which is opened afterwards. Without
// secrets a forged packet counts as one of the job.
TEST_CASE("udp guard: a packet of the job is known without its address card",
          "[udp][guard]") {
  for (const Kind& kind : all_kinds()) {
    INFO(name_of(kind.cipher, kind.security));
    PacketGuard guard(kind.security, &kSecret, 1, kind.aes);
    PacketGuard forger(kind.security, &kOtherSecret, 1, kind.aes);
    const auto is_of_job = [&guard](Bytes& packet) {
      const auto view = decode_packet(packet);
      return view && guard.is_of_job(0, view->header, packet);
    };
    Bytes storage = fragment_with(24);
    const Bytes good = seal(guard, kind.cipher, 0, header_with(0), storage);
    Bytes packet = good;
    CHECK(is_of_job(packet));
    CHECK(packet == good);
    CHECK(open(guard, kind.cipher, 0, packet));
    Bytes forged = seal(forger, kind.cipher, 0, header_with(0), storage);
    CHECK(is_of_job(forged) == (kind.security == Security::kOff));
  }
}

TEST_CASE("udp guard: every damaged bit of a packet is noticed",
          "[udp][guard]") {
  for (const Kind& kind : all_kinds()) {
    INFO(name_of(kind.cipher, kind.security));
    PacketGuard guard(kind.security, &kSecret, 1, kind.aes);
    for (const std::uint8_t flags : {std::uint8_t{0}, kFlagSack}) {
      Bytes storage = fragment_with(5);
      const Bytes good =
          seal(guard, kind.cipher, 0, header_with(flags), storage);
      REQUIRE(open(guard, kind.cipher, 0, good));
      for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
        Bytes bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        INFO("bit " << bit);
        CHECK_FALSE(open(guard, kind.cipher, 0, bad));
      }
    }
  }
}

// One packet is opened with one thing wrong at a time.
TEST_CASE("udp guard: other jobs, colors and ciphers have other keys",
          "[udp][guard]") {
  for (const Kind& kind : all_kinds()) {
    if (kind.security == Security::kOff) {
      continue;
    }
    INFO(name_of(kind.cipher, kind.security));
    PacketGuard guard(kind.security, &kSecret, 2, kind.aes);
    PacketGuard other_job(kind.security, &kOtherSecret, 2, kind.aes);
    Bytes storage = fragment_with(10);
    const Bytes packet = seal(guard, kind.cipher, 0, header_with(0), storage);
    CHECK_FALSE(open(other_job, kind.cipher, 0, packet));
    CHECK_FALSE(open(guard, kind.cipher, 1, packet));
    CHECK_FALSE(open(guard, Cipher::kChecksum, 0, packet));
    if (kind.aes != nullptr) {
      const Cipher other = kind.cipher == Cipher::kAes256Gcm
                               ? Cipher::kChaCha20Poly1305
                               : Cipher::kAes256Gcm;
      CHECK_FALSE(open(guard, other, 0, packet));
    }
  }
}

TEST_CASE("udp guard: a checksum does not pass for a tag", "[udp][guard]") {
  PacketGuard forger(Security::kOff, {}, 1);
  for (const Kind& kind : all_kinds()) {
    if (kind.security == Security::kOff) {
      continue;
    }
    PacketGuard guard(kind.security, &kSecret, 1, kind.aes);
    Bytes storage = fragment_with(10);
    const Bytes packet =
        seal(forger, Cipher::kChecksum, 0, header_with(0), storage);
    CHECK_FALSE(open(guard, kind.cipher, 0, packet));
  }
}

TEST_CASE("udp guard: encryption hides the payload and never repeats itself",
          "[udp][guard]") {
  for (const Kind& kind : all_kinds()) {
    if (kind.security != Security::kEncrypt) {
      continue;
    }
    INFO(name_of(kind.cipher, kind.security));
    PacketGuard guard(kind.security, &kSecret, 1, kind.aes);
    Bytes storage = fragment_with(64);
    const Bytes plain(storage.begin() + kHeadroomBytes, storage.end());
    const Bytes first = seal(guard, kind.cipher, 0, header_with(0, 1), storage);
    const Bytes second =
        seal(guard, kind.cipher, 0, header_with(0, 2), storage);
    CHECK(std::search(first.begin(), first.end(), plain.begin() + 2,
                      plain.begin() + 10) == first.end());
    CHECK(Bytes(first.begin() + kMinPacketBytes, first.end()) !=
          Bytes(second.begin() + kMinPacketBytes, second.end()));
  }
}

// The test seals as many packets as a train may have before it opens the first.
// Five trains use the buffer several times round.
TEST_CASE("udp guard: all packets of a train stay sealed until it is sent",
          "[udp][guard]") {
  for (const Kind& kind : all_kinds()) {
    INFO(name_of(kind.cipher, kind.security));
    PacketGuard guard(kind.security, &kSecret, 1, kind.aes);
    for (const std::size_t size : {1'000U, 30'000U}) {
      std::vector<Bytes> storages(PacketGuard::kKeptBytes / (size + 200),
                                  fragment_with(size));
      for (std::uint64_t train = 0; train < 5; ++train) {
        std::vector<std::span<const std::byte>> packets;
        for (std::size_t i = 0; i < storages.size(); ++i) {
          const PacketHeader header = header_with(0, 1'000 * train + i + 1);
          const auto head = encode_packet(
              header, {}, std::span(storages[i]).subspan(kHeadroomBytes));
          packets.push_back(guard.seal(kind.cipher, 0, header, head, {}).head);
        }
        for (const std::span<const std::byte> packet : packets) {
          REQUIRE(open(guard, kind.cipher, 0, {packet.begin(), packet.end()}));
        }
      }
    }
  }
}

TEST_CASE("udp guard: peers agree on AES only if both have it",
          "[udp][guard]") {
  const PacketGuard off(Security::kOff, &kSecret, 1);
  CHECK(off.cipher_with(true) == Cipher::kChecksum);
  CHECK(off.takes_tail(Cipher::kChecksum));
  const PacketGuard without(Security::kAuth, &kSecret, 1, nullptr);
  CHECK(without.cipher_with(true) == Cipher::kChaCha20Poly1305);
  CHECK(without.describe() == "Poly1305");
  for (const test::AesLibrary& library : test::aes_libraries()) {
    const PacketGuard auth(Security::kAuth, &kSecret, 1, library.aes);
    CHECK(auth.cipher_with(false) == Cipher::kChaCha20Poly1305);
    CHECK(auth.cipher_with(true) == Cipher::kAes256Gcm);
    CHECK_FALSE(auth.takes_tail(Cipher::kChaCha20Poly1305));
    CHECK(auth.takes_tail(Cipher::kAes256Gcm) == library.aes->takes_pieces());
    CHECK(auth.describe() ==
          "AES-256-GMAC by " + std::string(library.aes->library()));
  }
}

// The host of a peer may have another library.
TEST_CASE("udp guard: what one library seals another one opens",
          "[udp][guard]") {
  for (const Security security : {Security::kAuth, Security::kEncrypt}) {
    for (const test::AesLibrary& first : test::aes_libraries()) {
      for (const test::AesLibrary& second : test::aes_libraries()) {
        INFO(first.name << " to " << second.name);
        PacketGuard one(security, &kSecret, 1, first.aes);
        PacketGuard two(security, &kSecret, 1, second.aes);
        for (const std::size_t size : {0U, 8U, 1'300U, 59'000U}) {
          Bytes storage = fragment_with(size);
          const Bytes payload(storage.begin() + kHeadroomBytes, storage.end());
          const Bytes packet =
              seal(one, Cipher::kAes256Gcm, 0, header_with(0), storage);
          Bytes same = packet;
          const auto view = decode_packet(same);
          REQUIRE(view);
          CHECK(two.is_of_job(0, view->header, same));
          CHECK(same == packet);
          CHECK(open(two, Cipher::kAes256Gcm, 0, packet) == payload);
        }
      }
    }
  }
}

// The receiver gets the bytes of head and tail as one datagram.
TEST_CASE("udp guard: a packet with a tail is that of one piece",
          "[udp][guard]") {
  const Bytes tail(8'000, std::byte{0x3C});
  for (const Kind& kind : all_kinds()) {
    PacketGuard guard(kind.security, &kSecret, 1, kind.aes);
    if (!guard.takes_tail(kind.cipher)) {
      continue;
    }
    INFO(name_of(kind.cipher, kind.security));
    for (const std::size_t in_head : {0U, 13U, 500U}) {
      const std::size_t size = in_head + tail.size();
      Bytes whole = fragment_with(size);
      std::ranges::copy(tail,
                        whole.end() - static_cast<std::ptrdiff_t>(tail.size()));
      const Bytes payload(whole.begin() + kHeadroomBytes, whole.end());
      Bytes storage(whole.begin(),
                    whole.end() - static_cast<std::ptrdiff_t>(tail.size()));
      const PacketHeader header = header_with(0);
      const auto head = encode_packet(
          header, {}, std::span(storage).subspan(kHeadroomBytes), tail.size());
      const Datagram sealed = guard.seal(kind.cipher, 0, header, head, tail);
      Bytes packet(sealed.head.begin(), sealed.head.end());
      packet.insert(packet.end(), sealed.tail.begin(), sealed.tail.end());
      CHECK(open(guard, kind.cipher, 0, packet) == payload);
      CHECK(packet == seal(guard, kind.cipher, 0, header, whole));
    }
  }
}

}  // namespace acp::udp
