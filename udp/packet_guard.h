// Makes and checks the tags of packets, and encrypts payloads. Used by Endpoint
// for each packet that it sends and by UdpTransport for each that arrives.
// docs/udp_wire.md has the keys, the nonces and the threats.
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/secret_memory.h"
#include "protocol/host_segment.h"
#include "transport/transport.h"
#include "udp/datagram_socket.h"
#include "udp/packet.h"
#include "udp/security.h"

namespace acp::udp {

/// "AES-256-GMAC", for messages to the user.
std::string_view name_of(Cipher cipher, Security security) noexcept;

/// Whether this processor has the instructions that kAes256Gcm needs.
bool has_aes() noexcept;

/// One thread at a time; the engine's mutex sees to that.
class PacketGuard {
 public:
  using Secret = protocol::JobSecret;

  /// Bytes of a train, at most: all its packets are sealed before it is sent.
  static constexpr std::size_t kKeptBytes = std::size_t{64} << 10;

  /// Derives one key for each color and cipher, into secret memory. `secret` is
  /// not kept; it may be null with kOff.
  PacketGuard(Security security, const Secret* secret, transport::Color colors);
  PacketGuard(const PacketGuard&) = delete;
  PacketGuard& operator=(const PacketGuard&) = delete;
  ~PacketGuard() = default;

  Security security() const noexcept { return security_; }

  /// The cipher towards a peer that has AES instructions or not.
  Cipher cipher_with(bool peer_has_aes) const noexcept;

  /// Whether seal() takes a tail. The ciphers of the library read one piece.
  bool takes_tail() const noexcept { return security_ == Security::kOff; }

  /// Completes a packet: `head` is what encode_packet returned for `header`,
  /// and `tail` ends its payload. Returns the datagram to send. It may lie in a
  /// buffer of this object, which stays until kKeptBytes more have been sealed;
  /// `head` then still has the plain payload.
  Datagram seal(Cipher cipher,
                transport::Color color,
                const PacketHeader& header,
                std::span<std::byte> head,
                std::span<const std::byte> tail) noexcept;

  /// Checks the tag of the packet in `datagram`, and decrypts the payload where
  /// it lies. `header` is what decode_packet read there. False: the packet is
  /// not from a process of this job, or it was damaged; then its payload is
  /// undefined.
  bool open(Cipher cipher,
            transport::Color color,
            const PacketHeader& header,
            std::span<std::byte> datagram) noexcept;

  /// Whether open() would succeed with one of the ciphers that a process of the
  /// job may use towards this one. `datagram` is unchanged afterwards.
  bool is_of_job(transport::Color color,
                 const PacketHeader& header,
                 std::span<std::byte> datagram) noexcept;

 private:
  using Key = std::array<unsigned char, 32>;

  /// The keys of a color. The AES key has the form that AES-GCM uses for each
  /// packet, and the key itself begins it. It is all zeros without AES.
  struct alignas(16) ColorKeys {
    crypto_aead_aes256gcm_state aes;
    Key chacha;
  };

  Datagram seal_checksum(std::span<std::byte> head,
                         std::span<const std::byte> tail) noexcept;
  Datagram seal_secret(Cipher cipher,
                       transport::Color color,
                       const PacketHeader& header,
                       std::span<std::byte> head) noexcept;

  /// The result of open_secret(): the payload, or only whether it is authentic.
  enum class Wanted : std::uint8_t { kPayload, kVerdict };

  bool open_secret(Cipher cipher,
                   transport::Color color,
                   const PacketHeader& header,
                   std::span<std::byte> datagram,
                   Wanted wanted) noexcept;

  std::span<std::byte> room_for(std::size_t bytes) noexcept;

  // The constructor alone writes these fields.
  Security security_;
  bool has_aes_ = false;  ///< There are AES keys.
  TailHash tail_hash_;
  SecretArray<ColorKeys> keys_;  ///< By color; null with kOff.

  /// Results of seal() with kEncrypt, which writes them under the engine's
  /// mutex.
  std::vector<std::byte> ciphertext_;
  /// Where the next one begins. Written by room_for().
  std::size_t ciphertext_at_ = 0;
};

}  // namespace acp::udp
