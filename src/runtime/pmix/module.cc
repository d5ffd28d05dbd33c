// libacp-pmix.so begins here: the client of PMIx as a module. The loader in
// src/settings/module.cc reads its entry point, and find_bootstrap calls that.
// It may connect to nothing when it is loaded.
#include "settings/module.h"

#include "runtime/pmix/pmix_client.h"

ACP_MODULE(acp::runtime::connect_by_pmix);
