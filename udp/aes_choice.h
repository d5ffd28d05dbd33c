// Which library makes the tags of a process's datagrams. Called by
// UdpTransport::open, once it is known that there will be tags.
#pragma once

#include <cstdint>
#include <string_view>

#include "status/result.h"
#include "transport/aes_gcm.h"

namespace acp::udp {

/// Whether choose_aes_gcm() logs a warning about a module that does not fit.
/// One process of a host does.
enum class Warnings : std::uint8_t { kOff, kOn };

/// `setting` is the text of ACP_UDP_TAGS, and `folders` that of
/// ACP_MODULE_PATH. The value is null where no library has AES-256-GCM for this
/// processor. kUnsupported, logged: the setting names the module, and there is
/// none.
Result<const transport::AesGcm*> choose_aes_gcm(std::string_view setting,
                                                std::string_view folders,
                                                Warnings warnings);

}  // namespace acp::udp
