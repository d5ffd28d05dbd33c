// Global operations.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "qmp.h"
#include "qmp/collective.h"
#include "qmp/failure.h"
#include "qmp/job.h"

using qmp::fail;
using qmp::Job;

namespace {

struct Sum {
  static constexpr std::uint8_t kNumber = 0;

  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      // Wraps around, as the machine does, without undefined behaviour.
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};

/// A NaN wins, on every node.
template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

struct Largest {
  static constexpr std::uint8_t kNumber = 1;

  template <typename T>
  T operator()(T a, T b) const {
    return is_nan(a) || a > b ? a : b;
  }
};

struct Smallest {
  static constexpr std::uint8_t kNumber = 2;

  template <typename T>
  T operator()(T a, T b) const {
    return is_nan(a) || a < b ? a : b;
  }
};

struct ExclusiveOr {
  static constexpr std::uint8_t kNumber = 3;

  template <typename T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

/// From 1 on: what elements are, in the kind of an operator.
template <typename T>
constexpr std::uint8_t type_number() {
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? 1 : 2;
  } else {
    return std::is_same_v<T, float> ? 3 : std::is_same_v<T, double> ? 4 : 5;
  }
}

template <typename T, typename Function>
class Elementwise final : public qmp::Operator {
 public:
  void apply(void* lower, void* higher, std::size_t bytes) const override {
    auto* mine = static_cast<T*>(lower);
    const auto* theirs = static_cast<const T*>(higher);
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
      mine[i] = Function()(mine[i], theirs[i]);
    }
  }

  std::uint8_t kind() const override {
    return type_number<T>() * 8 + Function::kNumber;
  }
};

class Users final : public qmp::Operator {
 public:
  explicit Users(QMP_binary_func function) : function_(function) {}

  void apply(void* lower, void* higher, std::size_t /*bytes*/) const override {
    function_(lower, higher);
  }

  std::uint8_t kind() const override { return 7; }

 private:
  QMP_binary_func function_;
};

/// Checks what all of them check.
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
                           Elementwise<T, Function>());
}

QMP_status_t sum_extended(QMP_comm_t comm, double* values, int length) {
  if (job_of(comm, values, length) == nullptr) {
    return why_not();
  }
  std::vector<long double> wide(values, values + length);
  const QMP_status_t status = reduce<Sum>(comm, wide.data(), length);
  if (status == QMP_SUCCESS) {
    std::transform(wide.begin(), wide.end(), values,
                   [](long double x) { return static_cast<double>(x); });
  }
  return status;
}

}  // namespace

extern "C" {

QMP_status_t QMP_comm_barrier(QMP_comm_t comm) {
  const qmp::Timed timed;
  Job* mine = job_of(comm, nullptr, 0);
  return mine == nullptr ? why_not() : qmp::barrier(*mine, *comm);
}

QMP_status_t QMP_barrier(void) {
  return QMP_comm_barrier(QMP_comm_get_default());
}

QMP_status_t QMP_comm_broadcast(QMP_comm_t comm, void* buffer, size_t nbytes) {
  const qmp::Timed timed;
  Job* mine = job_of(comm, buffer, nbytes > 0 ? 1 : 0);
  return mine == nullptr ? why_not()
                         : qmp::broadcast(*mine, *comm, buffer, nbytes);
}

QMP_status_t QMP_broadcast(void* buffer, size_t nbytes) {
  return QMP_comm_broadcast(QMP_comm_get_default(), buffer, nbytes);
}

QMP_status_t QMP_comm_binary_reduction(QMP_comm_t comm,
                                       void* lbuffer,
                                       size_t buflen,
                                       QMP_binary_func bfunc) {
  const qmp::Timed timed;
  // Without a function there is nothing to do that has sense.
  Job* mine = job_of(comm, bfunc == nullptr ? nullptr : lbuffer,
                     bfunc == nullptr || buflen > 0 ? 1 : 0);
  return mine == nullptr
             ? why_not()
             : qmp::reduce(*mine, *comm, lbuffer, buflen, Users(bfunc));
}

QMP_status_t QMP_binary_reduction(void* lbuffer,
                                  size_t buflen,
                                  QMP_binary_func bfunc) {
  return QMP_comm_binary_reduction(QMP_comm_get_default(), lbuffer, buflen,
                                   bfunc);
}

QMP_status_t QMP_comm_sum_int(QMP_comm_t comm, int* value) {
  return reduce<Sum>(comm, value, 1);
}

QMP_status_t QMP_sum_int(int* value) {
  return QMP_comm_sum_int(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_sum_uint64_t(QMP_comm_t comm, uint64_t* value) {
  return reduce<Sum>(comm, value, 1);
}

QMP_status_t QMP_sum_uint64_t(uint64_t* value) {
  return QMP_comm_sum_uint64_t(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_sum_float(QMP_comm_t comm, float* value) {
  return reduce<Sum>(comm, value, 1);
}

QMP_status_t QMP_sum_float(float* value) {
  return QMP_comm_sum_float(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_sum_double(QMP_comm_t comm, double* value) {
  return reduce<Sum>(comm, value, 1);
}

QMP_status_t QMP_sum_double(double* value) {
  return QMP_comm_sum_double(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_sum_long_double(QMP_comm_t comm, long double* value) {
  return reduce<Sum>(comm, value, 1);
}

QMP_status_t QMP_sum_long_double(long double* value) {
  return QMP_comm_sum_long_double(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_sum_double_extended(QMP_comm_t comm, double* value) {
  return sum_extended(comm, value, 1);
}

QMP_status_t QMP_sum_double_extended(double* value) {
  return QMP_comm_sum_double_extended(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_sum_float_array(QMP_comm_t comm,
                                      float value[],
                                      int length) {
  return reduce<Sum>(comm, value, length);
}

QMP_status_t QMP_sum_float_array(float value[], int length) {
  return QMP_comm_sum_float_array(QMP_comm_get_default(), value, length);
}

QMP_status_t QMP_comm_sum_double_array(QMP_comm_t comm,
                                       double value[],
                                       int length) {
  return reduce<Sum>(comm, value, length);
}

QMP_status_t QMP_sum_double_array(double value[], int length) {
  return QMP_comm_sum_double_array(QMP_comm_get_default(), value, length);
}

QMP_status_t QMP_comm_sum_long_double_array(QMP_comm_t comm,
                                            long double value[],
                                            int length) {
  return reduce<Sum>(comm, value, length);
}

QMP_status_t QMP_sum_long_double_array(long double value[], int length) {
  return QMP_comm_sum_long_double_array(QMP_comm_get_default(), value, length);
}

QMP_status_t QMP_comm_sum_double_extended_array(QMP_comm_t comm,
                                                double value[],
                                                int length) {
  return sum_extended(comm, value, length);
}

QMP_status_t QMP_sum_double_extended_array(double value[], int length) {
  return QMP_comm_sum_double_extended_array(QMP_comm_get_default(), value,
                                            length);
}

QMP_status_t QMP_comm_max_int(QMP_comm_t comm, int* value) {
  return reduce<Largest>(comm, value, 1);
}

QMP_status_t QMP_max_int(int* value) {
  return QMP_comm_max_int(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_max_float(QMP_comm_t comm, float* value) {
  return reduce<Largest>(comm, value, 1);
}

QMP_status_t QMP_max_float(float* value) {
  return QMP_comm_max_float(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_max_double(QMP_comm_t comm, double* value) {
  return reduce<Largest>(comm, value, 1);
}

QMP_status_t QMP_max_double(double* value) {
  return QMP_comm_max_double(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_min_int(QMP_comm_t comm, int* value) {
  return reduce<Smallest>(comm, value, 1);
}

QMP_status_t QMP_min_int(int* value) {
  return QMP_comm_min_int(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_min_float(QMP_comm_t comm, float* value) {
  return reduce<Smallest>(comm, value, 1);
}

QMP_status_t QMP_min_float(float* value) {
  return QMP_comm_min_float(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_min_double(QMP_comm_t comm, double* value) {
  return reduce<Smallest>(comm, value, 1);
}

QMP_status_t QMP_min_double(double* value) {
  return QMP_comm_min_double(QMP_comm_get_default(), value);
}

QMP_status_t QMP_comm_xor_ulong(QMP_comm_t comm, unsigned long* value) {
  return reduce<ExclusiveOr>(comm, value, 1);
}

QMP_status_t QMP_xor_ulong(unsigned long* value) {
  return QMP_comm_xor_ulong(QMP_comm_get_default(), value);
}

}  // extern "C"
