// How the job's secret reaches the hosts under a launcher other than acprun. A
// launcher's key-value space shows its values to whoever sees its packets, and
// its libraries keep copies of them. So a leader puts a public key there, and
// rank 0 puts the secret sealed for each leader (X25519, crypto_box_seal).
//
//   leader of a host                    launcher                   rank 0
//     |-- host record with its public key -->|                       |
//     |<-------------------------- fence ----|---------------------->|
//     |                                      |<-- secret, sealed for |
//     |                                      |    each leader -------|
//     |<------ fence of Phase::kNetwork -----|---------------------->|
//     |<-- secret, sealed for this leader ---|
//     opens it into its host segment
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/secret_memory.h"
#include "protocol/host_segment.h"

namespace acp::runtime {

/// A leader's public key, in its HostRecord.
using SealKey = std::array<std::uint8_t, 32>;

/// The pair of keys of a leader. Its private key lies in secret memory, until
/// the secret is there. Move-only, and used by one thread.
class SealKeys {
 public:
  SealKeys();

  const SealKey& public_key() const noexcept { return public_key_; }

  /// Writes the secret that was sealed for this leader. False, with nothing
  /// written: these bytes were not.
  [[nodiscard]] bool open(std::string_view sealed,
                          protocol::JobSecret& secret) const;

 private:
  SealKey public_key_{};
  SecretArray<std::uint8_t> private_key_;
};

/// The secret for the leader with this public key. nullopt: no leader has such
/// a key.
std::optional<std::string> seal_secret(const protocol::JobSecret& secret,
                                       const SealKey& leader);

}  // namespace acp::runtime
