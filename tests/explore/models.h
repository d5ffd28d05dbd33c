// The models of the structures, one for each kind.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "explore/model.h"

namespace explore {

std::unique_ptr<Model> deque_model();
std::unique_ptr<Model> vector_model();
std::unique_ptr<Model> list_model();
std::unique_ptr<Model> map_model();
std::unique_ptr<Model> set_model();

/// "name(a, b)", without trailing zeros.
std::string with_numbers(const char* name, const Operation& operation);

/// Two containers of elements in order, and copies that are on their way from
/// one to the other.
class TwoContainers : public Model {
 public:
  std::vector<std::uint64_t> dump() const override;

 protected:
  using Container = std::deque<std::uint64_t>;

  /// The parts of an assign to the first, or to the second: the source is
  /// copied, and is free again before the destination changes. `copy` is the
  /// number of that copy.
  static std::vector<Operation> assign_first(std::uint64_t copy) {
    return {{kCopySecond, 0, copy}, {kReplaceFirst, 0, copy}};
  }

  static std::vector<Operation> assign_second(std::uint64_t copy) {
    return {{kCopyFirst, 0, copy}, {kReplaceSecond, 0, copy}};
  }

  /// Does such a part. Does nothing for other operations.
  void run_part(const Operation& part);

  Container one_;
  Container two_;

 private:
  /// Numbers behind those of operations.h.
  enum Part : std::uint16_t {
    kCopyFirst = 1000,
    kCopySecond,
    kReplaceFirst,
    kReplaceSecond
  };

  std::map<std::uint64_t, Container> copies_;
};

}  // namespace explore
