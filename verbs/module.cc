// libacp-verbs.so begins here: the network "ib" as a module. The loader in
// src/settings/module.cc reads its entry point, and src/api/open_network.cc
// calls that. It may start nothing when it is loaded, because acp_info loads it
// too.
#include "settings/module.h"

#include "transport/network.h"

namespace acp::verbs {

transport::OpenNetwork open_network;  // open_network.cc

}  // namespace acp::verbs

ACP_MODULE(acp::verbs::open_network);
