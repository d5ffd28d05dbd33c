// Starts message handles and waits for them: the checks and messages of
// QMP_start, QMP_wait and their like. Called by message_api.cc. No lock may be
// held while it waits.
#include "qmp/handle.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "acp/extension.h"
#include "inbox/reserved_call.h"

namespace qmp {

namespace {

/// Keeps the failure of this thread with the handle, for QMP_get_error_string.
QMP_status_t keep(MessageHandle& handle, QMP_status_t status) {
  handle.failure = last_failure();
  return status;
}

/// The transfer has no counterpart: names the peer with its host, and how many
/// transfers each side has started on the channel.
QMP_status_t describe_departure(Job& job, const Transfer& transfer) {
  const ChannelId& id = transfer.half->id();
  const char* what = id.is_receiver ? "receive" : "send";
  const char* counterpart = id.is_receiver ? "send" : "receive";
  const auto presence =
      job.exchange.presences().read(static_cast<int>(id.peer));
  const std::string host =
      presence ? " (host " + std::string(presence->host) + ")" : "";
  const auto total = transfer.half->peer_total();
  std::string started =
      total ? std::to_string(*total) + " " + counterpart +
                  (*total == 1 ? "" : "s") + " on this channel"
            : "no " + std::string(counterpart) + " that could still end";
  if (total && transfer.number < *total) {
    started += ", this one too late: after two barriers its end was over";
  }
  return fail(QMP_ERROR,
              "QMP_wait: %s number %llu of %zu bytes with %s%s: that node has "
              "left by exit(0) or QMP_finalize_msg_passing, and had started %s",
              what, static_cast<unsigned long long>(transfer.number) + 1,
              transfer.memory->size(), describe(id).c_str(), host.c_str(),
              started.c_str());
}

/// Says why a transfer has failed, the most particular reason first.
QMP_status_t describe_failure(Job& job, const Transfer& transfer) {
  if (transfer.has_peer_left) {
    return describe_departure(job, transfer);
  }
  const ChannelId& id = transfer.half->id();
  const char* what = id.is_receiver ? "receive" : "send";
  const std::string peer = describe(id);
  if (transfer.status == QMP_BAD_MESSAGE) {
    return fail(QMP_BAD_MESSAGE,
                "QMP_wait: %s of %zu bytes with %s: the message has %llu "
                "bytes, more than its receive takes; nothing was written",
                what, transfer.memory->size(), peer.c_str(),
                static_cast<unsigned long long>(transfer.length));
  }
  if (id.is_receiver && transfer.status == QMP_ERROR) {
    return fail(QMP_ERROR,
                "QMP_wait: %s of %zu bytes with %s: the sender could not send "
                "all %llu bytes of the message; its QMP_wait says why",
                what, transfer.memory->size(), peer.c_str(),
                static_cast<unsigned long long>(transfer.length));
  }
  return fail(transfer.status, "QMP_wait: %s of %zu bytes with %s: %s", what,
              transfer.memory->size(), peer.c_str(),
              QMP_error_string(transfer.status));
}

/// Asks for the result of the put of a gated message: it may have failed at the
/// peer.
void collect_put(Transfer& transfer) {
  if (transfer.handle != ACP_HANDLE_NULL && transfer.status == QMP_SUCCESS &&
      acpx_complete_timeout(transfer.handle, 0) < 0) {
    transfer.status = QMP_ERROR;
  }
  transfer.handle = ACP_HANDLE_NULL;
}

/// All transfers are done: makes them idle, and returns the first failure.
QMP_status_t retire(Job& job, MessageHandle& handle) {
  QMP_status_t status = QMP_SUCCESS;
  for (Transfer* each = handle.first; each != nullptr; each = each->next) {
    if (each->state.load(std::memory_order_relaxed) != Transfer::State::kDone) {
      continue;
    }
    collect_put(*each);
    if (each->status != QMP_SUCCESS && status == QMP_SUCCESS) {
      status = keep(handle, describe_failure(job, *each));
    }
    each->status = QMP_SUCCESS;
    each->state.store(Transfer::State::kIdle, std::memory_order_relaxed);
  }
  return status;
}

/// The time limit has passed: names one open transfer. If the last one has
/// ended since the wait's last look, its result counts as if it had been in
/// time.
QMP_status_t give_up(Job& job, MessageHandle& handle) {
  int parts = 0;
  int open = 0;
  for (const Transfer* each = handle.first; each != nullptr;
       each = each->next) {
    ++parts;
    open += each->is_active() ? 1 : 0;
  }
  if (open == 0) {
    return retire(job, handle);
  }
  const std::string others = open > 1 ? " and " + std::to_string(open - 1) +
                                            " more of " +
                                            std::to_string(parts) + " parts"
                                      : "";
  return keep(handle,
              fail(QMP_TIMEOUT,
                   "QMP_wait: %s%s did not end within %g s: has the other side "
                   "started its part? (QMP_WAIT_TIMEOUT)",
                   describe_active(handle).c_str(), others.c_str(),
                   job.wait_timeout_ms / 1000.0));
}

QMP_status_t wait_for(Job& job, MessageHandle& handle) {
  switch (job.exchange.wait(handle.first, job.wait_timeout_ms)) {
    case 0: return retire(job, handle);
    case 1: return give_up(job, handle);
    default:
      return keep(handle, fail(QMP_ERROR, "QMP_wait: %s has failed: %s",
                               describe_active(handle).c_str(),
                               acpx_strerror(acp_errno)));
  }
}

}  // namespace

MessageHandles& message_handles() {
  static MessageHandles* const handles = new MessageHandles;
  return *handles;
}

MessageMemories& message_memories() {
  static MessageMemories* const memories = new MessageMemories;
  return *memories;
}

MessageHandle* find_handle(const char* function,
                           QMP_msghandle_t handle,
                           const char* number) {
  MessageHandle* found = message_handles().find(handle);
  if (found == nullptr) {
    (void)fail(QMP_INVALID_ARG, "%s: %shandle%s %s", function,
               number[0] != '\0' ? "" : "the ", number,
               handle == nullptr
                   ? "is NULL; declare it first"
                   : "was freed before, by QMP_free_msghandle or as a part of "
                     "a multiple, or was never declared");
  }
  return found;
}

std::string describe_active(const MessageHandle& handle) {
  const Transfer* each = handle.first;
  while (each->next != nullptr && !each->is_active()) {
    each = each->next;
  }
  return (each->half->id().is_receiver ? "receive of " : "send of ") +
         std::to_string(each->memory->size()) + " bytes with " +
         describe(each->half->id());
}

/// Refuses a handle of which any transfer is active before it starts the first
/// one. A start also ends transfers that are done, and drops their results.
QMP_status_t start(QMP_msghandle_t name) {
  const inbox::ReservedCall call;
  Job* mine = job_to_begin("QMP_start");
  if (mine == nullptr) {
    return last_failure().status;
  }
  MessageHandle* handle = find_handle("QMP_start", name);
  if (handle == nullptr) {
    return QMP_INVALID_ARG;
  }
  for (Transfer* each = handle->first; each != nullptr; each = each->next) {
    const auto state = each->state.load(std::memory_order_acquire);
    if (state == Transfer::State::kActive) {
      return keep(*handle,
                  fail(QMP_INVALID_OP,
                       "QMP_start: the %s with %s is active already; wait for "
                       "it first",
                       each->half->id().is_receiver ? "receive" : "send",
                       describe(each->half->id()).c_str()));
    }
    if (state == Transfer::State::kDone) {
      collect_put(*each);
    }
  }
  mine->exchange.start(handle->first);
  return QMP_SUCCESS;
}

QMP_status_t wait(QMP_msghandle_t name) {
  const inbox::ReservedCall call;
  Job* mine = job_to_begin("QMP_wait");
  if (mine == nullptr) {
    return last_failure().status;
  }
  MessageHandle* handle = find_handle("QMP_wait", name);
  return handle != nullptr ? wait_for(*mine, *handle) : QMP_INVALID_ARG;
}

/// Waits for every handle, also behind one that has failed.
QMP_status_t wait_all(QMP_msghandle_t* handles, int count) {
  const inbox::ReservedCall call;
  Job* mine = job_to_begin("QMP_wait_all");
  if (mine == nullptr) {
    return last_failure().status;
  }
  if (count < 0) {
    return fail(QMP_INVALID_ARG,
                "QMP_wait_all: num is %d; it has to be 0 or more", count);
  }
  if (handles == nullptr && count > 0) {
    return fail(QMP_INVALID_ARG, "QMP_wait_all: h is NULL, and num is %d",
                count);
  }
  QMP_status_t result = QMP_SUCCESS;
  for (int i = 0; i < count; ++i) {
    MessageHandle* handle = message_handles().find(handles[i]);
    QMP_status_t status = QMP_INVALID_ARG;
    if (handle != nullptr) {
      status = wait_for(*mine, *handle);
    } else {
      const std::string number =
          " " + std::to_string(i) + " of 0 to " + std::to_string(count - 1);
      (void)find_handle("QMP_wait_all", handles[i], number.c_str());
    }
    result = result == QMP_SUCCESS ? status : result;
  }
  return result;
}

QMP_bool_t is_complete(QMP_msghandle_t name) {
  const inbox::ReservedCall call;
  Job* mine = job_to_begin("QMP_is_complete");
  const MessageHandle* handle =
      mine != nullptr ? find_handle("QMP_is_complete", name) : nullptr;
  return handle != nullptr && mine->exchange.look(handle->first) == 0
             ? QMP_TRUE
             : QMP_FALSE;
}

QMP_status_t clear_to_send(QMP_msghandle_t name, QMP_clear_to_send_t cts) {
  if (job_for("QMP_clear_to_send") == nullptr) {
    return last_failure().status;
  }
  MessageHandle* handle = find_handle("QMP_clear_to_send", name);
  if (handle == nullptr) {
    return QMP_INVALID_ARG;
  }
  if (cts < QMP_CTS_DISABLED || cts > QMP_CTS_READY) {
    return fail(QMP_INVALID_ARG,
                "QMP_clear_to_send: the value is %d; it has to be "
                "QMP_CTS_DISABLED, QMP_CTS_NOT_READY or QMP_CTS_READY",
                static_cast<int>(cts));
  }
  if (handle->is_active()) {
    return keep(*handle, fail(QMP_INVALID_OP,
                              "QMP_clear_to_send: the handle is active: %s; "
                              "wait for it first",
                              describe_active(*handle).c_str()));
  }
  // This hint changes nothing. A grant posted before QMP_start would give the
  // peer memory that the program may still free or exchange.
  return QMP_SUCCESS;
}

/// Checks everything before the first change. The old memory lives on while
/// another handle uses it.
QMP_status_t change_addresses(const char* function,
                              QMP_msghandle_t name,
                              void** bases,
                              int count) {
  const inbox::ReservedCall call;
  if (job_to_begin(function) == nullptr) {
    return last_failure().status;
  }
  MessageHandle* handle = find_handle(function, name);
  if (handle == nullptr || bases == nullptr) {
    return handle == nullptr
               ? QMP_INVALID_ARG
               : fail(QMP_INVALID_ARG, "%s: addr is NULL", function);
  }
  int parts = 0;
  for (Transfer* each = handle->first; each != nullptr; each = each->next) {
    ++parts;
  }
  if (parts != count) {
    return fail(QMP_INVALID_ARG,
                "%s: addresses given: %d, transfers of the handle: %d; give "
                "one for each transfer, by QMP_change_address_multiple",
                function, count, parts);
  }
  if (void** missing = std::find(bases, bases + count, nullptr);
      missing != bases + count) {
    return fail(QMP_INVALID_ARG, "%s: address %td is NULL; the first has 0",
                function, missing - bases);
  }
  if (handle->is_active()) {
    return keep(*handle, fail(QMP_INVALID_OP,
                              "%s: the handle is active: %s; wait for it first",
                              function, describe_active(*handle).c_str()));
  }
  for (Transfer* each = handle->first; each != nullptr; each = each->next) {
    MessageMemory* moved = each->memory->moved_to(*bases++);
    each->memory->release();
    each->memory = moved;
  }
  return QMP_SUCCESS;
}

void free_handle(QMP_msghandle_t name) {
  if (name == nullptr) {
    return;
  }
  const inbox::ReservedCall call;
  Job* mine = job_for("QMP_free_msghandle");
  if (mine == nullptr) {
    return;  // QMP_finalize_msg_passing has ended all handles.
  }
  MessageHandle* handle = message_handles().remove(name);
  if (handle == nullptr) {
    (void)find_handle("QMP_free_msghandle", name);
    return;
  }
  for (Transfer* each = handle->first; each != nullptr;) {
    Transfer* next = each->next;
    mine->exchange.discard(each);
    each = next;
  }
  delete handle;
}

}  // namespace qmp
