// libacp-pmix.so begins here: the client of PMIx as a module.
#include "settings/module.h"

#include "runtime/pmix/pmix_client.h"

ACP_MODULE(acp::runtime::connect_by_pmix);
