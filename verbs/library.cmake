# The libraries that the transport over RDMA devices needs.
acp_find_library(VERBS RDMA "the transport over RDMA devices" libibverbs librdmacm)
