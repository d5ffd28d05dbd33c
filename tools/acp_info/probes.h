// Probes: each tries a service that a transport needs from this machine, and
// says whether it worked.
#pragma once

#include <cstdint>
#include <string>

namespace acp::info {

/// The result of a probe.
struct Probe {
  bool works = false;
  std::string detail;  ///< The fact seen, or the error's text.
};

/// Maps a sealed memory file, as ranks of one host do to share memory.
Probe probe_memfd();

/// Copies with process_vm_readv and process_vm_writev between two processes.
/// Neither is the other's ancestor, as it is with ranks.
Probe probe_cross_memory();

/// Binds a UDP socket to an address and sends a datagram from it to itself.
Probe probe_udp(const std::string& text);

/// Looks for an RDMA port that is active, has an address, and is of a kind that
/// jobs can use. This process must also be allowed to open its connection
/// manager.
Probe probe_ib();

/// Asks UCX for the version, the transports with their devices, and the
/// executors of atomics of 8 bytes. Where UCX_TLS, UCX_NET_DEVICES or `lists`
/// (ACP_UCX_DEVICES) choose among them, opens the transports that are left;
/// none left is a failure. libacp-ucx.so has to be loaded before. Lets UCX log
/// nothing but fatal errors from now on, unless UCX_LOG_LEVEL is set.
Probe probe_ucx(const std::string& lists);

/// Returns the first number in a file such as /proc/sys/net/core/rmem_max; -1
/// when it cannot be read.
std::int64_t number_in_file(const char* path);

}  // namespace acp::info
