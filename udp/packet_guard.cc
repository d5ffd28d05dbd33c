// Tags and encryption, by libsodium and XXH3. Called with packets that Endpoint
// has encoded and UdpTransport has decoded; touches nothing but their bytes.
#include "udp/packet_guard.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/assert.h"
#include "base/little_endian.h"

namespace acp::udp {

namespace {

/// The context of crypto_kdf: keys of other protocols differ from these.
constexpr char kKeyContext[crypto_kdf_CONTEXTBYTES + 1] = "acp-udp2";
/// Subkey numbers: the ciphers' keys of color c are at first + c.
constexpr std::uint64_t kFirstAesKey = 1;
constexpr std::uint64_t kFirstChaChaKey = 257;

/// Bytes of a packet, at most.
constexpr std::size_t kMostBytes = kHeadroomBytes + UINT16_MAX;

/// Where the payload of a packet begins.
std::size_t body_offset(const PacketHeader& header) noexcept {
  return kMinPacketBytes + ((header.flags & kFlagSack) != 0 ? kSackBytes : 0);
}

/// Source and destination with 24 bits each, then txno with 48. Two packets
/// never have the same one with the same key: a color has a key of its own, and
/// a stream counts its transmissions.
using Nonce = std::array<unsigned char, 12>;
static_assert(Nonce().size() == crypto_aead_aes256gcm_NPUBBYTES);
static_assert(Nonce().size() == crypto_aead_chacha20poly1305_ietf_NPUBBYTES);

Nonce nonce_of(const PacketHeader& header) noexcept {
  std::array<std::byte, 16> bytes{};
  store_little(bytes.data(), std::uint64_t{header.source} |
                                 std::uint64_t{header.destination} << 24);
  store_little(bytes.data() + 6, header.txno);
  Nonce nonce;
  std::memcpy(nonce.data(), bytes.data(), nonce.size());
  return nonce;
}

unsigned char* raw(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}

/// Bytes below a caller's frame that the functions of the library use, rounded
/// up: 432 as measured with AES, where round keys are among them, and 2,168
/// with ChaCha20, which wipes its own state.
constexpr std::size_t kAesFrameBytes = 768;
constexpr std::size_t kChaChaFrameBytes = 2560;

/// Wipes the frames of functions that have returned, and the registers that had
/// round keys. Not inlined: the room has to lie where those frames lay.
template <std::size_t kBytes>
[[gnu::noinline]] void wipe_traces() noexcept {
  clear_vector_registers();
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): old bytes go
  std::array<std::byte, kBytes> room;
  ::explicit_bzero(room.data(), room.size());
}

void wipe_traces_of(Cipher cipher) noexcept {
  cipher == Cipher::kAes256Gcm ? wipe_traces<kAesFrameBytes>()
                               : wipe_traces<kChaChaFrameBytes>();
}

/// Writes the key where it stays: it has no copy elsewhere.
void derive(const PacketGuard::Secret& secret,
            std::uint64_t number,
            std::array<unsigned char, 32>& key) {
  static_assert(crypto_kdf_KEYBYTES == sizeof(PacketGuard::Secret));
  (void)crypto_kdf_derive_from_key(key.data(), key.size(), number, kKeyContext,
                                   secret.data());
}

}  // namespace

std::string_view name_of(Cipher cipher, Security security) noexcept {
  const bool is_encrypted = security == Security::kEncrypt;
  switch (cipher) {
    case Cipher::kChecksum: return "XXH3, a checksum";
    case Cipher::kAes256Gcm:
      return is_encrypted ? "AES-256-GCM" : "AES-256-GMAC";
    case Cipher::kChaCha20Poly1305:
      return is_encrypted ? "ChaCha20-Poly1305" : "Poly1305";
  }
  return "";
}

/// The library looks at the processor once, in sodium_init.
bool has_aes() noexcept {
  return sodium_init() >= 0 && crypto_aead_aes256gcm_is_available() != 0;
}

/// Both ciphers get keys where the CPU has AES: the peer decides which one it
/// can open. Each color has keys of its own, so equal numbers of transmissions
/// in two colors never share a nonce under one key. The functions of the
/// library may leave a key on the stack, which is wiped.
PacketGuard::PacketGuard(Security security,
                         const Secret* secret,
                         transport::Color colors)
    : security_(security) {
  if (security == Security::kOff) {
    return;
  }
  ACP_ASSERT(sodium_init() >= 0 && secret != nullptr);
  has_aes_ = has_aes();
  keys_ = make_secret_array<ColorKeys>(colors);
  const SecretArray<Key> key = make_secret_array<Key>(1);
  for (transport::Color color = 0; color < colors; ++color) {
    derive(*secret, kFirstChaChaKey + color, keys_[color].chacha);
    if (has_aes_) {
      derive(*secret, kFirstAesKey + color, key[0]);
      (void)crypto_aead_aes256gcm_beforenm(&keys_[color].aes, key[0].data());
    }
  }
  wipe_stack();
  if (security == Security::kEncrypt) {
    // A packet that finds no room behind the one before goes to the start.
    ciphertext_.resize(kKeptBytes + kMostBytes);
  }
}

Cipher PacketGuard::cipher_with(bool peer_has_aes) const noexcept {
  if (security_ == Security::kOff) {
    return Cipher::kChecksum;
  }
  return peer_has_aes && has_aes_ ? Cipher::kAes256Gcm
                                  : Cipher::kChaCha20Poly1305;
}

Datagram PacketGuard::seal(Cipher cipher,
                           transport::Color color,
                           const PacketHeader& header,
                           std::span<std::byte> head,
                           std::span<const std::byte> tail) noexcept {
  if (cipher == Cipher::kChecksum) {
    return seal_checksum(head, tail);
  }
  ACP_ASSERT(tail.empty());
  return seal_secret(cipher, color, header, head);
}

Datagram PacketGuard::seal_checksum(std::span<std::byte> head,
                                    std::span<const std::byte> tail) noexcept {
  store_little(tag_of(head).data(), checksum_of(head, tail, tail_hash_));
  return {head, tail};
}

std::span<std::byte> PacketGuard::room_for(std::size_t bytes) noexcept {
  if (bytes > ciphertext_.size() - ciphertext_at_) {
    ciphertext_at_ = 0;
  }
  const auto room = std::span(ciphertext_).subspan(ciphertext_at_, bytes);
  ciphertext_at_ += bytes;
  return room;
}

/// The tag covers the whole packet with a zero tag. With encryption the payload
/// goes to ciphertext_: the fragment keeps the plain bytes, which a
/// retransmission encrypts under another nonce.
Datagram PacketGuard::seal_secret(Cipher cipher,
                                  transport::Color color,
                                  const PacketHeader& header,
                                  std::span<std::byte> head) noexcept {
  const bool is_encrypted = security_ == Security::kEncrypt;
  const std::size_t clear = is_encrypted ? body_offset(header) : head.size();
  std::span<std::byte> packet = head;
  if (is_encrypted) {
    packet = room_for(head.size());
    std::memcpy(packet.data(), head.data(), clear);
  }
  const Nonce nonce = nonce_of(header);
  std::array<unsigned char, kTagBytes> tag{};
  unsigned char* out = raw(packet.data() + clear);
  const unsigned char* plain = raw(head.data() + clear);
  const std::size_t plain_bytes = head.size() - clear;
  if (cipher == Cipher::kAes256Gcm) {
    (void)crypto_aead_aes256gcm_encrypt_detached_afternm(
        out, tag.data(), nullptr, plain, plain_bytes, raw(packet.data()), clear,
        nullptr, nonce.data(), &keys_[color].aes);
  } else {
    (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        out, tag.data(), nullptr, plain, plain_bytes, raw(packet.data()), clear,
        nullptr, nonce.data(), keys_[color].chacha.data());
  }
  wipe_traces_of(cipher);
  std::memcpy(tag_of(packet).data(), tag.data(), tag.size());
  return {packet, {}};
}

bool PacketGuard::open(Cipher cipher,
                       transport::Color color,
                       const PacketHeader& header,
                       std::span<std::byte> datagram) noexcept {
  if (cipher == Cipher::kChecksum) {
    const std::span<std::byte, kTagBytes> in_packet = tag_of(datagram);
    return load_little<std::uint64_t>(in_packet.data() + 8) == 0 &&
           load_little<std::uint64_t>(in_packet.data()) ==
               checksum_of(datagram, {}, tail_hash_);
  }
  return open_secret(cipher, color, header, datagram, Wanted::kPayload);
}

bool PacketGuard::is_of_job(transport::Color color,
                            const PacketHeader& header,
                            std::span<std::byte> datagram) noexcept {
  if (security_ == Security::kOff) {
    return open(Cipher::kChecksum, color, header, datagram);
  }
  const auto is_made_with = [&](Cipher cipher) {
    return open_secret(cipher, color, header, datagram, Wanted::kVerdict);
  };
  return (has_aes_ && is_made_with(Cipher::kAes256Gcm)) ||
         is_made_with(Cipher::kChaCha20Poly1305);
}

/// The tag was computed over a packet whose tag is zero, so the tag is out of
/// the packet during the check. Decryption is in place: the datagram is dropped
/// when the tag is wrong.
bool PacketGuard::open_secret(Cipher cipher,
                              transport::Color color,
                              const PacketHeader& header,
                              std::span<std::byte> datagram,
                              Wanted wanted) noexcept {
  const std::span<std::byte, kTagBytes> in_packet = tag_of(datagram);
  std::array<unsigned char, kTagBytes> tag{};
  std::memcpy(tag.data(), in_packet.data(), tag.size());
  std::memset(in_packet.data(), 0, in_packet.size());
  const std::size_t clear =
      security_ == Security::kEncrypt ? body_offset(header) : datagram.size();
  const Nonce nonce = nonce_of(header);
  const unsigned char* body = raw(datagram.data() + clear);
  const std::size_t body_bytes = datagram.size() - clear;
  // The library only verifies when it has no buffer for the payload.
  unsigned char* out =
      wanted == Wanted::kPayload ? raw(datagram.data() + clear) : nullptr;
  const int result =
      cipher == Cipher::kAes256Gcm
          ? crypto_aead_aes256gcm_decrypt_detached_afternm(
                out, nullptr, body, body_bytes, tag.data(),
                raw(datagram.data()), clear, nonce.data(), &keys_[color].aes)
          : crypto_aead_chacha20poly1305_ietf_decrypt_detached(
                out, nullptr, body, body_bytes, tag.data(),
                raw(datagram.data()), clear, nonce.data(),
                keys_[color].chacha.data());
  wipe_traces_of(cipher);
  std::memcpy(in_packet.data(), tag.data(), tag.size());
  return result == 0;
}

}  // namespace acp::udp
