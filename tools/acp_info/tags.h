// Which library makes the tags of udp packets on this machine. Asked by
// facts.cc and checks.cc.
#pragma once

#include <string>
#include <string_view>

namespace acp::info {

struct TagFact {
  std::string library;    ///< "intel-ipsec-mb 1.3.0", or "libsodium".
  std::string module{};   ///< File of the module; "" where none is used.
  std::string why{};      ///< Why intel-ipsec-mb is not used; "" where it is.
  bool is_usable = true;  ///< False: ACP_UDP_TAGS names what is not there.
};

/// `setting` is the text of ACP_UDP_TAGS, and `folders` that of
/// ACP_MODULE_PATH.
TagFact tag_fact(std::string_view setting, std::string_view folders);

}  // namespace acp::info
