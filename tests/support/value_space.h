// A launcher's key-value space in the memory of a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/process_manager.h"

namespace acp::test {

/// The values of a job, and what its launcher answers. Ranks share it.
struct ValueSpace {
  std::map<std::string, std::string, std::less<>> values;
  std::size_t value_limit = 64;
  runtime::NodeMap node_map;    ///< Empty: the launcher does not tell it.
  Status answer = Status::kOk;  ///< To put() and get(), unless it is kOk.
  Status fence = Status::kOk;
  int fences = 0;
};

/// One rank of the job. Used by one thread.
class ValueSpaceRank final : public runtime::ProcessManager {
 public:
  ValueSpaceRank(ValueSpace& space, std::uint32_t rank, std::uint32_t size)
      : space_(space), rank_(rank), size_(size) {}

  std::string_view name() const noexcept override { return "test"; }

  std::uint32_t rank() const noexcept override { return rank_; }

  std::uint32_t size() const noexcept override { return size_; }

  std::size_t value_limit() const noexcept override {
    return space_.value_limit;
  }

  Result<runtime::NodeMap> node_map(const runtime::WaitLimit&) override {
    return space_.node_map;
  }

  Status put(std::string_view key,
             std::string_view value,
             const runtime::WaitLimit&) override {
    if (space_.answer != Status::kOk) return space_.answer;
    const bool is_new = space_.values.emplace(key, value).second;
    return is_new ? Status::kOk : Status::kSystem;
  }

  Result<std::string> get(std::uint32_t,
                          std::string_view key,
                          const runtime::WaitLimit&) override {
    if (space_.answer != Status::kOk) return space_.answer;
    const auto found = space_.values.find(key);
    if (found == space_.values.end()) return Status::kProtocol;
    return found->second;
  }

  Status fence(runtime::FenceValues, const runtime::WaitLimit&) override {
    ++space_.fences;
    return space_.fence;
  }

  bool shares_connection() const noexcept override { return false; }

  void abort(int, std::string_view) override {}

  void finalize() override {}

  runtime::DeathWatch death_watch() const noexcept override { return {}; }

 private:
  ValueSpace& space_;
  const std::uint32_t rank_;
  const std::uint32_t size_;
};

}  // namespace acp::test
