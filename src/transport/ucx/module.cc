// libacp-ucx.so begins here: the network "ucx" as a module.
#include "settings/module.h"

#include "transport/network.h"

namespace acp::ucx {

transport::OpenNetwork open_network;  // open_network.cc

}  // namespace acp::ucx

ACP_MODULE(acp::ucx::open_network);
