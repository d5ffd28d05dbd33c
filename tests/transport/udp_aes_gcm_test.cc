// AES-256-GCM by each library and each set of instructions: equal tags, equal
// cipher texts, and nothing left of a key.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/secret_memory.h"
#include "support/aes_libraries.h"

namespace acp::test {

namespace {

using transport::AesGcm;
using Bytes = std::vector<std::byte>;
using Tag = AesGcm::Tag;

constexpr std::size_t kMostBytes = 65'000;
constexpr AesGcm::Nonce kNonce = {1, 0, 0, 2, 0, 0, 7};

/// All sizes up to some registers, and those around whole blocks, batches of
/// blocks, and datagrams.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> list;
  for (std::size_t size = 0; size <= 300; ++size) {
    list.push_back(size);
  }
  for (const std::size_t around :
       {512U, 768U, 1'024U, 1'472U, 4'096U, 8'972U, 32'768U, 60'000U}) {
    for (std::size_t size = around - 17; size <= around + 17; ++size) {
      list.push_back(size);
    }
  }
  list.push_back(kMostBytes);
  return list;
}

Bytes random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 dice(seed);
  Bytes bytes(size);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(dice());
  }
  return bytes;
}

/// A key in the form of one library.
class Schedule {
 public:
  Schedule(const AesGcm& aes, std::uint8_t first)
      : bytes_(make_secret_array<std::byte>(aes.schedule_bytes())) {
    const auto key = make_secret_array<AesGcm::Key>(1);
    for (std::size_t i = 0; i < key[0].size(); ++i) {
      key[0][i] = static_cast<unsigned char>(first + 11 * i);
    }
    aes.expand(key[0], bytes_.get());
  }

  const std::byte* get() const { return bytes_.get(); }

 private:
  SecretArray<std::byte> bytes_;
};

/// `bytes` divided at random places, with empty pieces among them.
std::vector<AesGcm::Piece> divided(AesGcm::Piece bytes, std::mt19937& dice) {
  std::vector<AesGcm::Piece> pieces;
  while (!bytes.empty()) {
    const std::size_t most = dice() % 2 == 0 ? 40 : bytes.size();
    const std::size_t size =
        std::min<std::size_t>(dice() % (most + 1), bytes.size());
    pieces.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return pieces;
}

Tag tag_by(const AesLibrary& library, AesGcm::Piece clear) {
  const Schedule schedule(*library.aes, 3);
  return library.aes->tag(schedule.get(), kNonce, std::span(&clear, 1));
}

struct Sealed {
  Bytes cipher;
  Tag tag{};

  bool operator==(const Sealed&) const = default;
};

Sealed seal_by(const AesLibrary& library,
               const Schedule& schedule,
               AesGcm::Piece clear,
               std::span<const AesGcm::Piece> plain,
               std::size_t bytes) {
  Sealed sealed{Bytes(bytes)};
  sealed.tag = library.aes->seal(schedule.get(), kNonce, clear, plain,
                                 sealed.cipher.data());
  return sealed;
}

/// Two pages, of which the second cannot be read: bytes at the end of the first
/// show each access beyond them.
class PageEnd {
 public:
  PageEnd() {
    void* const at = ::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    at_ = static_cast<std::byte*>(at);
    REQUIRE(::mprotect(at_ + page_, page_, PROT_NONE) == 0);
  }

  PageEnd(const PageEnd&) = delete;
  PageEnd& operator=(const PageEnd&) = delete;

  ~PageEnd() { ::munmap(at_, 2 * page_); }

  std::span<std::byte> last(std::size_t bytes) const {
    return {at_ + page_ - bytes, bytes};
  }

 private:
  std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::byte* at_ = nullptr;
};

}  // namespace

// The test cases of the AES-GCM specification begin with this one: no text.
TEST_CASE("udp aes: the tag of nothing is the published one", "[udp][aes]") {
  constexpr std::array<unsigned, 16> kPublished = {
      0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45, 0x36, 0xb9,
      0xa9, 0x63, 0xb4, 0xf1, 0xc4, 0xcb, 0x73, 0x8b};
  for (const AesLibrary& library : aes_libraries()) {
    INFO(library.name);
    const auto schedule =
        make_secret_array<std::byte>(library.aes->schedule_bytes());
    library.aes->expand({}, schedule.get());
    const Tag tag = library.aes->tag(schedule.get(), {}, {});
    for (std::size_t i = 0; i < tag.size(); ++i) {
      CHECK(std::to_integer<unsigned>(tag[i]) == kPublished[i]);
    }
  }
}

TEST_CASE("udp aes: all libraries make equal tags", "[udp][aes]") {
  const Bytes bytes = random_bytes(kMostBytes + 64, 1);
  for (const std::size_t size : sizes()) {
    for (const std::size_t offset : {0U, 1U, 8U, 15U, 33U}) {
      if (size > 300 && offset > 1) {
        continue;
      }
      const AesGcm::Piece clear = AesGcm::Piece(bytes).subspan(offset, size);
      const Tag first = tag_by(aes_libraries().front(), clear);
      for (const AesLibrary& library : aes_libraries()) {
        CAPTURE(library.name, size, offset);
        REQUIRE(tag_by(library, clear) == first);
        const Schedule schedule(*library.aes, 3);
        REQUIRE(library.aes->check(schedule.get(), kNonce, clear, {}, first));
      }
    }
  }
}

TEST_CASE("udp aes: all libraries make equal cipher texts, and open them",
          "[udp][aes]") {
  const Bytes bytes = random_bytes(kMostBytes + 200, 2);
  for (const std::size_t size : sizes()) {
    for (const std::size_t clear_bytes : {56U, 88U, 1U}) {
      const AesGcm::Piece clear =
          AesGcm::Piece(bytes).subspan(size % 3, clear_bytes);
      const AesGcm::Piece plain = AesGcm::Piece(bytes).subspan(100, size);
      const Schedule first_key(*aes_libraries().front().aes, 3);
      const Sealed first = seal_by(aes_libraries().front(), first_key, clear,
                                   std::span(&plain, 1), size);
      for (const AesLibrary& library : aes_libraries()) {
        CAPTURE(library.name, size, clear_bytes);
        const Schedule schedule(*library.aes, 3);
        REQUIRE(seal_by(library, schedule, clear, std::span(&plain, 1), size) ==
                first);
        Bytes body = first.cipher;
        REQUIRE(
            library.aes->check(schedule.get(), kNonce, clear, body, first.tag));
        REQUIRE(body == first.cipher);
        REQUIRE(
            library.aes->open(schedule.get(), kNonce, clear, body, first.tag));
        REQUIRE(std::ranges::equal(body, plain));
      }
    }
  }
}

TEST_CASE("udp aes: pieces have the tag and the cipher text of the whole",
          "[udp][aes]") {
  const Bytes bytes = random_bytes(kMostBytes, 3);
  std::mt19937 dice(4);
  for (const AesLibrary& library : aes_libraries()) {
    if (!library.aes->takes_pieces()) {
      continue;
    }
    INFO(library.name);
    const Schedule schedule(*library.aes, 3);
    for (int round = 0; round < 400; ++round) {
      const std::size_t size = dice() % (round % 20 == 0 ? kMostBytes : 700);
      const AesGcm::Piece whole = AesGcm::Piece(bytes).first(size);
      const std::vector<AesGcm::Piece> pieces = divided(whole, dice);
      CAPTURE(size, pieces.size());
      REQUIRE(library.aes->tag(schedule.get(), kNonce, pieces) ==
              tag_by(aes_libraries().front(), whole));
      const AesGcm::Piece clear = AesGcm::Piece(bytes).first(56);
      REQUIRE(seal_by(library, schedule, clear, pieces, size) ==
              seal_by(library, schedule, clear, std::span(&whole, 1), size));
    }
  }
}

TEST_CASE("udp aes: a changed bit, key or nonce is noticed", "[udp][aes]") {
  const Bytes plain = random_bytes(77, 5);
  const Bytes clear = random_bytes(56, 6);
  const AesGcm::Piece piece = plain;
  for (const AesLibrary& library : aes_libraries()) {
    INFO(library.name);
    const AesGcm& aes = *library.aes;
    const Schedule schedule(aes, 3);
    const Schedule other(aes, 4);
    const Sealed good =
        seal_by(library, schedule, clear, std::span(&piece, 1), plain.size());
    const auto is_taken = [&](const Schedule& key, const AesGcm::Nonce& nonce,
                              const Bytes& head, Sealed sealed) {
      const bool checks =
          aes.check(key.get(), nonce, head, sealed.cipher, sealed.tag);
      const bool opens =
          aes.open(key.get(), nonce, head, sealed.cipher, sealed.tag);
      CHECK(checks == opens);
      return checks || opens;
    };
    REQUIRE(is_taken(schedule, kNonce, clear, good));
    CHECK_FALSE(is_taken(other, kNonce, clear, good));
    AesGcm::Nonce next = kNonce;
    next.back() ^= 1;
    CHECK_FALSE(is_taken(schedule, next, clear, good));
    for (std::size_t bit = 0; bit < 8 * plain.size(); ++bit) {
      const auto mask = static_cast<std::byte>(1U << (bit % 8));
      Sealed bad = good;
      bad.cipher[bit / 8] ^= mask;
      REQUIRE_FALSE(is_taken(schedule, kNonce, clear, bad));
      Bytes head = clear;
      head[bit / 8 % head.size()] ^= mask;
      REQUIRE_FALSE(is_taken(schedule, kNonce, head, good));
      bad = good;
      bad.tag[bit / 8 % bad.tag.size()] ^= mask;
      REQUIRE_FALSE(is_taken(schedule, kNonce, clear, bad));
    }
  }
}

TEST_CASE("udp aes: no library reads or writes beyond the bytes",
          "[udp][aes]") {
  const PageEnd input;
  const PageEnd output;
  for (const AesLibrary& library : aes_libraries()) {
    INFO(library.name);
    const AesGcm& aes = *library.aes;
    const Schedule schedule(aes, 3);
    for (std::size_t size = 1; size < 600; ++size) {
      CAPTURE(size);
      const AesGcm::Piece plain = input.last(size);
      const std::span<std::byte> body = output.last(size);
      const Tag of_plain =
          aes.tag(schedule.get(), kNonce, std::span(&plain, 1));
      REQUIRE(aes.check(schedule.get(), kNonce, plain, {}, of_plain));
      const Tag tag = aes.seal(schedule.get(), kNonce, plain,
                               std::span(&plain, 1), body.data());
      REQUIRE(aes.check(schedule.get(), kNonce, plain, body, tag));
      REQUIRE(aes.open(schedule.get(), kNonce, plain, body, tag));
      REQUIRE(std::ranges::equal(body, plain));
    }
  }
}

namespace {

/// Bytes below the caller's frame, where functions that have returned had
/// theirs.
constexpr std::size_t kSearched = 12 << 10;

/// Whether a block of the schedule lies in what was found. Blocks of zeros are
/// not of a key.
bool has_block_of(const std::byte* schedule,
                  std::size_t schedule_bytes,
                  const std::string& found) {
  for (std::size_t at = 0; at + 16 <= schedule_bytes; at += 16) {
    const std::string block(reinterpret_cast<const char*>(schedule) + at, 16);
    if (block != std::string(16, '\0') &&
        found.find(block) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// Calls `act`, and then returns the bytes of the stack that it has used. Not
/// inlined, so that the frames of both lie at one place.
template <typename Action>
[[gnu::noinline, gnu::no_sanitize_address]] std::string stack_after(
    Action act) {
  static std::array<char, kSearched> copy;
  act();
  const volatile char* const here =
      static_cast<const char*>(__builtin_frame_address(0));
  for (std::size_t i = 0; i < kSearched; ++i) {
    copy[i] = here[static_cast<std::ptrdiff_t>(i) -
                   static_cast<std::ptrdiff_t>(kSearched)];
  }
  return {copy.data(), copy.size()};
}

}  // namespace

// A core dump has the stack of each thread.
TEST_CASE("udp aes: no part of a key stays on the stack", "[udp][aes]") {
  const Bytes bytes = random_bytes(9'000, 7);
  for (const AesLibrary& library : aes_libraries()) {
    INFO(library.name);
    const AesGcm& aes = *library.aes;
    const Schedule key(aes, 3);
    const auto stays = [&](auto act) {
      return has_block_of(key.get(), aes.schedule_bytes(), stack_after(act));
    };
    const AesGcm::Piece clear = AesGcm::Piece(bytes).first(56);
    const AesGcm::Piece plain = bytes;
    Bytes body(bytes.size());
    Tag tag{};
    CHECK(stays([&] {  // The search finds what is there.
      volatile std::byte block[16];
      std::copy_n(key.get() + 16, 16, std::begin(block));
    }));
    CHECK_FALSE(stays([&] { const Schedule again(aes, 3); }));
    CHECK_FALSE(
        stays([&] { tag = aes.tag(key.get(), kNonce, std::span(&plain, 1)); }));
    CHECK_FALSE(
        stays([&] { (void)aes.check(key.get(), kNonce, plain, {}, tag); }));
    CHECK_FALSE(stays([&] {
      tag =
          aes.seal(key.get(), kNonce, clear, std::span(&plain, 1), body.data());
    }));
    CHECK_FALSE(
        stays([&] { (void)aes.check(key.get(), kNonce, clear, body, tag); }));
    CHECK_FALSE(
        stays([&] { (void)aes.open(key.get(), kNonce, clear, body, tag); }));
  }
}

}  // namespace acp::test
