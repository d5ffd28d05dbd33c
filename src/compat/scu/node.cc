// The node behind the functions of SCU: a communicator of QMP with a torus of
// four axes. Called by sysfunc.cc and global_sum.cc. No failure may return to
// the program: every one ends the job.
#include "compat/scu/node.h"

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace scu {

namespace {

const char* name_of(int axis) {
  static constexpr std::array<const char*, kAxes> kNames{"t", "x", "y", "z"};
  return kNames.at(static_cast<std::size_t>(axis));
}

std::string describe(const Transfer& transfer) {
  const Shape& shape = transfer.shape;
  return std::string(transfer.kind == SCU_SEND ? "send" : "receive") + " " +
         (transfer.sign > 0 ? "+" : "-") + name_of(transfer.axis) + " of " +
         std::to_string(shape.numblk) + " blocks of " +
         std::to_string(shape.blklen) + " elements of " +
         std::to_string(shape.element_bytes) + " bytes, stride " +
         std::to_string(shape.stride);
}

/// SCU's stride leads from the last element of a block to the first of the next
/// one. QMP's leads from the begin of a block to the begin of the next, and in
/// bytes.
QMP_msghandle_t declare(QMP_comm_t comm, const Transfer& transfer) {
  const Shape& shape = transfer.shape;
  const std::ptrdiff_t element = shape.element_bytes;
  const auto block = static_cast<std::size_t>(shape.blklen) *
                     static_cast<std::size_t>(element);
  const std::ptrdiff_t pitch =
      (static_cast<std::ptrdiff_t>(shape.blklen) + shape.stride - 1) * element;
  QMP_msgmem_t memory =
      QMP_declare_strided_msgmem(transfer.address, block, shape.numblk, pitch);
  if (memory == nullptr) {
    return nullptr;
  }
  QMP_msghandle_t handle =
      transfer.kind == SCU_SEND
          ? QMP_comm_declare_send_relative(comm, memory, transfer.axis,
                                           transfer.sign, 0)
          : QMP_comm_declare_receive_relative(comm, memory, transfer.axis,
                                              transfer.sign, 0);
  QMP_free_msgmem(memory);  // The handle keeps it.
  return handle;
}

}  // namespace

Shape shape_of(const SCUDirArg& arg) {
  return {arg.Blklen(), arg.Numblk(), arg.Stride(), arg.DataSize()};
}

/// A SCUDirArg may hold any values, so everything is checked here, at the start
/// of a transfer.
Transfer transfer_of(const char* function, const SCUDirArg* arg) {
  const std::string name = function;
  if (arg == nullptr) {
    raise(name + ": the SCUDirArg is NULL");
  }
  const Transfer transfer{arg->Addr(), shape_of(*arg), arg->Axis(), arg->Sign(),
                          arg->CommType()};
  if (transfer.axis < 0 || transfer.axis >= kAxes) {
    raise(name + ": direction " + std::to_string(arg->CommDir()) +
          " is none; has the SCUDirArg been initialized?");
  }
  if (transfer.kind != SCU_SEND && transfer.kind != SCU_REC) {
    raise(name + ": " + std::to_string(transfer.kind) +
          " is neither SCU_SEND nor SCU_REC");
  }
  const Shape& shape = transfer.shape;
  if (shape.blklen < 0 || shape.numblk < 0 || shape.element_bytes < 1) {
    raise(name + ": " + describe(transfer) + ": that cannot be");
  }
  if (transfer.address == nullptr && shape.blklen > 0 && shape.numblk > 0) {
    raise(name + ": " + describe(transfer) + ": the address is NULL");
  }
  return transfer;
}

/// Joins QMP if the program has not, reads the definition, and makes
/// communicator and torus. All nodes come here at their first call.
void Node::join() {
  if (is_joined()) {
    return;
  }
  if (has_left_) {
    raise("a call after SCUCommsFinalize");
  }
  if (QMP_is_initialized() == QMP_FALSE) {
    if (QMP_init_msg_passing(nullptr, nullptr, QMP_THREAD_SINGLE, nullptr) !=
        QMP_SUCCESS) {
      raise(QMP_get_error_string(nullptr));
    }
    has_joined_qmp_ = true;
  }
  Parsed parsed = find_definition();
  if (!parsed.failure.empty()) {
    raise(parsed.failure);
  }
  definition_ = parsed.definition;
  const long long nodes = std::accumulate(
      definition_.grid.begin(), definition_.grid.end(), 1LL,
      [](long long a, int b) { return a > 1LL << 31 ? a : a * b; });
  if (nodes != QMP_get_number_of_nodes()) {
    raise("{GRID=" + std::to_string(size(SCU_T)) + "," +
          std::to_string(size(SCU_X)) + "," + std::to_string(size(SCU_Y)) +
          "," + std::to_string(size(SCU_Z)) + "} has " + std::to_string(nodes) +
          " nodes, the job has " + std::to_string(QMP_get_number_of_nodes()));
  }
  // A communicator of its own, so that the program may use QMP beside SCU.
  if (QMP_comm_split(QMP_comm_get_job(), 0, 0, &comm_) != QMP_SUCCESS ||
      QMP_comm_declare_logical_topology(comm_, definition_.grid.data(),
                                        kAxes) != QMP_SUCCESS) {
    raise(QMP_get_error_string(nullptr));
  }
  number_ = QMP_comm_get_node_number(comm_);
  QMP_comm_get_logical_coordinates_from2(comm_, coordinates_.data(), number_);
  open_log();
  log("node %d of %d, at t=%d x=%d y=%d z=%d", number_,
      QMP_comm_get_number_of_nodes(comm_), coordinate(SCU_T), coordinate(SCU_X),
      coordinate(SCU_Y), coordinate(SCU_Z));
}

void Node::leave() {
  complete();
  log("SCUCommsFinalize");
  if (log_ != nullptr && log_ != stdout && log_ != stderr) {
    (void)std::fclose(log_);
  }
  log_ = nullptr;
  if (QMP_comm_free(comm_) != QMP_SUCCESS) {
    raise(QMP_get_error_string(nullptr));
  }
  comm_ = nullptr;
  has_left_ = true;
  if (has_joined_qmp_) {
    QMP_finalize_msg_passing();
  }
}

unsigned int Node::own_seed() {
  const Seed seed = seed_from(definition_.seed_file, number_);
  if (!seed.failure.empty()) {
    raise("Seed: " + seed.failure);
  }
  return seed.value;
}

/// Each start declares handles and complete() frees them: arguments may change
/// between two starts.
void Node::start(const char* function, const std::vector<Transfer>& transfers) {
  std::vector<QMP_msghandle_t> handles;
  for (const Transfer& each : transfers) {
    log("%s: %s, address %p", function, describe(each).c_str(), each.address);
    QMP_msghandle_t handle = declare(comm_, each);
    if (handle == nullptr) {
      raise(std::string(function) + ": " + describe(each) + ": " +
            QMP_get_error_string(nullptr));
    }
    handles.push_back(handle);
  }
  QMP_msghandle_t all =
      handles.size() == 1
          ? handles[0]
          : QMP_declare_multiple(handles.data(),
                                 static_cast<int>(handles.size()));
  if (all == nullptr || QMP_start(all) != QMP_SUCCESS) {
    raise(std::string(function) + ": " + QMP_get_error_string(nullptr));
  }
  active_.push_back(all);
}

void Node::complete() {
  for (QMP_msghandle_t handle : active_) {
    if (QMP_wait(handle) != QMP_SUCCESS) {
      raise(std::string("SCUTransComplete: ") + QMP_get_error_string(nullptr));
    }
    QMP_free_msghandle(handle);
  }
  log("SCUTransComplete: %zu starts", active_.size());
  active_.clear();
}

std::size_t Node::index_of(const Transfer& transfer) {
  return static_cast<std::size_t>(transfer.axis) * 4 +
         (transfer.sign > 0 ? 2U : 0U) + (transfer.kind == SCU_SEND ? 1U : 0U);
}

void Node::keep_shape(const Transfer& transfer) {
  kept_.at(index_of(transfer)) = transfer.shape;
  log("SCUSetDMA: %s", describe(transfer).c_str());
}

Shape Node::kept_shape(const char* function, const Transfer& transfer) const {
  const Shape shape = kept_.at(index_of(transfer));
  if (shape.element_bytes == 0) {
    raise(std::string(function) + ": no SCUSetDMA came before for " +
          (transfer.kind == SCU_SEND ? "sends" : "receives") +
          " in direction " + (transfer.sign > 0 ? "+" : "-") +
          name_of(transfer.axis));
  }
  return shape;
}

void Node::open_log() {
  const std::string& name = definition_.log_file;
  if (name.empty()) {
    return;
  }
  if (name == "stdout" || name == "stderr") {
    log_ = name == "stdout" ? stdout : stderr;
    return;
  }
  const std::string own = name + "." + std::to_string(number_);
  log_ = std::fopen(own.c_str(), "w");
  if (log_ == nullptr) {
    raise("{LOGFILE=" + name + "}: cannot write '" + own +
          "': " + std::strerror(errno));
  }
}

// NOLINTNEXTLINE(cert-dcl50-cpp): as printf, which it ends in
void Node::log(const char* format, ...) {
  if (log_ == nullptr) {
    return;
  }
  std::array<char, 512> text{};
  std::va_list words;
  va_start(words, format);
  (void)std::vsnprintf(text.data(), text.size(), format, words);
  va_end(words);
  (void)std::fprintf(log_, "SCU %d: %s\n", number_, text.data());
  (void)std::fflush(log_);
}

Node& node_as_it_is() {
  // Never destroyed: destructors of the program may still call.
  static Node* the_node = new Node;
  return *the_node;
}

Node& node() {
  Node& mine = node_as_it_is();
  mine.join();
  return mine;
}

void raise(const std::string& text) {
  (void)QMP_printf("SCU error: %s", text.c_str());
  QMP_abort(1);
  std::abort();  // QMP_abort does not return.
}

}  // namespace scu
