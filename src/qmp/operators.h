// The operators of QMP's reductions: sums, the largest and smallest element,
// exclusive or, and a function of the program. Each has a kind of its own, by
// which nodes notice that their calls do not agree (Tag in message_layout.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "qmp/collective.h"

namespace qmp {

/// Kinds of operators that belong to no type and function below.
inline constexpr std::uint8_t kUserFunction = 7;  ///< QMP_binary_reduction.
/// The two reductions inside QMP_comm_split.
inline constexpr std::uint8_t kSplitNumber = 0xf0;
inline constexpr std::uint8_t kSplitChoices = 0xf1;

struct Sum {
  static constexpr std::uint8_t kNumber = 0;

  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      // Unsigned sums wrap around. A signed overflow would be undefined.
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};

/// Whether `value` is a NaN. A NaN wins each comparison below, so every node
/// gets it.
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

/// The type of the elements in the kind of an operator, from 1 on.
template <typename T>
constexpr std::uint8_t type_number() {
  if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? 1 : 2;
  } else {
    return std::is_same_v<T, float> ? 3 : std::is_same_v<T, double> ? 4 : 5;
  }
}

/// The kind of an operator for a type: no other operator has it.
constexpr std::uint8_t kind_of(std::uint8_t type, std::uint8_t function) {
  return static_cast<std::uint8_t>(type * 8 + function);
}

/// Combines arrays of T element by element.
template <typename T, typename Function>
class Elementwise final : public Operator {
 public:
  void apply(void* lower, void* higher, std::size_t bytes) const override {
    auto* mine = static_cast<T*>(lower);
    const auto* theirs = static_cast<const T*>(higher);
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
      mine[i] = Function()(mine[i], theirs[i]);
    }
  }

  std::uint8_t kind() const override {
    return kind_of(type_number<T>(), Function::kNumber);
  }
};

/// Calls the function that the program gave.
class UserFunction final : public Operator {
 public:
  explicit UserFunction(QMP_binary_func function) : function_(function) {}

  void apply(void* lower, void* higher, std::size_t /*bytes*/) const override {
    function_(lower, higher);
  }

  std::uint8_t kind() const override { return kUserFunction; }

 private:
  QMP_binary_func function_;
};

}  // namespace qmp
