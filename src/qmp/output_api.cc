// The functions of qmp.h for output, errors and time. Programs and all parts of
// QMP call them. They work before init and after finalize, so none of them may
// need a job.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "acp.h"
#include "qmp.h"
#include "qmp/failure.h"
#include "qmp/handle.h"
#include "qmp/job.h"
#include "qmp/profile.h"

using qmp::fail;

namespace {

std::atomic<int> g_profiling{0};

std::string prefix(const char* kind) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  const qmp::NodeNumber number = qmp::node_number();
  return "QMP m" + std::to_string(number.node) + ",n" +
         std::to_string(number.nodes) + "@" + host.data() + kind + ": ";
}

/// Prints one line by one write, so that lines of several threads and nodes
/// stay whole.
int print(FILE* stream,
          const char* kind,
          const char* format,
          std::va_list words) {
  std::va_list again;
  va_copy(again, words);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0) {
    return length;
  }
  std::string line = prefix(kind);
  const std::size_t start = line.size();
  line.resize(start + static_cast<std::size_t>(length) + 1);
  (void)std::vsnprintf(&line[start], static_cast<std::size_t>(length) + 1,
                       format, words);
  line.back() = '\n';
  const bool is_written =
      std::fwrite(line.data(), 1, line.size(), stream) == line.size() &&
      std::fflush(stream) == 0;
  return is_written ? static_cast<int>(line.size()) : -1;
}

/// A code whose low 8 bits are 0 would look like success: acp_abort then ends
/// the job with status 1.
[[noreturn]] void end_job(int code) {
  (void)std::fflush(nullptr);
  if ((code & 0xff) == 0) {
    acp_abort("QMP_abort");
  }
  // acprun ends the job with the status of the first rank that fails.
  ::_exit(code & 0xff);
}

/// The failure of a handle, or of the calling thread for NULL. These functions
/// print nothing.
const qmp::Failure& failure_of(QMP_msghandle_t handle) {
  static const qmp::Failure freed{
      QMP_INVALID_ARG, "the handle was freed before, or was never declared"};
  if (handle == nullptr) {
    return qmp::last_failure();
  }
  const qmp::MessageHandle* found = qmp::message_handles().find(handle);
  return found != nullptr ? found->failure : freed;
}

}  // namespace

extern "C" {

int QMP_printf(const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  const int result = print(stdout, "", format, words);
  va_end(words);
  return result;
}

int QMP_fprintf(FILE* stream, const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  const int result = print(stream, "", format, words);
  va_end(words);
  return result;
}

int QMP_info(const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  const int result = print(stdout, " info", format, words);
  va_end(words);
  return result;
}

int QMP_error(const char* format, ...) {
  std::va_list words;
  va_start(words, format);
  const int result = print(stderr, " error", format, words);
  va_end(words);
  return result;
}

int QMP_verbose(int level) {
  return qmp::set_verbosity(level);
}

int QMP_profcontrol(int level) {
  qmp::set_profiling(level > 0);
  return g_profiling.exchange(level);
}

double QMP_time(void) {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double QMP_get_total_qmp_time(void) {
  return qmp::profiled_seconds();
}

void QMP_reset_total_qmp_time(void) {
  qmp::reset_profiled_seconds();
}

const char* QMP_version_str(void) {
  return "2.5.4";
}

int QMP_version_int(void) {
  return 20504;
}

void QMP_abort(int error_code) {
  (void)QMP_error("abort: %d", error_code);
  end_job(error_code);
}

// NOLINTNEXTLINE(readability-non-const-parameter): clients know it so
void QMP_abort_string(int error_code, char* message) {
  (void)QMP_error("abort: %d: %s", error_code,
                  message != nullptr ? message : "(no message)");
  end_job(error_code);
}

/// Programs print the texts after their own words, so each is a fragment. A
/// switch without a default lets the compiler name a code that lacks its text.
const char* QMP_error_string(QMP_status_t code) {
  switch (code) {
    case QMP_SUCCESS: return "success";
    case QMP_ERROR: return "a failure";
    case QMP_NOT_INITED: return "QMP is not initialized";
    case QMP_RTENV_ERR: return "the environment of the job is wrong";
    case QMP_CPUINFO_ERR: return "no information about the processors";
    case QMP_NODEINFO_ERR: return "no information about the nodes";
    case QMP_NOMEM_ERR: return "memory exhausted";
    case QMP_MEMSIZE_ERR: return "a memory size that cannot be";
    case QMP_HOSTNAME_ERR: return "the name of the host is unknown";
    case QMP_INITSVC_ERR: return "the job could not be joined";
    case QMP_TOPOLOGY_EXISTS: return "a logical topology is declared already";
    case QMP_CH_TIMEOUT: return "a channel did not open in time";
    case QMP_NOTSUPPORTED: return "not supported";
    case QMP_SVC_BUSY: return "a service is busy";
    case QMP_BAD_MESSAGE:
      return "a message longer than its receive, or calls of a global "
             "operation that do not agree";
    case QMP_INVALID_ARG: return "an invalid argument";
    case QMP_INVALID_TOPOLOGY: return "dimensions that do not fit the job";
    case QMP_NONEIGHBOR_INFO: return "no logical topology is declared";
    case QMP_MEMSIZE_TOOBIG: return "a size above the limit";
    case QMP_BAD_MEMORY: return "memory that cannot be used";
    case QMP_NO_PORTS: return "no ports";
    case QMP_NODE_OUTRANGE: return "no such node";
    case QMP_CHDEF_ERR: return "a channel could not be defined";
    case QMP_MEMUSED_ERR: return "memory in use";
    case QMP_INVALID_OP: return "not possible in this state";
    case QMP_TIMEOUT: return "a transfer did not end in time";
    case QMP_MAX_STATUS: break;
  }
  return "not a status code of QMP";
}

QMP_status_t QMP_get_error_number(QMP_msghandle_t mh) {
  return failure_of(mh).status;
}

const char* QMP_get_error_string(QMP_msghandle_t mh) {
  const qmp::Failure& failure = failure_of(mh);
  return failure.text.empty() ? QMP_error_string(failure.status)
                              : failure.text.c_str();
}

QMP_status_t QMP_get_hidden_comm(QMP_comm_t /*comm*/, void** /*hidden*/) {
  return fail(QMP_NOTSUPPORTED,
              "QMP_get_hidden_comm: there is no communicator underneath");
}

}  // extern "C"
