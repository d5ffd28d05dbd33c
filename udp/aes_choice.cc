// Takes intel-ipsec-mb where the module and the processor are there, and
// libsodium elsewhere. Both make equal bytes, so each process may choose by
// itself.
#include "udp/aes_choice.h"

#include "base/log.h"
#include "transport/aes_module.h"
#include "udp/sodium_aes_gcm.h"

namespace acp::udp {

/// A file that is there and does not fit is told of, because its user expects
/// it to work.
Result<const transport::AesGcm*> choose_aes_gcm(std::string_view setting,
                                                std::string_view folders,
                                                Warnings warnings) {
  if (setting == "libsodium") {
    return sodium_aes_gcm();
  }
  const transport::AesModule module = transport::load_aes_module(folders);
  if (module.aes != nullptr) {
    log(LogLevel::kDebug, "udp: tags by {}: {}", module.aes->library(),
        module.path);
    return module.aes;
  }
  if (setting == "ipsec-mb") {
    log_error(
        "ACP_UDP_TAGS=ipsec-mb: {}; or leave the setting out, and libsodium "
        "makes the tags",
        module.why);
    return Status::kUnsupported;
  }
  if (module.is_refused && warnings == Warnings::kOn) {
    log_warning(
        "udp: {}; libsodium makes the tags meanwhile, which takes longer",
        module.why);
  } else {
    log(LogLevel::kDebug, "udp: tags by libsodium: {}", module.why);
  }
  return sodium_aes_gcm();
}

}  // namespace acp::udp
