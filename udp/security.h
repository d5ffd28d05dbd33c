// How packets may be protected: the words for it, without the code.
#pragma once

#include <cstdint>
#include <string_view>

namespace acp::udp {

/// How the packets of a job are protected. All processes must have it alike.
enum class Security : std::uint8_t {
  kOff = 0,      ///< The tag is a checksum: whoever can send can write.
  kAuth = 1,     ///< The tag proves that a process of the job has sent it.
  kEncrypt = 2,  ///< Also, only processes of the job can read the payload.
};

/// The word for it in messages.
constexpr std::string_view text_of(Security security) noexcept {
  switch (security) {
    case Security::kOff: return "unprotected";
    case Security::kAuth: return "authenticated";
    case Security::kEncrypt: return "encrypted";
  }
  return "";
}

/// The algorithm between two processes: AES where both have its instructions.
enum class Cipher : std::uint8_t { kChecksum, kAes256Gcm, kChaCha20Poly1305 };

}  // namespace acp::udp
