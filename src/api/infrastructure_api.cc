// Chapter 4.1 and the extensions that belong to it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "acp/extension.h"
#include "acp/infrastructure.h"
#include "api/current_task.h"
#include "api/net_wire.h"
#include "base/log.h"
#include "middle/modules.h"
#include "runtime/arguments.h"

namespace acp::api {

namespace {

std::mutex g_life_mutex;  // guards the two below and the making of the task
bool g_has_been_initialized = false;

runtime::Modules& modules() {
  static runtime::Modules modules;
  return modules;
}

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

Result<Settings> read_settings(int* argc, char*** argv) {
  Result<Settings> settings = Settings::from_environment(
      [](const char* name) { return std::getenv(name); });
  if (!settings.ok()) {
    return settings;
  }
  if (const Status status = runtime::take_arguments(argc, argv, *settings);
      status != Status::kOk) {
    return status;
  }
  set_log_level(level_named(settings->text(SettingId::kLog)));
  return settings;
}

/// As the middle layer needs it: plain, with the result in acp_errno.
int add_own_module(const acpx_module_t* module) {
  const Result<int> number = modules().add_own(*module);
  if (!number.ok()) {
    fail(number.status());
    return -1;
  }
  return number.value();
}

/// Puts a task into the room; on failure none is left there.
Status make_task(const Settings& settings) {
  auto bootstrap = runtime::find_bootstrap(settings);
  if (!bootstrap.ok()) {
    return bootstrap.status();
  }
  modules().clear_own();  // of an acp_init that failed
  if (middle::add_modules(add_own_module) != 0) {
    return static_cast<Status>(error_number());
  }
  runtime::Task* mine = std::construct_at(&g_room.task, settings,
                                          std::move(*bootstrap), modules());
  const Status status = mine->join(make_net_wire);
  if (status != Status::kOk) {
    std::destroy_at(mine);
    return status;
  }
  if (mine->rank() == 0) {  // one rank speaks for all
    warn_of_unknown_variables(environ);
  }
  log(LogLevel::kInfo, "acp_init: ACP {}, pid {}, {} ranks, ACP_NET={}",
      ACP_VERSION, ::getpid(), mine->procs(), settings.text(SettingId::kNet));
  return Status::kOk;
}

Status init(int* argc, char*** argv) {
  const std::lock_guard lock(g_life_mutex);
  if (g_has_been_initialized) {
    const Status status =
        is_finalized() ? Status::kFinalized : Status::kAlreadyInitialized;
    log_error("acp_init: {}", status_text(status));
    return status;
  }
  static Settings in_force;
  Result<Settings> settings = read_settings(argc, argv);
  if (!settings.ok()) {
    return settings.status();
  }
  in_force = std::move(*settings);
  g_settings.store(&in_force, std::memory_order_release);
  if (const Status status = make_task(in_force); status != Status::kOk) {
    g_settings.store(nullptr, std::memory_order_release);
    return status;
  }
  g_has_been_initialized = true;
  g_is_running.store(true, std::memory_order_release);
  return modules().init();
}

Status finalize() {
  const std::lock_guard lock(g_life_mutex);
  runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task("acp_finalize");
    return static_cast<Status>(error_number());
  }
  const Status status = mine->finalize();
  g_is_running.store(false, std::memory_order_release);
  g_settings.store(nullptr, std::memory_order_release);
  std::destroy_at(mine);
  return status;
}

int as_int(Status status) {
  if (status == Status::kOk) {
    return 0;
  }
  fail(status);
  return -1;
}

}  // namespace

bool is_finalized() noexcept {
  return g_has_been_initialized && task() == nullptr;
}

}  // namespace acp::api

using acp::Status;
using acp::api::as_int;
using acp::api::fail_without_task;
using acp::api::task;

extern "C" {

int* acpx_errno_location(void) {
  return &acp::api::error_number();
}

const char* acpx_strerror(int code) {
  return acp::status_text(static_cast<Status>(
      code < 0 || code > acp::kStatusCount ? acp::kStatusCount : code));
}

const char* acpx_version(void) {
  return ACP_VERSION;
}

int acp_init(int* argc, char*** argv) {
  return as_int(acp::api::init(argc, argv));
}

int acp_finalize(void) {
  return as_int(acp::api::finalize());
}

void acp_abort(const char* str) {
  const char* text = str == nullptr ? "" : str;
  if (acp::runtime::Task* mine = task()) {
    mine->abort(text, acp::api::error_number());
  }
  std::fprintf(stderr, "acp: acp_abort: %s (acp_errno %d: %s)\n", text,
               acp::api::error_number(),
               acpx_strerror(acp::api::error_number()));
  _exit(1);
}

int acp_procs(void) {
  if (const acp::runtime::Task* mine = task()) {
    return static_cast<int>(const_cast<acp::runtime::Task*>(mine)->procs());
  }
  fail_without_task();
  return -1;
}

int acp_rank(void) {
  if (const acp::runtime::Task* mine = task()) {
    return static_cast<int>(mine->rank());
  }
  fail_without_task();
  return -1;
}

int acp_sync(void) {
  if (acp::runtime::Task* mine = task()) {
    return as_int(mine->sync());
  }
  fail_without_task();
  return -1;
}

int acp_reset(int rank) {
  if (acp::runtime::Task* mine = task()) {
    return as_int(mine->reset(rank));
  }
  fail_without_task();
  return -1;
}

int acpx_add_module(const acpx_module_t* module) {
  if (task() != nullptr || acp::api::is_finalized()) {
    acp::log_error("acpx_add_module: has to be called before acp_init");
    return as_int(task() != nullptr ? Status::kAlreadyInitialized
                                    : Status::kFinalized);
  }
  if (module == nullptr) {
    acp::log_error("acpx_add_module: module is NULL");
    return as_int(Status::kInvalidArgument);
  }
  const acp::Result<int> number = acp::api::modules().add(*module);
  return number.ok() ? number.value() : as_int(number.status());
}

acp_ga_t acpx_module_ga(int module, int rank) {
  const acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return ACP_GA_NULL;
  }
  const auto address = mine->module_memory(module, rank);
  if (!address.ok()) {
    acp::api::fail(address.status());
    return ACP_GA_NULL;
  }
  return address.value();
}

}  // extern "C"
