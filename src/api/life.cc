// acp_init and acp_finalize: reads the settings, makes and destroys the task.
// Called by infrastructure_api.cc, under a lock of its own, which a forked
// child may not take. The task exists only in between.
#include "api/life.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>

#include "api/counted_calls.h"
#include "api/current_task.h"
#include "api/early_log.h"
#include "api/error_action.h"
#include "api/forked_child.h"
#include "api/open_network.h"
#include "api/program_net.h"
#include "base/immortal.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "gma/call_name.h"
#include "middle/modules.h"
#include "runtime/arguments.h"
#include "runtime/standard_output.h"
#include "settings/module.h"

namespace acp::api {

namespace {

std::mutex g_life_mutex;  // guards making the task, and g_hold

/// Whether a layer above holds the job; if so, what the program has called.
enum class Hold {
  kNone,
  kProgramIsOut,    ///< It may still call acp_init, and add modules before.
  kProgramIsIn,     ///< Between its acp_init and acp_finalize.
  kProgramHasLeft,  ///< It has called acp_finalize.
};

// Written under the mutex; may_add_modules() and the like read it.
std::atomic<Hold> g_hold{Hold::kNone};

/// The memory of the job that a layer has held. It stays mapped.
Immortal<protocol::HostSegment>& held_segment() {
  static Immortal<protocol::HostSegment> segment;
  return segment;
}

// Written under the mutex. An error line of any thread may ask is_finalized().
std::atomic<bool> g_has_been_initialized{false};

LogLevel level_named(std::string_view name) {
  for (const auto& [level, text] : {std::pair{LogLevel::kError, "error"},
                                    std::pair{LogLevel::kWarning, "warning"},
                                    std::pair{LogLevel::kInfo, "info"},
                                    std::pair{LogLevel::kDebug, "debug"}}) {
    if (name == text) {
      return level;
    }
  }
  return LogLevel::kTrace;
}

/// Ends the job when an allocation has failed that may not fail, and the
/// reserve is used up. Allocates no memory for its line, and little for the
/// launcher's.
void end_job_without_memory() noexcept {
  rlimit space{};
  ::getrlimit(RLIMIT_AS, &space);
  const char* call = gma::call_name();
  std::array<char, 400> buffer{};
  const auto text = fmt::format_to_n(
      buffer.data(), buffer.size(),
      "no memory {}{}: the system refuses more, and the {} bytes that ACP "
      "keeps in reserve are used up{}; the job cannot go on",
      call == nullptr ? "" : "in ", call == nullptr ? "left" : call,
      kMemoryReserveBytes,
      space.rlim_cur == RLIM_INFINITY ? ""
                                      : " (ulimit -v limits this process)");
  const std::string_view why(buffer.data(), std::min(text.size, buffer.size()));
  log_last_words(why);
  if (runtime::Task* mine = task()) {
    mine->abort_after_error(why);
  }
  runtime::flush_output();
  deliver_log(kLastLinesLimit);
  ::_exit(1);
}

/// The status of a step of acp_init that the system has refused memory for.
Status refuse_for_memory() {
  log_error(
      "acp_init: no memory: the system refuses what this rank needs beside its "
      "{} bytes of reserve; fewer ranks per host, or a larger ulimit -v",
      kMemoryReserveBytes);
  return Status::kNoMemory;
}

/// Looks up an environment variable. If the environment has no ACP_NET, its
/// value is the network that the program was linked for.
const char* value_for(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr && std::string_view(name) == "ACP_NET" ? program_net()
                                                                 : value;
}

Result<Settings> read_settings(int* argc, char*** argv) {
  Result<Settings> settings = Settings::from_environment(value_for);
  if (!settings.ok()) {
    return settings;
  }
  if (const Status status = runtime::take_arguments(argc, argv, *settings);
      status != Status::kOk) {
    return status;
  }
  set_log_level(level_named(settings->text(SettingId::kLog)));
  follow_errors(settings->text(SettingId::kErrors));
  return settings;
}

/// Adds a module of the middle layer; returns its number, or -1 with acp_errno
/// set.
int add_own_module(const acpx_module_t* module) {
  const Result<int> number = modules().add_own(*module);
  if (!number.ok()) {
    fail(number.status());
    return -1;
  }
  return number.value();
}

Status join_job(runtime::Task& mine) {
  try {
    return mine.join(open_network);
  } catch (const std::bad_alloc&) {
    return refuse_for_memory();
  }
}

/// Makes the task in g_room and joins the job. On failure g_room is empty.
Status make_task(const Settings& settings) {
  auto bootstrap = runtime::find_bootstrap(settings);
  if (!bootstrap.ok()) {
    return bootstrap.status();
  }
  modules().clear_own();  // modules of an acp_init that failed
  if (middle::add_modules(add_own_module) != 0) {
    return static_cast<Status>(error_number());
  }
  runtime::Task* mine = std::construct_at(&g_room.task, settings,
                                          std::move(*bootstrap), modules());
  const Status status = join_job(*mine);
  if (status != Status::kOk) {
    std::destroy_at(mine);
    return status;
  }
  if (mine->rank() == 0) {  // One rank warns for all.
    warn_of_unknown_variables(environ);
    warn_of_missing_folders(mine->settings().text(SettingId::kModulePath));
  }
  log(LogLevel::kInfo, "acp_init: ACP {}, pid {}, {} ranks, ACP_NET={}",
      ACP_VERSION, ::getpid(), mine->procs(),
      mine->settings().text(SettingId::kNet));
  return Status::kOk;
}

/// Refuses a call in a forked child. Callers use it before they take a lock,
/// because a thread of the parent may have held the lock during the fork.
Status refuse_forked_child(const char* function) {
  fail_without_task(function);
  return Status::kNotInitialized;
}

/// Explains a network that cannot be used here and that the user did not name:
/// the program was linked for it.
void explain_program_net(const Settings& settings) {
  const char* net = program_net();
  if (net != nullptr && std::getenv("ACP_NET") == nullptr &&
      settings.text(SettingId::kNet) == net) {
    log_error(
        "acp_init: the program was linked with -ndev {}, so its network is {}; "
        "--acp-envnet or ACP_NET chooses another",
        net, net);
  }
}

/// The settings are in force before the task is made, because its parts read
/// them. The modules come last: their init functions may call the library.
Status begin_job(int* argc, char*** argv) {
  prepare_early_log();
  static Settings in_force;
  Result<Settings> settings = read_settings(argc, argv);
  if (!settings.ok()) {
    return settings.status();
  }
  in_force = std::move(*settings);
  g_settings.store(&in_force, std::memory_order_release);
  if (const Status status = make_task(in_force); status != Status::kOk) {
    if (status == Status::kUnsupported) {
      explain_program_net(in_force);
    }
    g_settings.store(nullptr, std::memory_order_release);
    return status;
  }
  g_has_been_initialized = true;
  g_is_running.store(true, std::memory_order_release);
  stop_counting_calls();
  const gma::CallScope call("acp_init");
  const MustNotFail must_not_fail;
  const Status status = modules().init();
  count_calls_of(g_room.task);
  return status;
}

/// A layer above has begun the job. The settings are in force, so the options
/// of the library in the program's arguments are only removed.
Status join_held_job(int* argc, char*** argv) {
  if (argc != nullptr && argv != nullptr) {
    Settings unused = *g_settings.load(std::memory_order_relaxed);
    if (const Status status = runtime::take_arguments(argc, argv, unused);
        status != Status::kOk) {
      return status;
    }
  }
  const MustNotFail must_not_fail;
  const Status status = task()->join_program();
  if (status == Status::kOk) {
    g_hold.store(Hold::kProgramIsIn);
  }
  return status;
}

Status begin_job_or_refuse(int* argc, char*** argv) {
  try {
    return begin_job(argc, argv);
  } catch (const std::bad_alloc&) {
    g_settings.store(nullptr, std::memory_order_release);
    return refuse_for_memory();
  }
}

}  // namespace

runtime::Modules& modules() {
  static Immortal<runtime::Modules> modules;
  return *modules;
}

namespace {

/// The reserve comes first: from then on an allocation that fails once does not
/// matter. Under the lock.
Status begin(int* argc, char*** argv) {
  if (!take_memory_reserve(&end_job_without_memory)) {
    return refuse_for_memory();
  }
  watch_forks();
  const Status status = begin_job_or_refuse(argc, argv);
  if (task() == nullptr) {
    give_back_memory_reserve();
  }
  return status;
}

/// Leaves the job, under the lock.
Status end() {
  runtime::Task* mine = task();
  const MustNotFail must_not_fail;
  stop_counting_calls();
  const Status status = mine->finalize();
  g_is_uncounted.store(false, std::memory_order_release);
  g_is_running.store(false, std::memory_order_release);
  g_settings.store(nullptr, std::memory_order_release);
  std::destroy_at(mine);
  give_back_memory_reserve();
  return status;
}

}  // namespace

/// The lock makes two threads that call acp_init at once see each other.
Status init(int* argc, char*** argv) {
  if (is_forked_child()) {
    return refuse_forked_child("acp_init");
  }
  const std::lock_guard lock(g_life_mutex);
  const Hold hold = g_hold.load();
  if (hold == Hold::kProgramIsOut) {
    return join_held_job(argc, argv);
  }
  if (g_has_been_initialized) {
    const bool is_over = is_finalized() || hold == Hold::kProgramHasLeft;
    const Status status =
        is_over ? Status::kFinalized : Status::kAlreadyInitialized;
    log_error("acp_init: {}", status_text(status));
    return status;
  }
  return begin(argc, argv);
}

Status finalize() {
  if (is_forked_child()) {
    return refuse_forked_child("acp_finalize");
  }
  const std::lock_guard lock(g_life_mutex);
  const Hold hold = g_hold.load();
  if (task() == nullptr || hold == Hold::kProgramIsOut ||
      hold == Hold::kProgramHasLeft) {
    fail_without_task("acp_finalize");
    return static_cast<Status>(error_number());
  }
  if (hold == Hold::kNone) {
    return end();
  }
  const MustNotFail must_not_fail;
  const Status status = task()->leave_program();
  g_hold.store(Hold::kProgramHasLeft);
  return status;
}

/// The mapping outlives the task from here on.
Status hold() {
  if (is_forked_child()) {
    return refuse_forked_child("acpx_hold_job");
  }
  const std::lock_guard lock(g_life_mutex);
  if (is_finalized() || is_held()) {
    const Status status =
        is_held() ? Status::kAlreadyInitialized : Status::kFinalized;
    log_error("acpx_hold_job: {}", status_text(status));
    return status;
  }
  const bool has_joined = task() != nullptr;
  if (!has_joined) {
    if (const Status status = begin(nullptr, nullptr); status != Status::kOk) {
      return status;
    }
  }
  *held_segment() = task()->segment();
  g_hold.store(has_joined ? Hold::kProgramIsIn : Hold::kProgramIsOut);
  return Status::kOk;
}

Status release() {
  if (is_forked_child()) {
    return refuse_forked_child("acpx_release_job");
  }
  const std::lock_guard lock(g_life_mutex);
  const Hold hold = g_hold.load();
  if (hold == Hold::kNone) {
    log_error("acpx_release_job: no layer holds the job (acpx_hold_job)");
    return Status::kInvalidArgument;
  }
  g_hold.store(Hold::kNone);
  return hold == Hold::kProgramIsIn ? Status::kOk : end();
}

bool is_held() noexcept {
  return g_hold.load(std::memory_order_relaxed) != Hold::kNone;
}

bool may_add_modules() noexcept {
  const Hold hold = g_hold.load(std::memory_order_relaxed);
  return hold == Hold::kProgramIsOut ||
         (hold == Hold::kNone && task() == nullptr && !is_finalized());
}

bool leave_held_memory() noexcept {
  const protocol::HostSegment& segment = *held_segment();
  return segment.base() == nullptr || segment.make_private();
}

bool is_finalized() noexcept {
  return g_has_been_initialized && task() == nullptr && !is_forked_child();
}

}  // namespace acp::api
