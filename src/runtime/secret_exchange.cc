// Seals and opens the job's secret, by libsodium. Called by the bootstrap under
// other launchers than acprun, in acp_init of leaders. It sends nothing, and
// leaves no copy of a key outside of secret memory.
#include "runtime/secret_exchange.h"

#include <sodium.h>

#include <utility>

#include "base/assert.h"

namespace acp::runtime {

namespace {

constexpr std::size_t kSealedBytes =
    sizeof(protocol::JobSecret) + crypto_box_SEALBYTES;

static_assert(sizeof(SealKey) == crypto_box_PUBLICKEYBYTES);

}  // namespace

SealKeys::SealKeys()
    : private_key_(make_secret_array<std::uint8_t>(crypto_box_SECRETKEYBYTES)) {
  ACP_ASSERT(sodium_init() >= 0);
  (void)crypto_box_keypair(public_key_.data(), private_key_.get());
  wipe_stack();
}

/// The library writes to its output also when it then refuses the bytes, so it
/// gets a room of its own.
bool SealKeys::open(std::string_view sealed,
                    protocol::JobSecret& secret) const {
  if (sealed.size() != kSealedBytes) {
    return false;
  }
  const auto opened = make_shared_secret<protocol::JobSecret>();
  const bool is_mine =
      crypto_box_seal_open(
          opened->data(), reinterpret_cast<const unsigned char*>(sealed.data()),
          sealed.size(), public_key_.data(), private_key_.get()) == 0;
  if (is_mine) {
    copy_secret(secret.data(), opened->data(), secret.size());
  }
  wipe_stack();
  return is_mine;
}

std::optional<std::string> seal_secret(const protocol::JobSecret& secret,
                                       const SealKey& leader) {
  ACP_ASSERT(sodium_init() >= 0);
  std::string sealed(kSealedBytes, '\0');
  const bool is_sealed =
      crypto_box_seal(reinterpret_cast<unsigned char*>(sealed.data()),
                      secret.data(), secret.size(), leader.data()) == 0;
  wipe_stack();
  return is_sealed ? std::optional(std::move(sealed)) : std::nullopt;
}

}  // namespace acp::runtime
