// The functions of chapter 4.1, and the extensions that belong to it. Programs
// call them; they check and translate, and take no lock. life.cc does the work
// of start and end.
#include <unistd.h>

#include "acp/extension.h"
#include "acp/infrastructure.h"
#include "api/counted_calls.h"
#include "api/current_task.h"
#include "api/early_log.h"
#include "api/forked_child.h"
#include "api/life.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "gma/call_name.h"

using acp::Status;
using acp::api::as_int;
using acp::api::fail;
using acp::api::fail_without_task;
using acp::api::lacks_memory;
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
  const int error = acp::api::error_number();
  acp::log_last_words(error == 0
                          ? fmt::format("acp_abort: {}", text)
                          : fmt::format("acp_abort: {} (acp_errno {}: {})",
                                        text, error, acpx_strerror(error)));
  acp::deliver_log(acp::kLastLinesLimit);
  _exit(1);
}

int acp_procs(void) {
  if (const acp::runtime::Task* mine = task()) {
    return static_cast<int>(mine->procs());
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
    if (lacks_memory("acp_sync")) return -1;
    const acp::MustNotFail must_not_fail;
    return as_int(mine->sync());
  }
  fail_without_task();
  return -1;
}

int acp_reset(int rank) {
  if (acp::runtime::Task* mine = task()) {
    if (lacks_memory("acp_reset")) return -1;
    if (acp::api::is_held()) {
      acp::log_error(
          "acp_reset: a layer above has memory in this job (acpx_hold_job), so "
          "the "
          "job cannot begin again; HMPI does that from MPI_Init to "
          "MPI_Finalize");
      return as_int(Status::kUnsupported);
    }
    const acp::MustNotFail must_not_fail;
    return as_int(acp::api::reset(*mine, rank));
  }
  fail_without_task();
  return -1;
}

int acpx_hold_job(void) {
  return as_int(acp::api::hold());
}

int acpx_release_job(void) {
  return as_int(acp::api::release());
}

/// Refuses calls beside and after a job before it touches the list: modules are
/// read-only while the program is in the job.
int acpx_add_module(const acpx_module_t* module) {
  acp::api::prepare_early_log();
  if (acp::api::is_forked_child()) {
    fail_without_task();
    return -1;
  }
  if (!acp::api::may_add_modules()) {
    // A layer above, such as QMP, may have named the function called.
    const char* outer = acp::gma::call_name();
    acp::log_error("{}: has to be called before acp_init",
                   outer != nullptr ? outer : "acpx_add_module");
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
    fail(address.status());
    return ACP_GA_NULL;
  }
  return address.value();
}

}  // extern "C"
