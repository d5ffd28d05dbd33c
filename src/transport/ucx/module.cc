// libacp-ucx.so begins here: the network "ucx" as a module. The loader in
// src/settings/module.cc reads its entry point, and src/api/open_network.cc
// calls that. It may open nothing when it is loaded, because acp_info loads it
// too.
#include "settings/module.h"

#include "transport/network.h"

namespace acp::ucx {

transport::OpenNetwork open_network;  // open_network.cc

}  // namespace acp::ucx

ACP_MODULE(acp::ucx::open_network);
