// The global operations of qmp.h: checks, and a table of the reductions.
// Programs call them, one thread at a time for a communicator. They take no
// lock and send nothing: collective.cc does the work.
#include <algorithm>
#include <vector>

#include "qmp.h"
#include "qmp/api_pair.h"
#include "qmp/collective.h"
#include "qmp/failure.h"
#include "qmp/job.h"
#include "qmp/operators.h"
#include "qmp/profile.h"

using qmp::fail;
using qmp::Job;

namespace {

/// The checks that all global operations share. nullptr: a failure, which
/// why_not() returns.
Job* job_of(QMP_comm_t comm, const void* data, long long length) {
  Job* mine = qmp::job_for("a global operation");
  if (mine != nullptr &&
      (comm == nullptr || length < 0 || (data == nullptr && length > 0))) {
    if (length < 0) {
      (void)fail(QMP_INVALID_ARG, "a global operation of length %lld", length);
    } else {
      (void)fail(QMP_INVALID_ARG, "a global operation: %s is NULL",
                 comm == nullptr ? "the communicator" : "data or function");
    }
    return nullptr;
  }
  return mine;
}

QMP_status_t why_not() {
  return qmp::last_failure().status;
}

template <typename Function, typename T>
QMP_status_t reduce(QMP_comm_t comm, T* values, int length) {
  const qmp::Timed timed;
  Job* mine = job_of(comm, values, length);
  return mine == nullptr
             ? why_not()
             : qmp::reduce(*mine, *comm, values,
                           static_cast<std::size_t>(length) * sizeof(T),
                           qmp::Elementwise<T, Function>());
}

/// Sums in long double.
QMP_status_t sum_extended(QMP_comm_t comm, double* values, int length) {
  if (job_of(comm, values, length) == nullptr) {
    return why_not();
  }
  std::vector<long double> wide(values, values + length);
  const QMP_status_t status = reduce<qmp::Sum>(comm, wide.data(), length);
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
  Job* mine = job_of(comm, nullptr, 0);
  return mine == nullptr ? why_not() : qmp::barrier(*mine, *comm);
}

QMP_API_PAIR(
    QMP_status_t, broadcast, (buffer, nbytes), void* buffer, size_t nbytes) {
  const qmp::Timed timed;
  Job* mine = job_of(comm, buffer, nbytes > 0 ? 1 : 0);
  return mine == nullptr ? why_not()
                         : qmp::broadcast(*mine, *comm, buffer, nbytes);
}

QMP_API_PAIR(QMP_status_t,
             binary_reduction,
             (lbuffer, buflen, bfunc),
             void* lbuffer,
             size_t buflen,
             QMP_binary_func bfunc) {
  const qmp::Timed timed;
  // A reduction without a function is refused: the data is reported as NULL.
  Job* mine = job_of(comm, bfunc == nullptr ? nullptr : lbuffer,
                     bfunc == nullptr || buflen > 0 ? 1 : 0);
  return mine == nullptr ? why_not()
                         : qmp::reduce(*mine, *comm, lbuffer, buflen,
                                       qmp::UserFunction(bfunc));
}

// NOLINTBEGIN(bugprone-macro-parentheses): they are names and types

// Reductions of one value: name, function, type of the value.
#define QMP_REDUCTION(name, Function, type)                \
  QMP_API_PAIR(QMP_status_t, name, (value), type* value) { \
    return reduce<qmp::Function>(comm, value, 1);          \
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
    return reduce<qmp::Sum>(comm, value, length);                 \
  }

QMP_ARRAY_SUM(sum_float_array, float)
QMP_ARRAY_SUM(sum_double_array, double)
QMP_ARRAY_SUM(sum_long_double_array, long double)

// NOLINTEND(bugprone-macro-parentheses)

QMP_API_PAIR(QMP_status_t, sum_double_extended, (value), double* value) {
  return sum_extended(comm, value, 1);
}

QMP_API_PAIR(QMP_status_t,
             sum_double_extended_array,
             (value, length),
             double value[],
             int length) {
  return sum_extended(comm, value, length);
}

}  // extern "C"
