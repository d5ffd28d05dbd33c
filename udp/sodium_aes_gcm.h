// AES-256-GCM by libsodium, which every build has.
#pragma once

#include "transport/aes_gcm.h"

namespace acp::udp {

/// Null where the processor lacks the instructions that libsodium needs for
/// it. Thread-safe.
const transport::AesGcm* sodium_aes_gcm() noexcept;

}  // namespace acp::udp
