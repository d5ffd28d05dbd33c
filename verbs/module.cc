// libacp-verbs.so begins here: the network "ib" as a module.
#include "settings/module.h"

#include "transport/network.h"

namespace acp::verbs {

transport::OpenNetwork open_network;  // open_network.cc

}  // namespace acp::verbs

ACP_MODULE(acp::verbs::open_network);
