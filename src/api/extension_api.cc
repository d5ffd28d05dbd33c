// The functions that acp/extension.h adds to chapter 4.11: chains, waits and
// progress steps. Called by programs and by the middle layer; they check and
// translate, and decide nothing.
#include <atomic>
#include <functional>

#include "acp/extension.h"
#include "api/counted_calls.h"
#include "api/current_task.h"
#include "api/early_log.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "gma/call_name.h"
#include "gma/chain.h"
#include "gma/describe.h"
#include "gma/progress_step_scope.h"

using acp::Status;
using acp::api::as_handle;
using acp::api::as_int;
using acp::api::fail;
using acp::api::fail_without_task;
using acp::api::lacks_memory;
using acp::api::task;
using acp::api::uncounted_task;

namespace {

/// Converts a status to a return value: 0 done, 1 timed out, -1 failed with
/// acp_errno set.
int as_wait_result(Status status) {
  if (status == Status::kOk) {
    return 0;
  }
  if (status == Status::kTimedOut) {
    return 1;
  }
  fail(status);
  return -1;
}

int wait_for(acp::runtime::Task& mine,
             acp::protocol::WaitKind kind,
             int timeout_ms,
             const std::function<bool()>& is_done) {
  if (acp::gma::is_inside_progress_step()) {
    fail(Status::kAgain);  // A progress step may not wait.
    return -1;
  }
  acp::gma::WaitPurpose purpose;
  purpose.kind = kind;
  const Status status =
      acp::gma::wait_until(mine.progress(), purpose,
                           acp::gma::deadline_after_ms(timeout_ms), is_done);
  mine.engine().show_order_to_tsan();
  return as_wait_result(status);
}

/// The value of a setting as a number. kInvalidArgument: there is no such
/// setting. kUnsupported: it is a text. Both are logged.
acp::Result<uint64_t> number_of(const acp::Settings& settings,
                                const char* name) {
  const acp::SettingId id = acp::setting_named(name);
  if (id == acp::SettingId::kCount) {
    acp::log_error("acpx_setting({}): no such setting; acp_info lists them",
                   name);
    return Status::kInvalidArgument;
  }
  switch (acp::settings_table()[static_cast<std::size_t>(id)].kind) {
    case acp::SettingKind::kBytes:
    case acp::SettingKind::kNumber: return settings.number(id);
    case acp::SettingKind::kChoice: return settings.choice(id);
    case acp::SettingKind::kText: break;
  }
  acp::log_error("acpx_setting({}): is a text, not a number", name);
  return Status::kUnsupported;
}

/// Asks one question about a rank: 1 or 0, or -1 with acp_errno set.
template <typename Question>
int ask_about_rank(const char* function, int rank, Question question) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  if (rank < 0 || rank >= acp_procs()) {
    acp::log_error("{}({}): ranks are 0 to {}", function, rank,
                   acp_procs() - 1);
    fail(Status::kBadRank);
    return -1;
  }
  return std::invoke(question, mine->engine().space(),
                     static_cast<acp::gmm::Rank>(rank))
             ? 1
             : 0;
}

}  // namespace

static_assert(ACPX_LOG_ERROR == static_cast<int>(acp::LogLevel::kError));
static_assert(ACPX_LOG_TRACE == static_cast<int>(acp::LogLevel::kTrace));

extern "C" {

acp_handle_t acpx_post(const acpx_op_t* ops, size_t n, acp_handle_t order) {
  acp::runtime::Task* mine = uncounted_task();
  if (mine == nullptr) {
    return acp::api::counted_post({ops, ops == nullptr ? 0 : n}, order);
  }
  if (lacks_memory("acpx_post")) return ACP_HANDLE_NULL;
  const acp::MustNotFail must_not_fail;
  return as_handle(acp::gma::post_chain(mine->engine(), mine->waker(),
                                        {ops, ops == nullptr ? 0 : n}, order));
}

void acpx_flush(void) {
  if (acp::runtime::Task* mine = task(); mine != nullptr) {
    mine->engine().send_kept();
  }
}

// The cases that the short path does not take; out of line as in gma_api.cc.
[[gnu::noinline]] static acp_handle_t put_signal_any(acp_ga_t dst,
                                                     acp_ga_t src,
                                                     size_t size,
                                                     acp_ga_t word,
                                                     uint64_t add,
                                                     acp_handle_t order) {
  acp::runtime::Task* mine = uncounted_task();
  if (mine == nullptr) {
    return acp::api::counted_put_signal(dst, src, size, word, add, order);
  }
  if (lacks_memory("acpx_put_signal")) return ACP_HANDLE_NULL;
  const acp::MustNotFail must_not_fail;
  return as_handle(acp::gma::put_signal(mine->engine(), mine->waker(), dst, src,
                                        size, word, add, order));
}

/// Sizes 0 and 8 are the usual signals. They try the direct path in line, which
/// succeeds where both ends can be touched here and the order is complete.
acp_handle_t acpx_put_signal(acp_ga_t dst,
                             acp_ga_t src,
                             size_t size,
                             acp_ga_t word,
                             uint64_t add,
                             acp_handle_t order) {
  acp::runtime::Task* mine = uncounted_task();
  if (mine != nullptr && (size == 0 || size == sizeof(uint64_t))) {
    const acp_handle_t handle =
        size == 0
            ? acp::gma::signal_direct(mine->engine(), mine->waker(), word, add,
                                      order)
            : acp::gma::put_word_signal_direct(mine->engine(), mine->waker(),
                                               dst, src, word, add, order);
    if (__builtin_expect(handle != ACP_HANDLE_NULL, 1)) {
      return handle;
    }
  }
  return put_signal_any(dst, src, size, word, add, order);
}

int acpx_complete_timeout(acp_handle_t handle, int timeout_ms) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  return as_wait_result(
      mine->engine().complete(handle, acp::gma::deadline_after_ms(timeout_ms)));
}

int acpx_sync_timeout(int timeout_ms) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  if (lacks_memory("acpx_sync_timeout")) return -1;
  const acp::MustNotFail must_not_fail;
  return as_wait_result(mine->sync(acp::gma::deadline_after_ms(timeout_ms)));
}

/// Checks the word once, and then waits on its address. A misaligned word is
/// reported as that, also where it leaves its region.
int acpx_wait_word(acp_ga_t word,
                   uint64_t unlike,
                   int timeout_ms,
                   uint64_t* value) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  const auto address = mine->space().own(word, sizeof(uint64_t));
  const Status status =
      (word & 7) != 0 ? Status::kMisaligned : address.status();
  if (status != Status::kOk) {
    acp::gma::Step step;
    step.opcode = acp::protocol::Opcode::kGet;
    step.local = word;
    step.size = sizeof(uint64_t);
    acp::log_error("acpx_wait_word({:#x}): {}{}", word,
                   acp::status_text(status),
                   acp::gma::describe_cause(step, status, mine->space()));
    fail(status);
    return -1;
  }
  std::atomic_ref cell(*reinterpret_cast<uint64_t*>(address.value()));
  uint64_t seen = unlike;
  const int result =
      wait_for(*mine, acp::protocol::WaitKind::kWord, timeout_ms, [&] {
        seen = cell.load();  // seq_cst: the sleeper looks again after it is
                             // marked asleep
        return seen != unlike;
      });
  if (result == 0 && value != nullptr) {
    *value = seen;
  }
  return result;
}

int acpx_wait_until(int (*done)(void*), void* arg, int timeout_ms) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  if (done == nullptr) {
    acp::log_error("acpx_wait_until: done is NULL");
    fail(Status::kInvalidArgument);
    return -1;
  }
  return wait_for(*mine, acp::protocol::WaitKind::kCondition, timeout_ms,
                  [done, arg] { return done(arg) != 0; });
}

int acpx_atomics_agree(int rank) {
  // A CPU on the owner's host executes every atomic. Only atomics of 8 bytes
  // may be executed by a device, or by a test that emulates one.
  return ask_about_rank("acpx_atomics_agree", rank,
                        [](const acp::gmm::AddressSpace& space,
                           acp::gmm::Rank) { return space.has_cpu_atomics(); });
}

int acpx_pointers_agree(int rank) {
  return ask_about_rank("acpx_pointers_agree", rank,
                        &acp::gmm::AddressSpace::pointers_agree);
}

/// Reads the published settings and needs no task: modules read their settings
/// while acp_init still makes the task.
int acpx_setting(const char* name, uint64_t* value) {
  const acp::Settings* settings =
      acp::api::g_settings.load(std::memory_order_acquire);
  if (settings == nullptr) {
    fail_without_task();
    return -1;
  }
  if (name == nullptr || value == nullptr) {
    acp::log_error("acpx_setting: name and value must not be NULL");
    fail(Status::kInvalidArgument);
    return -1;
  }
  const acp::Result<uint64_t> number = number_of(*settings, name);
  if (!number.ok()) {
    fail(number.status());
    return -1;
  }
  *value = number.value();
  return 0;
}

int acpx_count(const char* name, uint64_t amount) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  if (name == nullptr || *name == '\0') {
    acp::log_error("acpx_count: the count has no name");
    fail(Status::kInvalidArgument);
    return -1;
  }
  if (acp::runtime::Counters* counters = mine->counters()) {
    counters->add_own(name, amount);
  }
  return 0;
}

const char* acpx_enter_call(const char* function) {
  return acp::gma::enter_call(function);
}

void acpx_leave_call(const char* before) {
  acp::gma::leave_call(before);
}

int acpx_enter_reserve(void) {
  const bool is_full = acp::has_memory_reserve();
  acp::MustNotFail::enter();
  return is_full ? 0 : acp::api::as_int(Status::kNoMemory);
}

void acpx_leave_reserve(void) {
  acp::MustNotFail::leave();
}

void acpx_log(acpx_log_level_t level, const char* text) {
  if (text != nullptr && level >= ACPX_LOG_ERROR && level <= ACPX_LOG_TRACE) {
    acp::api::prepare_early_log();
    acp::log(static_cast<acp::LogLevel>(level), "{}", text);
  }
}

int acpx_add_progress(int (*step)(void*), void* arg) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  if (lacks_memory("acpx_add_progress")) return -1;
  const acp::MustNotFail must_not_fail;
  const Status status = mine->progress().add_step(step, arg);
  if (status != Status::kOk) {
    acp::log_error("acpx_add_progress: the step is {}",
                   step == nullptr ? "NULL" : "there already");
  }
  return as_int(status);
}

void acpx_hurry_progress(void) {
  if (acp::runtime::Task* mine = task(); mine != nullptr) {
    mine->progress().hurry_steps();
  }
}

int acpx_remove_progress(int (*step)(void*), void* arg) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  const Status status = mine->progress().remove_step(step, arg);
  if (status != Status::kOk) {
    acp::log_error("acpx_remove_progress: there is no such step");
  }
  return as_int(status);
}

}  // extern "C"
