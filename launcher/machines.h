// Which names of hosts mean one machine, by the addresses that the resolver has
// for them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace acp::launcher {

/// For each name of a host, a text that is equal for two names with one
/// address. It is the address, or the name where the resolver does not know it.
/// The user before an '@' does not count, and all loopback addresses are one.
/// Asks the resolver for 2 s at most; names without an answer by then count by
/// themselves. Call it while the process has one thread.
std::vector<std::string> machines_of(std::span<const std::string> names);

}  // namespace acp::launcher
