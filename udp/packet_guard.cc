// Tags and encryption: AES-256-GCM by the library that the constructor got,
// ChaCha20-Poly1305 by libsodium, checksums by XXH3. Called with packets that
// Endpoint has encoded and UdpTransport has decoded; touches nothing but their
// bytes.
#include "udp/packet_guard.h"

#include <fmt/core.h>
#include <sodium.h>

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

using transport::AesGcm;

/// A schedule begins at a multiple of this.
constexpr std::size_t kLine = 64;

static_assert(std::tuple_size_v<AesGcm::Nonce> ==
              crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
static_assert(std::tuple_size_v<AesGcm::Tag> == kTagBytes);

/// Source and destination with 24 bits each, then txno with 48. Two packets
/// never have the same one with the same key: a color has a key of its own, and
/// a stream counts its transmissions.
AesGcm::Nonce nonce_of(const PacketHeader& header) noexcept {
  std::array<std::byte, 16> bytes{};
  store_little(bytes.data(), std::uint64_t{header.source} |
                                 std::uint64_t{header.destination} << 24);
  store_little(bytes.data() + 6, header.txno);
  AesGcm::Nonce nonce;
  std::memcpy(nonce.data(), bytes.data(), nonce.size());
  return nonce;
}

unsigned char* raw(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}

const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

/// Bytes below a caller's frame that libsodium's ChaCha20-Poly1305 uses,
/// rounded up: 2,168 as measured. It wipes its own state.
constexpr std::size_t kChaChaFrameBytes = 2560;

[[gnu::always_inline]] inline void wipe_chacha() noexcept {
  clear_vector_registers();
  wipe_frames<kChaChaFrameBytes>();
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

/// Both ciphers get keys where this process has AES-256-GCM: the peer decides
/// which one it can open. Each color has keys of its own, so equal numbers of
/// transmissions in two colors never share a nonce under one key. The functions
/// of the library may leave a key on the stack, which is wiped.
PacketGuard::PacketGuard(Security security,
                         const Secret* secret,
                         transport::Color colors,
                         const AesGcm* aes)
    : security_(security), aes_(aes) {
  if (security == Security::kOff) {
    return;
  }
  ACP_ASSERT(sodium_init() >= 0 && secret != nullptr);
  chacha_keys_ = make_secret_array<Key>(colors);
  if (aes_ != nullptr) {
    schedule_bytes_ = (aes_->schedule_bytes() + kLine - 1) / kLine * kLine;
    schedules_ = make_secret_array<std::byte>(colors * schedule_bytes_);
  }
  const SecretArray<Key> key = make_secret_array<Key>(1);
  for (transport::Color color = 0; color < colors; ++color) {
    derive(*secret, kFirstChaChaKey + color, chacha_keys_[color]);
    if (aes_ != nullptr) {
      derive(*secret, kFirstAesKey + color, key[0]);
      aes_->expand(key[0], schedules_.get() + color * schedule_bytes_);
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
  return peer_has_aes && aes_ != nullptr ? Cipher::kAes256Gcm
                                         : Cipher::kChaCha20Poly1305;
}

std::string PacketGuard::describe() const {
  const Cipher cipher = cipher_with(true);
  const std::string_view name = name_of(cipher, security_);
  return cipher == Cipher::kAes256Gcm
             ? fmt::format("{} by {}", name, aes_->library())
             : std::string(name);
}

bool PacketGuard::takes_tail(Cipher cipher) const noexcept {
  switch (cipher) {
    case Cipher::kChecksum: return true;
    case Cipher::kAes256Gcm: return aes_->takes_pieces();
    case Cipher::kChaCha20Poly1305: return false;
  }
  return false;
}

Datagram PacketGuard::seal(Cipher cipher,
                           transport::Color color,
                           const PacketHeader& header,
                           std::span<std::byte> head,
                           std::span<const std::byte> tail) noexcept {
  if (cipher == Cipher::kChecksum) {
    return seal_checksum(head, tail);
  }
  ACP_ASSERT(tail.empty() || takes_tail(cipher));
  return security_ == Security::kEncrypt
             ? seal_encrypted(cipher, color, header, head, tail)
             : seal_auth(cipher, color, header, head, tail);
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

/// The tag covers the whole packet with a zero tag.
Datagram PacketGuard::seal_auth(Cipher cipher,
                                transport::Color color,
                                const PacketHeader& header,
                                std::span<std::byte> head,
                                std::span<const std::byte> tail) noexcept {
  const Nonce nonce = nonce_of(header);
  Tag tag{};
  if (cipher == Cipher::kAes256Gcm) {
    const std::array<AesGcm::Piece, 2> pieces = {head, tail};
    tag = aes_->tag(schedule_of(color), nonce,
                    std::span(pieces).first(tail.empty() ? 1 : 2));
  } else {
    (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        raw(head.data() + head.size()), raw(tag.data()), nullptr, nullptr, 0,
        raw(head.data()), head.size(), nullptr, nonce.data(),
        chacha_keys_[color].data());
    wipe_chacha();
  }
  std::memcpy(tag_of(head).data(), tag.data(), tag.size());
  return {head, tail};
}

/// The payload goes to ciphertext_: the fragment and the program's memory keep
/// the plain bytes, which a retransmission encrypts under another nonce.
/// Header, zero tag and bitmap stay plain, and the tag covers them, too.
Datagram PacketGuard::seal_encrypted(Cipher cipher,
                                     transport::Color color,
                                     const PacketHeader& header,
                                     std::span<const std::byte> head,
                                     std::span<const std::byte> tail) noexcept {
  const std::size_t clear_bytes = body_offset(header);
  const AesGcm::Piece clear = head.first(clear_bytes);
  const std::array<AesGcm::Piece, 2> plain = {head.subspan(clear_bytes), tail};
  const std::span<std::byte> packet = room_for(head.size() + tail.size());
  std::memcpy(packet.data(), clear.data(), clear_bytes);
  std::byte* const out = packet.data() + clear_bytes;
  const Nonce nonce = nonce_of(header);
  Tag tag{};
  if (cipher == Cipher::kAes256Gcm) {
    tag = aes_->seal(schedule_of(color), nonce, clear,
                     std::span(plain).first(tail.empty() ? 1 : 2), out);
  } else {
    (void)crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        raw(out), raw(tag.data()), nullptr, raw(plain[0].data()),
        plain[0].size(), raw(clear.data()), clear_bytes, nullptr, nonce.data(),
        chacha_keys_[color].data());
    wipe_chacha();
  }
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
  return (aes_ != nullptr && is_made_with(Cipher::kAes256Gcm)) ||
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
  Tag tag{};
  std::memcpy(tag.data(), in_packet.data(), tag.size());
  std::memset(in_packet.data(), 0, in_packet.size());
  const std::size_t clear =
      security_ == Security::kEncrypt ? body_offset(header) : datagram.size();
  const bool is_good = is_authentic(cipher, color, nonce_of(header), datagram,
                                    clear, tag, wanted);
  std::memcpy(in_packet.data(), tag.data(), tag.size());
  return is_good;
}

/// The first `clear` bytes of the datagram are plain.
bool PacketGuard::is_authentic(Cipher cipher,
                               transport::Color color,
                               const Nonce& nonce,
                               std::span<std::byte> datagram,
                               std::size_t clear,
                               const Tag& tag,
                               Wanted wanted) const noexcept {
  const AesGcm::Piece plain = datagram.first(clear);
  const std::span<std::byte> body = datagram.subspan(clear);
  const bool opens = wanted == Wanted::kPayload && !body.empty();
  if (cipher == Cipher::kAes256Gcm) {
    const std::byte* const schedule = schedule_of(color);
    return opens ? aes_->open(schedule, nonce, plain, body, tag)
                 : aes_->check(schedule, nonce, plain, body, tag);
  }
  // libsodium only verifies when it has no buffer for the payload.
  const int result = crypto_aead_chacha20poly1305_ietf_decrypt_detached(
      opens ? raw(body.data()) : nullptr, nullptr, raw(body.data()),
      body.size(), raw(tag.data()), raw(plain.data()), plain.size(),
      nonce.data(), chacha_keys_[color].data());
  wipe_chacha();
  return result == 0;
}

}  // namespace acp::udp
