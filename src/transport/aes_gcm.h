// AES-256-GCM as the transports use it: tags of packets, and encryption. Two
// libraries make equal bytes: libsodium (udp/sodium_aes_gcm.cc), and
// intel-ipsec-mb in a module (udp/ipsec_mb/). udp/packet_guard.cc calls them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace acp::transport {

/// The functions have no state: keys and nonces are the caller's. Thread-safe.
/// Each function wipes what it has left of a key in its stack frames and in the
/// vector registers.
///
/// A *schedule* is a key in the form that a library uses for each packet. It
/// has schedule_bytes(), begins at a multiple of 64, and lies in secret memory.
///
/// A *piece* is a run of bytes. Where a function takes several pieces, the
/// result is that of one piece with the bytes of all.
class AesGcm {
 public:
  using Key = std::array<unsigned char, 32>;
  using Nonce = std::array<unsigned char, 12>;
  using Tag = std::array<std::byte, 16>;
  using Piece = std::span<const std::byte>;

  AesGcm() = default;
  AesGcm(const AesGcm&) = delete;
  AesGcm& operator=(const AesGcm&) = delete;

  /// "libsodium 1.0.18", for messages to the user.
  virtual std::string_view library() const noexcept = 0;

  virtual std::size_t schedule_bytes() const noexcept = 0;

  /// Whether tag() and seal() take more than one piece.
  virtual bool takes_pieces() const noexcept = 0;

  /// Writes the schedule of a key.
  virtual void expand(const Key& key, std::byte* schedule) const noexcept = 0;

  /// The tag over bytes that stay plain (AES-256-GMAC).
  virtual Tag tag(const std::byte* schedule,
                  const Nonce& nonce,
                  std::span<const Piece> clear) const noexcept = 0;

  /// Whether `tag` belongs to the plain bytes and to the cipher text behind
  /// them. Changes neither.
  virtual bool check(const std::byte* schedule,
                     const Nonce& nonce,
                     Piece clear,
                     Piece cipher,
                     const Tag& tag) const noexcept = 0;

  /// Encrypts the bytes of `plain` to `cipher`, and returns the tag over both.
  virtual Tag seal(const std::byte* schedule,
                   const Nonce& nonce,
                   Piece clear,
                   std::span<const Piece> plain,
                   std::byte* cipher) const noexcept = 0;

  /// Decrypts `body` where it lies. False: the tag does not belong to the
  /// bytes, and `body` is undefined.
  virtual bool open(const std::byte* schedule,
                    const Nonce& nonce,
                    Piece clear,
                    std::span<std::byte> body,
                    const Tag& tag) const noexcept = 0;

 protected:
  ~AesGcm() = default;
};

/// The answer of a library that may not run on every processor.
struct AesGcmOffer {
  const AesGcm* aes = nullptr;  ///< Lives as long as the process, or null.
  std::string why{};            ///< Why there is none.
};

/// The entry point of the module libacp-ipsec-mb.so.
using OfferAesGcm = AesGcmOffer();

}  // namespace acp::transport
