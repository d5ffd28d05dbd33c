// The libraries that make tags on this machine. Tests of the udp transport run
// with each of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/aes_gcm.h"

namespace acp::test {

struct AesLibrary {
  std::string name;  ///< The library and its instructions, for messages.
  const transport::AesGcm* aes;
};

/// libsodium, and intel-ipsec-mb with each set of instructions that this
/// processor has. Empty without AES instructions.
const std::vector<AesLibrary>& aes_libraries();

/// A library for a process of a simulated job. Four seeds in a row have all
/// pairs of two libraries. ACP_TEST_TAGS=libsodium, or ipsec-mb, lets all
/// processes have that one. Null without AES instructions.
const transport::AesGcm* aes_of_process(std::uint64_t seed, std::uint32_t proc);

}  // namespace acp::test
