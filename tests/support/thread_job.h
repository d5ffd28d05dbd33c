// A job whose ranks are threads of this process, over one mapping of the host
// segment. So sanitizers see accesses that otherwise cross processes.
#pragma once

#include <barrier>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/modules.h"
#include "runtime/task.h"
#include "settings/settings.h"

namespace acp::test {

/// Makes `ranks` tasks, runs `body` in a thread for each, finalizes them.
/// Fails the Catch2 test when a task cannot be finalized. `settings` are pairs
/// of a setting and its text. `make_net_transport` replaces the library's
/// factory of transports if it is given. With several hosts, each has a host
/// segment of its own, and process p is on host p % hosts.
void run_thread_job(
    std::uint32_t ranks,
    const std::vector<std::pair<SettingId, std::string>>& settings,
    const std::function<void(runtime::Task& task)>& body,
    const runtime::NetTransportFactory& make_net_transport = {},
    std::uint32_t hosts = 1);

/// Prints the condition that does not hold and ends the test program. Catch2's
/// checks are not made for several threads, and after a failure the other ranks
/// would wait for ever.
[[noreturn]] void rank_check_failed(const char* condition,
                                    const char* file,
                                    int line);

/// Waits until the condition holds; false after ten seconds.
bool eventually(const std::function<bool()>& condition);

}  // namespace acp::test

/// Checks a condition inside the body of a job.
#define RANK_CHECK(condition)   \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::acp::test::rank_check_failed(#condition, __FILE__, __LINE__))
