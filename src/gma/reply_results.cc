// Results of replies: old values of atomics and data of gets. The operation
// runner calls it once for each reply. The bytes come from a peer: they may be
// short, and nothing is written but the memory that the steps name.
#include "gma/reply_results.h"

#include <algorithm>
#include <cstring>

#include "gmm/memory_ops.h"
#include "gmm/touch.h"

namespace acp::gma {

namespace {

using protocol::Opcode;

/// The results in a reply, in the order of the steps that brought them.
class Results {
 public:
  Results(const gmm::AddressSpace& space, std::span<const std::byte> data)
      : space_(space), data_(data) {}

  /// Stores the result of the next step, if it has one. False: the reply does
  /// not contain it, or the memory is gone. An empty get may name any address.
  bool store(Opcode opcode, GlobalAddress local, std::uint64_t size) {
    const bool is_get = opcode == Opcode::kGet;
    if (!is_get && !protocol::is_atomic(opcode)) {
      return true;
    }
    const std::uint64_t carried = is_get ? size : sizeof(std::uint64_t);
    if (data_.size() < carried) {
      return false;
    }
    if (local != 0 && carried != 0) {
      std::byte* to = space_.direct(local, size);
      if (to == nullptr ||
          !gmm::can_touch(space_, local, to, size, Access::kWrite)) {
        return false;
      }
      if (is_get) {
        gmm::copy_bytes(to, data_.data(), size);
      } else {
        std::uint64_t old = 0;
        std::memcpy(&old, data_.data(), sizeof old);
        gmm::store_word(to, size, old);
      }
    }
    data_ = data_.subspan(carried);
    return true;
  }

 private:
  const gmm::AddressSpace& space_;
  std::span<const std::byte> data_;
};

/// Stores the results of `count` steps from step `first` on. A step that
/// failed, here or at the peer, becomes the current step. False: it failed
/// here.
bool store_steps(Results& results,
                 const protocol::ReplyHeader& header,
                 Operation& operation,
                 std::size_t first,
                 std::size_t count) {
  const std::size_t done =
      header.status == Status::kOk
          ? count
          : std::min<std::size_t>(header.failed_step, count - 1);
  for (std::size_t i = 0; i < done; ++i) {
    const Step& step = operation.steps[first + i];
    if (!results.store(step.opcode, step.local,
                       step.opcode == Opcode::kGet ? step.size : step.width)) {
      operation.current = first + i;
      return false;
    }
  }
  if (done != count) {
    operation.current = first + done;
  }
  return true;
}

/// Stores the result of one piece, or of the words that joined the last post:
/// then their reply is the only one of the flight.
bool store_piece(Results& results,
                 const Request& request,
                 const protocol::ReplyHeader& header,
                 Operation& operation,
                 const Pieces& pieces) {
  if (pieces.joined_steps != 0) {
    return store_steps(results, header, operation, operation.current + 1,
                       pieces.joined_steps);
  }
  return header.status != Status::kOk ||
         results.store(pieces.step.opcode, request.local, request.size);
}

}  // namespace

/// Only the flights that a request carries have results here. A chain whose
/// words were joined to its puts gets the results of these words.
Status store_results(const gmm::AddressSpace& space,
                     const Request& request,
                     const protocol::ReplyView& reply,
                     Operation& operation) {
  Results results(space, reply.data);
  bool is_good = true;
  if (const auto* chain = std::get_if<Chain>(&operation.flight)) {
    const std::size_t count =
        chain->joined_steps != 0 ? chain->joined_steps : chain->steps;
    is_good = store_steps(results, reply.header, operation,
                          operation.current + chain->steps - count, count);
  } else if (const auto* parts = std::get_if<Parts>(&operation.flight)) {
    is_good = store_steps(results, reply.header, operation, operation.current,
                          parts->puts + parts->joined_steps);
  } else if (const auto* pieces = std::get_if<Pieces>(&operation.flight)) {
    is_good = store_piece(results, request, reply.header, operation, *pieces);
  }
  return is_good || reply.header.status != Status::kOk ? reply.header.status
                                                       : Status::kBadKey;
}

}  // namespace acp::gma
