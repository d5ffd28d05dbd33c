// AES-256-GCM by libsodium. Called by PacketGuard for each packet where no
// faster library is there. It may allocate nothing.
#include "udp/sodium_aes_gcm.h"

#include <sodium.h>

#include <string>

#include "base/assert.h"
#include "base/immortal.h"
#include "base/secret_memory.h"

namespace acp::udp {

namespace {

using transport::AesGcm;

/// Bytes below a caller's frame that the functions of the library use, rounded
/// up: 432 as measured. Round keys are among them.
constexpr std::size_t kFrameBytes = 768;

const unsigned char* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes);
}

unsigned char* raw(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}

const crypto_aead_aes256gcm_state* state_in(
    const std::byte* schedule) noexcept {
  return reinterpret_cast<const crypto_aead_aes256gcm_state*>(schedule);
}

/// The library reads one piece. No piece is an empty one.
AesGcm::Piece only_piece(std::span<const AesGcm::Piece> pieces) noexcept {
  ACP_ASSERT(pieces.size() <= 1);
  return pieces.empty() ? AesGcm::Piece() : pieces[0];
}

[[gnu::always_inline]] inline void wipe_traces() noexcept {
  clear_vector_registers();
  wipe_frames<kFrameBytes>();
}

class SodiumAesGcm final : public AesGcm {
 public:
  SodiumAesGcm()
      : library_(std::string("libsodium ") + sodium_version_string()) {}

  std::string_view library() const noexcept override { return library_; }

  std::size_t schedule_bytes() const noexcept override {
    return sizeof(crypto_aead_aes256gcm_state);
  }

  bool takes_pieces() const noexcept override { return false; }

  /// The frames of this function have not been measured, and it runs once for
  /// each key.
  void expand(const Key& key, std::byte* schedule) const noexcept override {
    (void)crypto_aead_aes256gcm_beforenm(
        reinterpret_cast<crypto_aead_aes256gcm_state*>(schedule), key.data());
    wipe_stack();
  }

  Tag tag(const std::byte* schedule,
          const Nonce& nonce,
          std::span<const Piece> clear) const noexcept override {
    return encrypt(schedule, nonce, only_piece(clear), {}, nullptr);
  }

  bool check(const std::byte* schedule,
             const Nonce& nonce,
             Piece clear,
             Piece cipher,
             const Tag& tag) const noexcept override {
    // The library only verifies when it has no buffer for the plain bytes.
    return decrypt(schedule, nonce, clear, cipher, tag, nullptr);
  }

  Tag seal(const std::byte* schedule,
           const Nonce& nonce,
           Piece clear,
           std::span<const Piece> plain,
           std::byte* cipher) const noexcept override {
    return encrypt(schedule, nonce, clear, only_piece(plain), cipher);
  }

  bool open(const std::byte* schedule,
            const Nonce& nonce,
            Piece clear,
            std::span<std::byte> body,
            const Tag& tag) const noexcept override {
    return decrypt(schedule, nonce, clear, body, tag, body.data());
  }

 private:
  /// The library forbids a null pointer to no cipher text.
  static Tag encrypt(const std::byte* schedule,
                     const Nonce& nonce,
                     Piece clear,
                     Piece plain,
                     std::byte* cipher) noexcept {
    Tag tag;
    std::byte none{};
    (void)crypto_aead_aes256gcm_encrypt_detached_afternm(
        raw(plain.empty() ? &none : cipher), raw(tag.data()), nullptr,
        raw(plain.data()), plain.size(), raw(clear.data()), clear.size(),
        nullptr, nonce.data(), state_in(schedule));
    wipe_traces();
    return tag;
  }

  static bool decrypt(const std::byte* schedule,
                      const Nonce& nonce,
                      Piece clear,
                      Piece cipher,
                      const Tag& tag,
                      std::byte* plain) noexcept {
    const std::byte none{};
    const int result = crypto_aead_aes256gcm_decrypt_detached_afternm(
        raw(plain), nullptr, raw(cipher.empty() ? &none : cipher.data()),
        cipher.size(), raw(tag.data()), raw(clear.data()), clear.size(),
        nonce.data(), state_in(schedule));
    wipe_traces();
    return result == 0;
  }

  std::string library_;
};

}  // namespace

/// The library looks at the processor once, in sodium_init.
const AesGcm* sodium_aes_gcm() noexcept {
  static const Immortal<SodiumAesGcm> aes;
  const bool is_available =
      sodium_init() >= 0 && crypto_aead_aes256gcm_is_available() != 0;
  return is_available ? &*aes : nullptr;
}

}  // namespace acp::udp
