// Makes and checks the tags of packets, and encrypts payloads. Used by Endpoint
// for each packet that it sends and by UdpTransport for each that arrives.
// docs/udp_wire.md has the keys, the nonces and the threats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret_memory.h"
#include "protocol/host_segment.h"
#include "transport/aes_gcm.h"
#include "transport/transport.h"
#include "udp/datagram_socket.h"
#include "udp/packet.h"
#include "udp/security.h"
#include "udp/sodium_aes_gcm.h"

namespace acp::udp {

/// "AES-256-GMAC", for messages to the user.
std::string_view name_of(Cipher cipher, Security security) noexcept;

/// One thread at a time; the engine's mutex sees to that.
class PacketGuard {
 public:
  using Secret = protocol::JobSecret;

  /// Bytes of a train, at most: all its packets are sealed before it is sent.
  static constexpr std::size_t kKeptBytes = std::size_t{64} << 10;

  /// Derives one key for each color and cipher, into secret memory. `secret` is
  /// not kept; it may be null with kOff. `aes` is null where this process has
  /// no AES-256-GCM.
  PacketGuard(Security security,
              const Secret* secret,
              transport::Color colors,
              const transport::AesGcm* aes = sodium_aes_gcm());
  PacketGuard(const PacketGuard&) = delete;
  PacketGuard& operator=(const PacketGuard&) = delete;
  ~PacketGuard() = default;

  Security security() const noexcept { return security_; }

  /// The cipher towards a peer that has AES-256-GCM or not.
  Cipher cipher_with(bool peer_has_aes) const noexcept;

  /// The cipher towards a peer like this process, and the library that makes
  /// it: "AES-256-GMAC by libsodium 1.0.18".
  std::string describe() const;

  /// Whether seal() takes a tail with this cipher. Some libraries read one
  /// piece.
  bool takes_tail(Cipher cipher) const noexcept;

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
  using Key = transport::AesGcm::Key;
  using Nonce = transport::AesGcm::Nonce;
  using Tag = transport::AesGcm::Tag;

  const std::byte* schedule_of(transport::Color color) const noexcept {
    return schedules_.get() + color * schedule_bytes_;
  }

  Datagram seal_checksum(std::span<std::byte> head,
                         std::span<const std::byte> tail) noexcept;
  Datagram seal_auth(Cipher cipher,
                     transport::Color color,
                     const PacketHeader& header,
                     std::span<std::byte> head,
                     std::span<const std::byte> tail) noexcept;
  Datagram seal_encrypted(Cipher cipher,
                          transport::Color color,
                          const PacketHeader& header,
                          std::span<const std::byte> head,
                          std::span<const std::byte> tail) noexcept;

  /// The result of open_secret(): the payload, or only whether it is authentic.
  enum class Wanted : std::uint8_t { kPayload, kVerdict };

  bool open_secret(Cipher cipher,
                   transport::Color color,
                   const PacketHeader& header,
                   std::span<std::byte> datagram,
                   Wanted wanted) noexcept;
  bool is_authentic(Cipher cipher,
                    transport::Color color,
                    const Nonce& nonce,
                    std::span<std::byte> datagram,
                    std::size_t clear,
                    const Tag& tag,
                    Wanted wanted) const noexcept;

  std::span<std::byte> room_for(std::size_t bytes) noexcept;

  // The constructor alone writes these fields.
  Security security_;
  const transport::AesGcm* aes_;  ///< Null: no AES-256-GCM here.
  TailHash tail_hash_;
  // Null with kOff, and the schedules also without AES-256-GCM.
  std::size_t schedule_bytes_ = 0;  ///< Bytes for each color, rounded up to 64.
  SecretArray<std::byte> schedules_;  ///< Keys of AES-256-GCM, by color.
  SecretArray<Key> chacha_keys_;      ///< By color.

  /// Results of seal() with kEncrypt. Written by seal_encrypted().
  std::vector<std::byte> ciphertext_;
  /// Where the next one begins. Written by room_for().
  std::size_t ciphertext_at_ = 0;
};

}  // namespace acp::udp
