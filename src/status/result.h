// Result<T>: a value, or the reason why there is none.
#pragma once

#include <optional>
#include <utility>

#include "base/assert.h"
#include "status/status.h"

namespace acp {

/// Holds either a T or a Status other than kOk. Reading the value of a failed
/// result is a bug of the library and ends the process.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(*-explicit-*)

  Result(Status status) : status_(status) {  // NOLINT(*-explicit-*)
    ACP_ASSERT(status != Status::kOk);
  }

  bool ok() const noexcept { return status_ == Status::kOk; }

  Status status() const noexcept { return status_; }

  T& value() & {
    ACP_ASSERT(ok());
    return *value_;
  }

  const T& value() const& {
    ACP_ASSERT(ok());
    return *value_;
  }

  T&& value() && {
    ACP_ASSERT(ok());
    return std::move(*value_);
  }

  T* operator->() { return &value(); }

  const T* operator->() const { return &value(); }

  T& operator*() & { return value(); }

  const T& operator*() const& { return value(); }

 private:
  std::optional<T> value_;
  Status status_ = Status::kOk;
};

}  // namespace acp
