// Beginning and end, host numbers, waits and failures of the LQCD message API.
// Called by lqcd_api.cc. No lock of the mailbox may be held while it waits.
#include "compat/lqcd/machine.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "acp.h"
#include "acp/extension.h"
#include "inbox/reserved_call.h"

namespace lqcd {

namespace {

/// Written by the thread that calls initMachine and shutdownMachine.
Machine* g_machine = nullptr;

/// Whether a failure ends the job.
enum class OnFailure : std::uint8_t { kAsEnvironment, kReport, kAbort };

/// Until begin() has the setting ACP_ERRORS, the environment decides. Written
/// by begin(); failures of any thread read it, after end() as well.
std::atomic<OnFailure> g_on_failure{OnFailure::kAsEnvironment};

bool ends_job_on_failure() {
  // Relaxed: no other data depends on it.
  const OnFailure set = g_on_failure.load(std::memory_order_relaxed);
  if (set != OnFailure::kAsEnvironment) {
    return set == OnFailure::kAbort;
  }
  const char* errors = std::getenv("ACP_ERRORS");
  return errors != nullptr && std::string_view(errors) == "abort";
}

void follow_setting() {
  std::uint64_t errors = 0;  // 1 is abort
  const bool ends = acpx_setting("ACP_ERRORS", &errors) == 0 && errors == 1;
  g_on_failure.store(ends ? OnFailure::kAbort : OnFailure::kReport,
                     std::memory_order_relaxed);
}

struct Waiting {
  Mailbox* mailbox;
  const Handle* handle;
};

int is_over(void* waiting) {
  const auto& what = *static_cast<Waiting*>(waiting);
  return what.mailbox->is_over(what.handle) ? 1 : 0;
}

std::string describe(const Handle& handle) {
  const bool is_send = handle.kind == Handle::Kind::kSend;
  return std::string(is_send ? "send" : "receive") + " of " +
         std::to_string(handle.bytes) + " bytes " +
         (is_send ? "to name " + std::to_string(handle.name) + " on host " +
                        std::to_string(handle.host)
                  : "by name " + std::to_string(handle.name));
}

/// The result of a wait for a handle that is not active: 1, or -1 and a
/// failure.
int outcome(Machine& machine, Handle* handle) {
  const std::string text = describe(*handle);
  switch (machine.mailbox.collect(handle)) {
    case Handle::State::kTooLong:
      (void)fail(QMP_BAD_MESSAGE,
                 "%s: the message has %llu bytes, more than its receive takes; "
                 "nothing was written",
                 text.c_str(), static_cast<unsigned long long>(handle->length));
      return -1;
    case Handle::State::kNoMemory:
      (void)fail(QMP_NOMEM_ERR,
                 "%s: no memory for a copy; ACP_HEAP_SIZE sets how much there "
                 "is",
                 text.c_str());
      return -1;
    default: break;
  }
  // The fetch may have failed at the sender.
  const acp_handle_t fetch = std::exchange(handle->fetch, ACP_HANDLE_NULL);
  if (fetch != ACP_HANDLE_NULL && acpx_complete_timeout(fetch, 0) < 0) {
    (void)fail(QMP_ERROR, "%s: fetching the message: %s", text.c_str(),
               acpx_strerror(acp_errno));
    return -1;
  }
  return 1;
}

}  // namespace

Machine* machine() {
  return g_machine;
}

Machine* machine_for(const char* function) {
  if (g_machine == nullptr) {
    (void)fail(QMP_NOT_INITED, "%s: call initMachine before", function);
  }
  return g_machine;
}

Machine* machine_to_begin(const char* function) {
  Machine* mine = machine_for(function);
  if (mine != nullptr && inbox::ReservedCall::lacks_memory()) {
    (void)fail(QMP_NOMEM_ERR, inbox::ReservedCall::kRefusal, function);
    return nullptr;
  }
  return mine;
}

Failure& last_failure() {
  thread_local Failure failure;
  return failure;
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as printf, which it ends in
QMP_status_t fail(QMP_status_t status, const char* format, ...) {
  const inbox::ReservedCall call;  // A failure for want of memory has a text.
  std::array<char, 512> text{};
  std::va_list words;
  va_start(words, format);
  (void)std::vsnprintf(text.data(), text.size(), format, words);
  va_end(words);
  last_failure() = {status, text.data()};
  (void)QMP_error("%s", text.data());
  if (ends_job_on_failure()) {
    acp_abort(text.data());
  }
  return status;
}

QMP_status_t keep(QMP_status_t status) {
  if (status != QMP_SUCCESS) {
    last_failure() = {status, QMP_get_error_string(nullptr)};
  }
  return status;
}

/// The module is added before QMP joins, because acp_init gives modules their
/// memory. The barrier comes last: behind it every mailbox takes messages.
QMP_status_t begin() {
  if (g_machine != nullptr || QMP_is_initialized() == QMP_TRUE) {
    return fail(QMP_INVALID_OP,
                "initMachine: called already, or after QMP_init_msg_passing");
  }
  acpx_module_t module{};
  module.name = "lqcd";
  module.bytes = sizeof(Inbox);
  const int number = acpx_add_module(&module);
  if (number < 0) {
    return fail(QMP_INITSVC_ERR, "initMachine: %s", acpx_strerror(acp_errno));
  }
  const QMP_status_t status =
      QMP_init_msg_passing(nullptr, nullptr, QMP_THREAD_MULTIPLE, nullptr);
  if (status != QMP_SUCCESS) {
    return keep(status);
  }
  const inbox::ReservedCall call;
  follow_setting();
  // A program that ends without shutdownMachine leaves it: the progress step
  // runs until the end.
  g_machine = new Machine;
  g_machine->hosts = Hosts(QMP_get_number_of_nodes());
  if (const char* text = std::getenv("QMP_WAIT_TIMEOUT")) {
    const double seconds = std::strtod(text, nullptr);  // QMP has checked it
    g_machine->wait_timeout_ms =
        seconds == 0 ? -1 : std::max(1, static_cast<int>(seconds * 1000));
  }
  if (!g_machine->mailbox.begin(number)) {
    return fail(QMP_INITSVC_ERR, "initMachine: %s", acpx_strerror(acp_errno));
  }
  return keep(QMP_barrier());
}

QMP_status_t end() {
  const inbox::ReservedCall call;
  // After the barrier no host receives any more, so none fetches from the
  // memory of another.
  QMP_status_t status = QMP_barrier();
  g_machine->mailbox.close();
  if (status == QMP_SUCCESS) {
    status = QMP_barrier();
  }
  delete g_machine;
  g_machine = nullptr;
  QMP_finalize_msg_passing();
  return keep(status);
}

/// A host with wrong arguments still takes part in the sum. Otherwise the other
/// hosts would wait for it, and could not fail with it.
QMP_status_t declare_topology(Machine& machine,
                              const std::vector<int>& sizes,
                              int own_host) {
  const int count = QMP_get_number_of_nodes();
  const int own_rank = QMP_get_node_number();
  const auto hosts = static_cast<std::size_t>(count);
  bool is_wrong = machine.hosts.has_topology() || sizes.empty() ||
                  own_host < -1 || own_host >= count;
  long long product = 1;
  for (const int size : sizes) {
    is_wrong |= size < 1;
    product = product > count ? product : product * size;
  }
  is_wrong |= product != count;
  // One sum tells every host everything. [0, n) has the rank for each number,
  // and [n, 2n) how many hosts want that number. [2n] tells whether something
  // is wrong, and [2n + 1] how many hosts leave their number to the library.
  std::vector<double> all(2 * hosts + 2);
  const int wanted = own_host < 0 ? own_rank : own_host;
  if (is_wrong) {
    all[2 * hosts] = 1;
  } else {
    all[static_cast<std::size_t>(wanted)] = own_rank;
    all[hosts + static_cast<std::size_t>(wanted)] = 1;
    all[2 * hosts + 1] = own_host < 0 ? 1 : 0;
  }
  const QMP_status_t status =
      QMP_sum_double_array(all.data(), static_cast<int>(all.size()));
  if (status != QMP_SUCCESS) {
    return keep(status);
  }
  if (machine.hosts.has_topology()) {
    return fail(QMP_TOPOLOGY_EXISTS, "declareTopology: called already");
  }
  std::vector<int> ranks(hosts);
  bool is_agreed = all[2 * hosts] == 0 &&
                   (all[2 * hosts + 1] == 0 || all[2 * hosts + 1] == count);
  for (std::size_t host = 0; host < hosts; ++host) {
    is_agreed &= all[hosts + host] == 1;
    ranks[host] = static_cast<int>(all[host]);
  }
  if (!is_agreed) {
    return fail(
        QMP_INVALID_TOPOLOGY,
        "declareTopology: %zu sizes, local_host %d, %d hosts: all sizes "
        "have to be 1 or more and their product the number of hosts, "
        "and each host gives another number from 0 on, or all give -1",
        sizes.size(), own_host, count);
  }
  machine.hosts = Hosts(sizes, std::move(ranks), own_rank);
  return QMP_SUCCESS;
}

/// A negative time waits as long as QMP_WAIT_TIMEOUT says, and then fails; a
/// time given by the program just ends with 0.
int wait_for(Machine& machine, Handle* handle, int milliseconds) {
  Waiting waiting{&machine.mailbox, handle};
  const int limit = milliseconds < 0 ? machine.wait_timeout_ms : milliseconds;
  const char* before = acpx_enter_call("waitFor");
  const int result = acpx_wait_until(&is_over, &waiting, limit);
  acpx_leave_call(before);
  if (result == 0) {
    return outcome(machine, handle);
  }
  if (result < 0) {
    (void)fail(QMP_ERROR, "%s has failed: %s", describe(*handle).c_str(),
               acpx_strerror(acp_errno));
    return -1;
  }
  if (milliseconds < 0) {
    (void)fail(QMP_TIMEOUT,
               "%s did not end within %g s: has the other side started its "
               "part? (QMP_WAIT_TIMEOUT)",
               describe(*handle).c_str(), limit / 1000.0);
    return -1;
  }
  return 0;
}

}  // namespace lqcd
