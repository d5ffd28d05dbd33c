// A job whose ranks are threads of this process: the same library, over one
// mapping, where sanitizers see what would otherwise cross processes.
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
/// Fails the Catch2 test when a task cannot be made or finalized. `settings`
/// are pairs of a setting and its text. `make_net_transport`: the library's,
/// unless another is given.
void run_thread_job(
    std::uint32_t ranks,
    const std::vector<std::pair<SettingId, std::string>>& settings,
    const std::function<void(runtime::Task& task)>& body,
    const runtime::NetTransportFactory& make_net_transport = {});

/// Prints what did not hold and ends the test program: Catch2's own checks are
/// not made for several threads, and the other ranks would wait for ever.
[[noreturn]] void rank_check_failed(const char* condition,
                                    const char* file,
                                    int line);

/// A condition looked at until it holds; false after ten seconds.
bool eventually(const std::function<bool()>& condition);

}  // namespace acp::test

/// For use inside the body of a job.
#define RANK_CHECK(condition)   \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::acp::test::rank_check_failed(#condition, __FILE__, __LINE__))
