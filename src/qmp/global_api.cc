// The global operations of qmp.h: checks, and a table of the reductions.
// Programs call them, one thread at a time for a communicator. They take no
// lock and send nothing: collective.cc does the work.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "inbox/reserved_call.h"
#include "qmp.h"
#include "qmp/api_pair.h"
#include "qmp/collective.h"
#include "qmp/failure.h"
#include "qmp/job.h"
#include "qmp/operators.h"
#include "qmp/profile.h"

using qmp::fail;
using qmp::fail_null;
using qmp::Job;

namespace {

/// The check that all global operations share. nullptr: a failure, which
/// why_not() returns.
Job* job_of(const char* function, QMP_comm_t comm) {
  Job* mine = qmp::job_to_begin(function);
  if (mine != nullptr && (comm == nullptr || comm->is_freed)) {
    return fail_null(QMP_INVALID_ARG, "%s: the communicator %s", function,
                     comm == nullptr ? "is NULL" : "was freed before");
  }
  return mine;
}

/// The checks of an operation on data, whose parameter has the name `what`.
/// `length` counts elements or bytes. nullptr: a failure.
Job* job_with(const char* function,
              QMP_comm_t comm,
              const char* what,
              const void* data,
              long long length) {
  Job* mine = job_of(function, comm);
  if (mine != nullptr && length < 0) {
    return fail_null(QMP_INVALID_ARG,
                     "%s: length is %lld; it has to be 0 or more", function,
                     length);
  }
  if (mine != nullptr && data == nullptr && length > 0) {
    return fail_null(QMP_INVALID_ARG, "%s: %s is NULL", function, what);
  }
  return mine;
}

/// Whether two buffers of `bytes` bytes have a byte in common.
bool overlap(const char* one, const char* other, std::size_t bytes) {
  const auto a = reinterpret_cast<std::uintptr_t>(one);
  const auto b = reinterpret_cast<std::uintptr_t>(other);
  return (a < b ? b - a : a - b) < bytes;
}

QMP_status_t why_not() {
  return qmp::last_failure().status;
}

template <typename Function, typename T>
QMP_status_t reduce(const char* function,
                    QMP_comm_t comm,
                    T* values,
                    int length) {
  const qmp::Timed timed;
  const inbox::ReservedCall call;
  Job* mine = job_with(function, comm, "value", values, length);
  return mine == nullptr
             ? why_not()
             : qmp::reduce(*mine, *comm, function, values,
                           static_cast<std::size_t>(length) * sizeof(T),
                           qmp::Elementwise<T, Function>());
}

/// Sums in long double.
QMP_status_t sum_extended(const char* function,
                          QMP_comm_t comm,
                          double* values,
                          int length) {
  if (job_with(function, comm, "value", values, length) == nullptr) {
    return why_not();
  }
  std::vector<long double> wide;
  try {
    wide.assign(values, values + length);
  } catch (const std::bad_alloc&) {
    return fail(QMP_NOMEM_ERR, "%s: no memory for %d long doubles", function,
                length);
  }
  const QMP_status_t status =
      reduce<qmp::Sum>(function, comm, wide.data(), length);
  if (status == QMP_SUCCESS) {
    std::transform(wide.begin(), wide.end(), values,
                   [](long double x) { return static_cast<double>(x); });
  }
  return status;
}

}  // namespace

extern "C" {

QMP_API_PAIR(QMP_status_t, barrier, ()) {
  const qmp::Timed timed;
  const inbox::ReservedCall call;
  Job* mine = job_of(function, comm);
  return mine == nullptr ? why_not() : qmp::barrier(*mine, *comm, function);
}

QMP_API_PAIR(
    QMP_status_t, broadcast, (buffer, nbytes), void* buffer, size_t nbytes) {
  const qmp::Timed timed;
  const inbox::ReservedCall call;
  Job* mine = job_with(function, comm, "buffer", buffer, nbytes > 0 ? 1 : 0);
  return mine == nullptr
             ? why_not()
             : qmp::broadcast(*mine, *comm, function, buffer, nbytes);
}

/// There is no form for the default communicator. Buffers that overlap are
/// refused: a block would be received over one that is not sent yet.
QMP_status_t QMP_comm_alltoall(QMP_comm_t comm,
                               char* recvbuffer,
                               char* sendbuffer,
                               int count) {
  constexpr const char* kFunction = "QMP_comm_alltoall";
  const qmp::Timed timed;
  const inbox::ReservedCall call;
  const char* missing = recvbuffer == nullptr ? "recvbuffer" : "sendbuffer";
  const bool has_both = recvbuffer != nullptr && sendbuffer != nullptr;
  Job* mine = job_with(kFunction, comm, missing,
                       has_both ? recvbuffer : nullptr, count);
  if (mine == nullptr) {
    return why_not();
  }
  const auto bytes = static_cast<std::size_t>(count);
  const std::size_t all = bytes * static_cast<std::size_t>(comm->nodes());
  if (overlap(recvbuffer, sendbuffer, all)) {
    return fail(QMP_INVALID_ARG,
                "%s: recvbuffer and sendbuffer overlap; each has %d bytes for "
                "each of %d nodes, %zu bytes in all",
                kFunction, count, comm->nodes(), all);
  }
  return qmp::all_to_all(*mine, *comm, kFunction,
                         reinterpret_cast<std::byte*>(recvbuffer),
                         reinterpret_cast<std::byte*>(sendbuffer), bytes);
}

QMP_API_PAIR(QMP_status_t,
             binary_reduction,
             (lbuffer, buflen, bfunc),
             void* lbuffer,
             size_t buflen,
             QMP_binary_func bfunc) {
  const qmp::Timed timed;
  const inbox::ReservedCall call;
  Job* mine = job_with(function, comm, "lbuffer", lbuffer, buflen > 0 ? 1 : 0);
  if (mine != nullptr && bfunc == nullptr) {
    return fail(QMP_INVALID_ARG, "%s: bfunc is NULL", function);
  }
  return mine == nullptr ? why_not()
                         : qmp::reduce(*mine, *comm, function, lbuffer, buflen,
                                       qmp::UserFunction(bfunc));
}

// NOLINTBEGIN(bugprone-macro-parentheses): they are names and types

// Reductions of one value: name, function, type of the value.
#define QMP_REDUCTION(name, Function, type)                 \
  QMP_API_PAIR(QMP_status_t, name, (value), type* value) {  \
    return reduce<qmp::Function>(function, comm, value, 1); \
  }

QMP_REDUCTION(sum_int, Sum, int)
QMP_REDUCTION(sum_uint64_t, Sum, uint64_t)
QMP_REDUCTION(sum_float, Sum, float)
QMP_REDUCTION(sum_double, Sum, double)
QMP_REDUCTION(sum_long_double, Sum, long double)
QMP_REDUCTION(max_int, Largest, int)
QMP_REDUCTION(max_float, Largest, float)
QMP_REDUCTION(max_double, Largest, double)
QMP_REDUCTION(min_int, Smallest, int)
QMP_REDUCTION(min_float, Smallest, float)
QMP_REDUCTION(min_double, Smallest, double)
QMP_REDUCTION(xor_ulong, ExclusiveOr, unsigned long)

// Sums of arrays: name, type of an element.
#define QMP_ARRAY_SUM(name, type)                                 \
  QMP_API_PAIR(QMP_status_t, name, (value, length), type value[], \
               int length) {                                      \
    return reduce<qmp::Sum>(function, comm, value, length);       \
  }

QMP_ARRAY_SUM(sum_float_array, float)
QMP_ARRAY_SUM(sum_double_array, double)
QMP_ARRAY_SUM(sum_long_double_array, long double)

// NOLINTEND(bugprone-macro-parentheses)

QMP_API_PAIR(QMP_status_t, sum_double_extended, (value), double* value) {
  return sum_extended(function, comm, value, 1);
}

QMP_API_PAIR(QMP_status_t,
             sum_double_extended_array,
             (value, length),
             double value[],
             int length) {
  return sum_extended(function, comm, value, length);
}

}  // extern "C"
