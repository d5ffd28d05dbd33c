// Looks for the module as udp does. It opens no network.
#include "tags.h"

#include <utility>

#include "transport/aes_module.h"

namespace acp::info {

TagFact tag_fact(std::string_view setting, std::string_view folders) {
  if (setting == "libsodium") {
    return {.library = "libsodium", .why = "ACP_UDP_TAGS=libsodium"};
  }
  transport::AesModule module = transport::load_aes_module(folders);
  if (module.aes != nullptr) {
    return {.library = std::string(module.aes->library()),
            .module = std::move(module.path)};
  }
  return {.library = "libsodium",
          .why = std::move(module.why),
          .is_usable = setting != "ipsec-mb"};
}

}  // namespace acp::info
