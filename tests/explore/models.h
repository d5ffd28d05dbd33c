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

  void keep(std::uint64_t number, const Container& from) {
    copies_[number] = from;
  }

  void replace(Container& to, std::uint64_t number) { to = copies_[number]; }

  Container one;
  Container two;

 private:
  std::map<std::uint64_t, Container> copies_;
};

}  // namespace explore
