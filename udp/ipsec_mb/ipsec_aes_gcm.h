// AES-256-GCM by intel-ipsec-mb. Made by module.cc for the processor at hand,
// and by tests for each set of instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/aes_gcm.h"

namespace acp::udp::ipsec_mb {

/// Which code of the library is used. kBest is the library's own choice.
enum class Code : std::uint8_t {
  kBest,
  kSse,
  kAvx,
  kAvx2,
  kAvx512,      ///< Without instructions that do AES on whole registers.
  kAvx512Vaes,  ///< With them (VAES, VPCLMULQDQ).
};

/// The result of make_aes_gcm().
struct Made {
  std::shared_ptr<const transport::AesGcm>
      aes;  ///< Null: `why` has the reason.
  std::string why{};
};

/// Fails where the processor or the library has no such code, and where the
/// library's own test of its functions fails. Takes half a millisecond.
Made make_aes_gcm(Code code);

}  // namespace acp::udp::ipsec_mb
