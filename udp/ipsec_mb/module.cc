// libacp-ipsec-mb.so begins here: tags of datagrams by intel-ipsec-mb. The
// loader in src/settings/module.cc reads its entry point, and
// src/transport/aes_module.cc calls that. It may do nothing when it is loaded.
#include "settings/module.h"

#include "base/immortal.h"
#include "transport/aes_gcm.h"
#include "udp/ipsec_mb/ipsec_aes_gcm.h"

namespace acp::udp::ipsec_mb {

namespace {

/// The functions for this processor, which stay until the process ends.
transport::AesGcmOffer offer_aes_gcm() {
  static const Immortal<Made> made(make_aes_gcm(Code::kBest));
  return {(*made).aes.get(), (*made).why};
}

}  // namespace

}  // namespace acp::udp::ipsec_mb

ACP_MODULE(acp::udp::ipsec_mb::offer_aes_gcm);
