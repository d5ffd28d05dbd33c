// What comes back from agents, and what never will.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "gma/mover.h"
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

  /// That of the next step to where the caller wanted it, if it has one. False:
  /// it is not in the reply, or that memory is gone.
  bool place(Opcode opcode, GlobalAddress local, std::uint64_t size) {
    const bool is_get = opcode == Opcode::kGet;
    if (!is_get && !protocol::is_atomic(opcode)) {
      return true;
    }
    const std::uint64_t carried = is_get ? size : sizeof(std::uint64_t);
    if (data_.size() < carried) {
      return false;
    }
    if (local != 0) {
      std::byte* to = space_.direct(local, size);
      if (to == nullptr ||
          !gmm::can_touch(space_, local, to, size, gmm::Access::kWrite)) {
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

/// The results of several steps. operation.current is then the one that failed,
/// if one did. False: here, not at the peer.
bool place_steps(Results& results,
                 const protocol::ReplyHeader& header,
                 Operation& operation) {
  const std::size_t count =
      operation.is_whole ? operation.steps.size() : 1 + operation.joined_steps;
  const std::size_t done =
      header.status == Status::kOk
          ? count
          : std::min<std::size_t>(header.failed_step, count - 1);
  for (std::size_t i = 0; i < done; ++i) {
    const Step& step = operation.steps[operation.current + i];
    if (!results.place(step.opcode, step.local,
                       step.opcode == Opcode::kGet ? step.size : step.width)) {
      operation.current += i;
      return false;
    }
  }
  operation.current += done == count ? 0 : done;
  return true;
}

}  // namespace

/// Null when there is no such request under way.
Mover::Request* Mover::request_of(std::uint64_t id, bool is_posted) {
  const auto index = static_cast<std::uint32_t>(id);
  if (index >= requests_.size()) {
    return nullptr;
  }
  Request& request = requests_[index];
  const bool is_it = request.operation != nullptr &&
                     request.generation == id >> 32 &&
                     request.is_posted == is_posted;
  return is_it ? &request : nullptr;
}

void Mover::on_reply(std::span<const std::byte> bytes) {
  const auto reply = protocol::decode_reply(bytes);
  const Request* found = reply ? request_of(reply->header.id, false) : nullptr;
  if (found == nullptr) {
    log(LogLevel::kDebug, "reply of {} bytes to no request", bytes.size());
    return;
  }
  const Request request = *found;
  Operation& operation = *request.operation;
  Path& path = *request.path;
  close_request(reply->header.id);
  place(request, *reply, operation);
  settle(operation, path);
}

/// Copies results to where the caller wanted them and takes over the status.
void Mover::place(const Request& request,
                  const protocol::ReplyView& reply,
                  Operation& operation) {
  Results results(space_, reply.data);
  bool is_good = true;
  if (operation.is_whole || request.is_in_parts) {
    is_good = place_steps(results, reply.header, operation);
  } else if (reply.header.status == Status::kOk) {
    is_good =
        results.place(operation.piece_opcode, request.local, request.size);
  }
  if (operation.status == Status::kOk) {
    operation.status = is_good || reply.header.status != Status::kOk
                           ? reply.header.status
                           : Status::kBadKey;
  }
}

/// After a reply or a failed send: goes on when nothing is under way.
void Mover::settle(Operation& operation, Path& path) {
  if (operation.status != Status::kOk && operation.has_unsent) {
    std::erase(path.unsent, &operation);
    operation.has_unsent = false;
  }
  if (operation.outstanding != 0 || operation.has_unsent) {
    return;
  }
  if (!operation.in_place.empty()) {
    path.link.endpoint->reclaim(std::exchange(operation.in_place, {}));
  }
  if (operation.status == Status::kOk) {
    operation.owes_signal = has_signal_to_send(operation);
    operation.current = operation.is_whole
                            ? operation.steps.size() - 1
                            : operation.current + operation.joined_steps;
    operation.is_whole = false;
    operation.current += operation.owes_signal ? 0 : 1;
  }
  advance(operation);
}

void Mover::fail_peer(transport::ProcId proc, Status status) {
  for (std::size_t index = 0; index < requests_.size(); ++index) {
    Request& request = requests_[index];
    if (request.operation == nullptr || request.path->link.proc != proc) {
      continue;
    }
    Operation& operation = *request.operation;
    Path& path = *request.path;
    close_request(std::uint64_t{request.generation} << 32 | index);
    if (operation.status == Status::kOk) {
      operation.status = status;
    }
    settle(operation, path);
  }
  std::vector<Path*> paths;
  for (auto& [key, path] : paths_) {
    if (path->link.proc == proc) {
      paths.push_back(path.get());
    }
  }
  for (Path* path : paths) {
    while (!path->unsent.empty()) {
      Operation& operation = *path->unsent.front();
      path->unsent.pop_front();
      operation.has_unsent = false;
      operation.status = status;
      settle(operation, *path);
    }
  }
}

}  // namespace acp::gma
