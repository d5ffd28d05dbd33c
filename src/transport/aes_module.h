// Finds the module that makes tags faster than libsodium. Called by
// udp/aes_choice.cc, and by acp_info.
#pragma once

#include <string>
#include <string_view>

#include "transport/aes_gcm.h"

namespace acp::transport {

/// The result of load_aes_module().
struct AesModule {
  const AesGcm* aes = nullptr;  ///< Null: `why` has the reason.
  std::string path{};  ///< The file that was loaded or refused; may be empty.
  std::string why{};   ///< The reason and the remedy.
  /// There is a file, but it is of another version, or a library is missing.
  bool is_refused = false;
};

/// Loads libacp-ipsec-mb.so, for good. `folders` are those of ACP_MODULE_PATH.
/// Logs nothing.
AesModule load_aes_module(std::string_view folders);

}  // namespace acp::transport
