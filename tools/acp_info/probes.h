// Tries what the transports need from this machine, by doing it.
#pragma once

#include <cstdint>
#include <string>

namespace acp::info {

/// What became of a trial.
struct Probe {
  bool works = false;
  std::string detail;  ///< What was seen: a number, or the error's text.
};

/// A sealed memory file, mapped: how ranks of one host share memory.
Probe probe_memfd();

/// process_vm_readv and writev between two processes of which neither is the
/// other's ancestor, as ranks are.
Probe probe_cross_memory();

/// A UDP socket bound to an address, and a datagram from it to itself.
Probe probe_udp(const std::string& text);

/// RDMA devices and their ports: whether one is active, has an address, is of
/// a kind that jobs can use, and can be opened.
Probe probe_ib();

/// The first number in a file such as /proc/sys/net/core/rmem_max; -1 when
/// it cannot be read.
std::int64_t number_in_file(const char* path);

}  // namespace acp::info
