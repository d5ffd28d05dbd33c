// Sequential models of the structures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "explore/program.h"

namespace explore {

/// A structure of the standard library with the operations of operations.h.
class Model {
 public:
  Model() = default;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  virtual std::unique_ptr<Model> copy() const = 0;

  /// Does an operation and returns its result.
  virtual std::uint64_t run(const Operation& operation) = 0;

  /// The operations of which one consists, in their order. Other calls may have
  /// their effect between two of them. The result is that of the last.
  virtual std::vector<Operation> parts(const Operation& operation) const {
    return {operation};
  }

  /// The content, as Program::dump() has it.
  virtual std::vector<std::uint64_t> dump() const = 0;

  /// Whether the headers do not promise that the result is of one moment. Such
  /// a result is not compared.
  virtual bool is_loose(const Operation& /*operation*/) const { return false; }

  /// Whether a call may find that its iterators are of no use any more. It then
  /// fails, and has no effect.
  virtual bool may_fail(const Operation& /*operation*/) const { return false; }

  virtual std::string text_of(const Operation& operation) const = 0;

 protected:
  Model(const Model&) = default;
};

/// The model of a kind of structure; null: there is none.
std::unique_ptr<Model> new_model(const std::string& structure);

}  // namespace explore
