// Loads libacp-ipsec-mb.so and asks it for AES-256-GCM. It may not log: a
// machine without the module has libsodium, and only its caller knows whether
// the user has asked for the module.
#include "transport/aes_module.h"

#include <utility>

#include "settings/module.h"

namespace acp::transport {

AesModule load_aes_module(std::string_view folders) {
  LoadedModule module = load_module("ipsec-mb", folders);
  AesModule found{.path = std::move(module.path), .why = std::move(module.why)};
  if (module.table == nullptr) {
    found.is_refused = !found.path.empty();
    return found;
  }
  AesGcmOffer offer = module.entry_point<OfferAesGcm>()();
  found.aes = offer.aes;
  found.why = std::move(offer.why);
  return found;
}

}  // namespace acp::transport
