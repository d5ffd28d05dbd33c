// This process as a node of the torus. It joins the job at its first use. One
// thread at a time.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "compat/scu/definition.h"
#include "qmp.h"
#include "scu/scu_dir_arg.h"

namespace scu {

/// The shape of a message: `numblk` blocks of `blklen` elements.
struct Shape {
  int blklen = 0;
  int numblk = 0;
  int stride = 0;
  int element_bytes = 0;
};

Shape shape_of(const SCUDirArg& arg);

/// One send or receive: memory, shape and direction.
struct Transfer {
  void* address = nullptr;
  Shape shape;
  int axis = -1;
  int sign = 0;
  SCUXR kind = SCU_NoXR;
};

/// Makes a transfer from the argument of `function`. Ends the job, naming
/// `function`, when there is no such transfer.
Transfer transfer_of(const char* function, const SCUDirArg* arg);

class Node {
 public:
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void join();
  void leave();

  bool is_joined() const { return comm_ != nullptr; }

  const Definition& definition() const { return definition_; }

  int number() const { return number_; }

  int size(int axis) const {
    return definition_.grid.at(static_cast<std::size_t>(axis));
  }

  int coordinate(int axis) const {
    return coordinates_.at(static_cast<std::size_t>(axis));
  }

  QMP_comm_t comm() const { return comm_; }

  /// The number in the seed file that belongs to this node.
  unsigned int own_seed();

  /// Starts all transfers by one QMP_start.
  void start(const char* function, const std::vector<Transfer>& transfers);
  /// Waits for all transfers that were started.
  void complete();

  /// Keeps a shape for SCUTransAddr. kept_shape() returns it.
  void keep_shape(const Transfer& transfer);
  Shape kept_shape(const char* function, const Transfer& transfer) const;

  /// Writes a line into the log of this node, if it has one.
  [[gnu::format(printf, 2, 3)]] void log(const char* format, ...);

 private:
  void open_log();
  static std::size_t index_of(const Transfer& transfer);

  // One thread at a time calls SCU, so no lock guards these fields. join()
  // and leave() write them all but the last two.
  Definition definition_;
  QMP_comm_t comm_ = nullptr;
  int number_ = 0;
  std::array<int, kAxes> coordinates_{};
  bool has_joined_qmp_ = false;
  bool has_left_ = false;  ///< Set by leave().
  std::FILE* log_ = nullptr;
  /// Handles under way. start() adds, and complete() removes.
  std::vector<QMP_msghandle_t> active_;
  /// By direction, for sends and receives. Written by keep_shape().
  std::array<Shape, 4 * kAxes> kept_{};
};

/// The node; joins the job if it has not.
Node& node();
/// The node, joined or not.
Node& node_as_it_is();

/// Prints a line and ends the job. Any thread.
[[noreturn]] void raise(const std::string& text);

}  // namespace scu
