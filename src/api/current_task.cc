// Defines the global task and the ways in which public functions report errors.
// Called by every *_api.cc, also before acp_init and after acp_finalize. It may
// not touch the task, because there may be none.
#include "api/current_task.h"

#include <unistd.h>

#include "acp/infrastructure.h"
#include "api/early_log.h"
#include "api/forked_child.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "gma/call_name.h"
#include "runtime/standard_output.h"

namespace acp::api {

constinit TaskRoom g_room;
std::atomic<bool> g_is_running{false};
std::atomic<bool> g_is_uncounted{false};
std::atomic<const Settings*> g_settings{nullptr};

int& error_number() noexcept {
  thread_local int number = 0;
  return number;
}

void leave_ending_job() noexcept {
  const Settings* settings = g_settings.load(std::memory_order_acquire);
  if (settings != nullptr && settings->text(SettingId::kErrors) == "abort") {
    runtime::flush_output();
    deliver_log(kLastLinesLimit);
    ::_exit(1);
  }
}

bool lacks_memory(const char* function) noexcept {
  if (has_memory_reserve()) {
    return false;
  }
  if (const char* outer = gma::call_name()) {
    function = outer;
  }
  log_error(
      "{}: no memory: the system refuses {} bytes that ACP keeps in reserve; "
      "the call has done nothing, and may be repeated",
      function, kMemoryReserveBytes);
  fail(Status::kNoMemory);
  return true;
}

/// Names the process in the log first, since before acp_init nothing
/// else has done so. A forked child is refused before the other causes are
/// looked at: the advice to call acp_init would be wrong there.
void fail_without_task(const char* function) noexcept {
  // A layer above may have named the function that the program called.
  if (const char* outer = gma::call_name()) {
    function = outer;
  }
  prepare_early_log();
  if (is_forked_child()) {
    log_error(
        "{}: refused, because only the process that called acp_init is part of "
        "the job; a child may call exec() or _exit()",
        function);
    fail(Status::kNotInitialized);
    return;
  }
  const bool is_late = is_finalized();
  const Status status = is_late ? Status::kFinalized : Status::kNotInitialized;
  log_error("{}: {}; {}", function, status_text(status),
            is_late ? "a process joins a job once"
                    : "call acp_init(&argc, &argv) first");
  fail(status);
}

}  // namespace acp::api

// The public codes are the internal ones.
static_assert(ACPX_OK == static_cast<int>(acp::Status::kOk));
static_assert(ACPX_AGAIN == static_cast<int>(acp::Status::kAgain));
static_assert(ACPX_INVALID_ARGUMENT ==
              static_cast<int>(acp::Status::kInvalidArgument));
static_assert(ACPX_NOT_INITIALIZED ==
              static_cast<int>(acp::Status::kNotInitialized));
static_assert(ACPX_ALREADY_INITIALIZED ==
              static_cast<int>(acp::Status::kAlreadyInitialized));
static_assert(ACPX_FINALIZED == static_cast<int>(acp::Status::kFinalized));
static_assert(ACPX_BAD_ADDRESS == static_cast<int>(acp::Status::kBadAddress));
static_assert(ACPX_BAD_KEY == static_cast<int>(acp::Status::kBadKey));
static_assert(ACPX_BAD_RANK == static_cast<int>(acp::Status::kBadRank));
static_assert(ACPX_BAD_COLOR == static_cast<int>(acp::Status::kBadColor));
static_assert(ACPX_MISALIGNED == static_cast<int>(acp::Status::kMisaligned));
static_assert(ACPX_NO_MEMORY == static_cast<int>(acp::Status::kNoMemory));
static_assert(ACPX_NO_KEYS == static_cast<int>(acp::Status::kNoKeys));
static_assert(ACPX_TOO_LARGE == static_cast<int>(acp::Status::kTooLarge));
static_assert(ACPX_UNSUPPORTED == static_cast<int>(acp::Status::kUnsupported));
static_assert(ACPX_PEER_DEAD == static_cast<int>(acp::Status::kPeerDead));
static_assert(ACPX_ABORTED == static_cast<int>(acp::Status::kAborted));
static_assert(ACPX_TIMED_OUT == static_cast<int>(acp::Status::kTimedOut));
static_assert(ACPX_SYSTEM == static_cast<int>(acp::Status::kSystem));
static_assert(ACPX_PROTOCOL == static_cast<int>(acp::Status::kProtocol));
static_assert(ACPX_ORDER_FAILED == static_cast<int>(acp::Status::kOrderFailed));
static_assert(ACPX_BAD_OPTION == static_cast<int>(acp::Status::kBadOption));
static_assert(ACPX_CLOSED == static_cast<int>(acp::Status::kClosed));
