// The functions of lqcd.h: checks and messages; mailbox and machine do the
// work. Programs call them, and they take no lock themselves.
#include <algorithm>
#include <chrono>

#include "compat/lqcd/machine.h"
#include "inbox/reserved_call.h"
#include "lqcd.h"

using lqcd::fail;
using lqcd::Handle;
using lqcd::keep;
using lqcd::Machine;
using lqcd::machine_for;
using lqcd::machine_to_begin;

namespace {

/// Declares a send or receive. NULL, and a failure, for a buffer that cannot
/// be.
void* declare(const char* function, Machine* mine, const Handle& handle) {
  if (mine == nullptr) {
    return nullptr;
  }
  const auto bytes = static_cast<std::ptrdiff_t>(handle.bytes);
  if (bytes < 0 || (handle.buffer == nullptr && bytes > 0)) {
    (void)fail(QMP_INVALID_ARG, "%s of %td bytes, buffer %p: that cannot be",
               function, bytes, static_cast<void*>(handle.buffer));
    return nullptr;
  }
  return mine->mailbox.declare(handle);
}

Handle made(Handle::Kind kind, void* buffer, int nbytes, int name) {
  Handle handle;
  handle.kind = kind;
  handle.buffer = static_cast<std::byte*>(buffer);
  handle.bytes = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(nbytes));
  handle.name = name;
  return handle;
}

void* declare_send(const char* function,
                   Machine* mine,
                   Handle handle,
                   int host) {
  handle.host = host;
  handle.rank = mine->hosts.rank_of(host);
  return declare(function, mine, handle);
}

void start(const char* function, Handle::Kind kind, void* opaque) {
  const inbox::ReservedCall call;
  Machine* mine = machine_to_begin(function);
  auto* handle = static_cast<Handle*>(opaque);
  if (mine == nullptr) {
    return;
  }
  if (handle == nullptr || handle->kind != kind) {
    (void)fail(QMP_INVALID_ARG, "%s: the handle is %s", function,
               handle == nullptr ? "NULL" : "one of the other kind");
  } else if (!mine->mailbox.start(handle)) {
    (void)fail(QMP_INVALID_OP,
               "%s: name %d, %zu bytes: active already; wait for it first",
               function, handle->name, handle->bytes);
  }
}

int wait(const char* function, void* opaque, int milliseconds) {
  const inbox::ReservedCall call;
  Machine* mine = machine_to_begin(function);
  if (mine != nullptr && opaque == nullptr) {
    (void)fail(QMP_INVALID_ARG, "%s: the handle is NULL", function);
  }
  return mine == nullptr || opaque == nullptr
             ? -1
             : lqcd::wait_for(*mine, static_cast<Handle*>(opaque),
                              milliseconds);
}

/// The sum over all hosts; the value of this host when that fails.
template <typename Value>
Value reduce(const char* function,
             Value own,
             QMP_status_t (*operation)(Value*)) {
  Value value = own;
  const bool is_done = machine_for(function) != nullptr &&
                       keep(operation(&value)) == QMP_SUCCESS;
  return is_done ? value : own;
}

}  // namespace

extern "C" {

int initMachine(void) {
  return lqcd::begin();
}

int getMachineType(void) {
  return machine_for("getMachineType") != nullptr
             ? QMP_get_allocated_number_of_dimensions()
             : 0;
}

int shutdownMachine(void) {
  return machine_for("shutdownMachine") != nullptr ? lqcd::end()
                                                   : QMP_NOT_INITED;
}

// NOLINTNEXTLINE(readability-non-const-parameter): as the text has it
void declareTopology(int dimensions[], int ndimensions, int local_host) {
  const inbox::ReservedCall call;
  Machine* mine = machine_to_begin("declareTopology");
  if (mine == nullptr) {
    return;
  }
  std::vector<int> sizes;
  if (dimensions != nullptr && ndimensions > 0) {
    sizes.assign(dimensions, dimensions + ndimensions);
  }
  (void)lqcd::declare_topology(*mine, sizes, local_host);
}

void* declareReceive(void* buffer, int nbytes, int buffer_name) {
  const inbox::ReservedCall call;
  return declare("declareReceive", machine_to_begin("declareReceive"),
                 made(Handle::Kind::kReceive, buffer, nbytes, buffer_name));
}

void* declareSendTo(void* buffer,
                    int nbytes,
                    int remote_host,
                    int remote_buffer) {
  const inbox::ReservedCall call;
  Machine* mine = machine_to_begin("declareSendTo");
  if (mine != nullptr && !mine->hosts.is_host(remote_host)) {
    (void)fail(QMP_NODE_OUTRANGE, "declareSendTo host %d: hosts are 0 to %d",
               remote_host, mine->hosts.count() - 1);
    return nullptr;
  }
  return mine == nullptr ? nullptr
                         : declare_send("declareSendTo", mine,
                                        made(Handle::Kind::kSend, buffer,
                                             nbytes, remote_buffer),
                                        remote_host);
}

// The neighbour is looked up here; the handle then names its rank.
void* declareSendRelative(void* buffer,
                          int nbytes,
                          int relative_host,
                          int remote_buffer) {
  const inbox::ReservedCall call;
  Machine* mine = machine_to_begin("declareSendRelative");
  if (mine == nullptr) {
    return nullptr;
  }
  if (!mine->hosts.has_topology()) {
    (void)fail(QMP_NONEIGHBOR_INFO,
               "declareSendRelative: call declareTopology before");
    return nullptr;
  }
  const int axes = mine->hosts.axes();
  if (relative_host == 0 || relative_host < -axes || relative_host > axes) {
    (void)fail(QMP_INVALID_ARG,
               "declareSendRelative %d: neighbours are +1, -1 to +%d, -%d",
               relative_host, axes, axes);
    return nullptr;
  }
  return declare_send("declareSendRelative", mine,
                      made(Handle::Kind::kSend, buffer, nbytes, remote_buffer),
                      mine->hosts.neighbour(relative_host));
}

void startSend(void* opaque) {
  start("startSend", Handle::Kind::kSend, opaque);
}

void startReceive(void* opaque) {
  start("startReceive", Handle::Kind::kReceive, opaque);
}

int testCompletion(void* opaque) {
  return wait("testCompletion", opaque, 0);
}

int waitFor(void* opaque, int milliseconds) {
  return wait("waitFor", opaque, milliseconds);
}

// Waits for one handle after the other until the common end of the time.
int waitForMultiple(void* opaque[], int count, int milliseconds) {
  if (count < 0 || (opaque == nullptr && count > 0)) {
    (void)fail(QMP_INVALID_ARG, "waitForMultiple of %d handles", count);
    return -1;
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  int result = 1;
  for (int i = 0; i < count; ++i) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    const auto positive =
        std::max<std::chrono::milliseconds::rep>(left.count(), 0);
    const int one = wait("waitForMultiple", opaque[i],
                         milliseconds < 0 ? -1 : static_cast<int>(positive));
    if (one == 0) {
      return result < 0 ? result : 0;
    }
    result = one < 0 ? one : result;
  }
  return result;
}

// Sends to every rank but this one. The mailbox copies the buffer once for all
// of them.
void sendBroadcast(void* buffer, int nbytes, int remote_buffer) {
  const inbox::ReservedCall call;
  Machine* mine = machine_to_begin("sendBroadcast");
  if (mine == nullptr) {
    return;
  }
  if (nbytes < 0 || (buffer == nullptr && nbytes > 0)) {
    (void)fail(QMP_INVALID_ARG,
               "sendBroadcast of %d bytes, buffer %p: that cannot be", nbytes,
               buffer);
    return;
  }
  std::vector<int> others;
  for (int rank = 0; rank < mine->hosts.count(); ++rank) {
    if (rank != QMP_get_node_number()) {
      others.push_back(rank);
    }
  }
  if (!mine->mailbox.broadcast(buffer, static_cast<std::size_t>(nbytes), others,
                               remote_buffer)) {
    (void)fail(QMP_NOMEM_ERR, "sendBroadcast of %d bytes: no memory for a copy",
               nbytes);
  }
}

bool globalOr(bool b) {
  return reduce("globalOr", b ? 1 : 0, &QMP_max_int) != 0;
}

int sumInt(int i) {
  return reduce("sumInt", i, &QMP_sum_int);
}

float sumFloat(float x) {
  return reduce("sumFloat", x, &QMP_sum_float);
}

double sumDouble(double x) {
  return reduce("sumDouble", x, &QMP_sum_double);
}

void sumFloatArray(float x[], int length) {
  if (machine_for("sumFloatArray") != nullptr) {
    (void)keep(QMP_sum_float_array(x, length));
  }
}

void sumDoubleArray(double x[], int length) {
  if (machine_for("sumDoubleArray") != nullptr) {
    (void)keep(QMP_sum_double_array(x, length));
  }
}

void waitForBarrier(void) {
  if (machine_for("waitForBarrier") != nullptr) {
    (void)keep(QMP_barrier());
  }
}

char* getErrorString(void) {
  // The type is char* in the text of the interface; callers do not write to it.
  static thread_local std::string text;
  const lqcd::Failure& failure = lqcd::last_failure();
  text = failure.text.empty() ? QMP_error_string(failure.status) : failure.text;
  return text.data();
}

int getErrorNumber(void) {
  return lqcd::last_failure().status;
}

}  // extern "C"
