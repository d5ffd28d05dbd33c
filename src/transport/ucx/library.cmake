# The library that the transport over UCX needs.
acp_find_library(UCX UCX "the transport over UCX" ucx>=1.11)
