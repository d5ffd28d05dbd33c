// Words for log lines about operations. Called when an operation or a call has
// failed; may not change any state.
#include "gma/describe.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace acp::gma {

namespace {

const char* opcode_name(protocol::Opcode opcode) {
  switch (opcode) {
    case protocol::Opcode::kPut: return "put";
    case protocol::Opcode::kPut8: return "put8";
    case protocol::Opcode::kGet: return "get";
    case protocol::Opcode::kAdd: return "add";
    case protocol::Opcode::kCas: return "cas";
    case protocol::Opcode::kAnd: return "and";
    case protocol::Opcode::kOr: return "or";
    case protocol::Opcode::kXor: return "xor";
    case protocol::Opcode::kSwap: return "swap";
    case protocol::Opcode::kCopy: return "copy";
  }
  return "unknown";
}

/// Which memory an address of a valid rank is in.
std::string region_name(GlobalAddress address, const gmm::AddressSpace& space) {
  const auto& codec = space.codec();
  switch (codec.index(address)) {
    case gmm::kStarterKey: return "starter memory";
    case gmm::kModuleKey: return "the heap and the modules' memory";
    default:
      return fmt::format("the registered region with atkey {:#018x}",
                         address - codec.offset(address));
  }
}

enum class Fault { kNone, kPossible, kSure };

/// Whether the bytes at `address` leave their region. This rank does not know
/// the size of memory that another host has registered.
Fault fault_of(GlobalAddress address,
               std::uint64_t size,
               const gmm::AddressSpace& space) {
  const Result<gmm::Target> target = space.locate(address, size);
  if (address == gmm::kNullAddress) {
    return Fault::kNone;
  }
  if (!target.ok()) {
    return target.status() == Status::kBadAddress ? Fault::kSure : Fault::kNone;
  }
  const std::uint64_t bytes = space.region_bytes(address);
  if (target.value().is_same_host || bytes == 0) {
    return target.value().is_same_host ? Fault::kNone : Fault::kPossible;
  }
  const std::uint64_t offset = space.codec().offset(address);
  return offset > bytes || size > bytes - offset ? Fault::kSure : Fault::kNone;
}

/// A hint for the user about bytes that leave their region, or "".
std::string hint_for(GlobalAddress address,
                     bool is_sure,
                     const gmm::AddressSpace& space) {
  if (!is_sure) {
    return ", or memory there was freed before acp_unregister_memory: compare "
           "address and size with what that rank has registered";
  }
  return space.codec().index(address) == gmm::kStarterKey
             ? "; acprun --acp-startermemsize or ACP_STARTER_MEMORY enlarges it"
             : "";
}

/// Says which bytes leave a region: "; 0x... is byte 10236, and the 8 bytes
/// from there leave starter memory of rank 1, which has 10240 bytes, 4 of them
/// from there".
std::string describe_excess(GlobalAddress address,
                            std::uint64_t size,
                            bool is_sure,
                            const gmm::AddressSpace& space) {
  const std::uint64_t bytes = space.region_bytes(address);
  const auto byte = space.byte_in_region(address);
  return fmt::format(
      "; {:#x}{} and the {} bytes from there {} {} of rank {}, which has "
      "{}{}{}",
      address, byte ? fmt::format(" is byte {},", *byte) : std::string(), size,
      is_sure ? "leave" : "may leave", region_name(address, space),
      space.codec().rank(address),
      bytes != 0 ? fmt::format("{} bytes", bytes)
                 : std::string("a size that only its owner knows"),
      byte ? fmt::format(", {} of them from there",
                         bytes - std::min(bytes, *byte))
           : std::string(),
      hint_for(address, is_sure, space));
}

/// The ends at which a step can have failed: the remote one first.
std::vector<GlobalAddress> suspects_of(const Step& step, CopyEnd failed_end) {
  switch (failed_end) {
    case CopyEnd::kSource: return {step.local};
    case CopyEnd::kDestination: return {step.remote};
    case CopyEnd::kUnknown: break;
  }
  return {step.remote, step.local};
}

/// Whether the key in an address is dead. This rank does not see the keys of
/// memory that another host has registered.
Fault key_fault_of(GlobalAddress address, const gmm::AddressSpace& space) {
  const Result<gmm::Target> target = space.locate(address, 1);
  if (!target.ok()) {
    return target.status() == Status::kBadKey ? Fault::kSure : Fault::kNone;
  }
  const bool is_visible = target.value().is_same_host ||
                          space.codec().index(address) < gmm::kFirstUserKey;
  return is_visible ? Fault::kNone : Fault::kPossible;
}

/// Names the end whose key is dead. If this rank sees no dead key, it is that
/// of an end on another host, and the text names each such end.
std::string describe_dead_key(const Step& step,
                              const gmm::AddressSpace& space,
                              CopyEnd failed_end) {
  std::string text;
  for (const Fault fault : {Fault::kSure, Fault::kPossible}) {
    for (const GlobalAddress address : suspects_of(step, failed_end)) {
      if (key_fault_of(address, space) == fault) {
        text +=
            fmt::format("{} {:#018x} on rank {}", text.empty() ? ";" : " or",
                        address, space.codec().rank(address));
      }
    }
    if (!text.empty()) {
      return text +
             " was unregistered, or was never registered; call acp_sync "
             "between the last access and acp_unregister_memory";
    }
  }
  return text;
}

/// Names the dead rank of a copy, or both ranks that it can be. The other steps
/// have one peer, which their description names.
std::string describe_dead_peer(const Step& step,
                               const gmm::AddressSpace& space,
                               CopyEnd failed_end) {
  std::string text;
  if (step.opcode != protocol::Opcode::kCopy) {
    return text;
  }
  for (const GlobalAddress address : suspects_of(step, failed_end)) {
    const Rank rank = space.codec().rank(address);
    if (rank != space.my_rank()) {
      text += fmt::format("{} rank {}",
                          text.empty() ? "; the dead one is" : " or", rank);
    }
  }
  return text;
}

/// Why bytes can be refused that lie in their regions. "" when an end has no
/// region, which the description of the step shows.
std::string describe_freed(const Step& step, const gmm::AddressSpace& space) {
  const std::uint64_t size = bytes_at_remote(step);
  const bool is_bounded = space.locate(step.remote, size).ok() &&
                          space.locate(step.local, size).ok();
  return is_bounded
             ? "; all bytes are in registered regions: was memory freed, or "
               "made read-only, before acp_unregister_memory?"
             : "";
}

/// Names an end of no rank, or the end that a step other than a copy needs on
/// the caller's rank. A program often gives a pointer as an address, and a
/// pointer names no rank.
std::string describe_foreign_end(const Step& step,
                                 const gmm::AddressSpace& space) {
  const auto& codec = space.codec();
  for (const GlobalAddress address : {step.remote, step.local}) {
    if (address == gmm::kNullAddress || codec.rank(address) < codec.procs()) {
      continue;
    }
    // No pointer is so small: Linux maps nothing there.
    if (address < (1U << 16)) {
      return fmt::format("; {:#x} is ACP_GA_NULL + {}", address, address);
    }
    return fmt::format(
        "; ranks are 0 to {}, and a pointer's global address is "
        "acp_query_ga's",
        codec.procs() - 1);
  }
  const Rank rank = codec.rank(step.local);
  if (step.opcode == protocol::Opcode::kCopy ||
      step.local == gmm::kNullAddress || rank >= codec.procs() ||
      rank == space.my_rank()) {
    return fmt::format("; ranks are 0 to {}", codec.procs() - 1);
  }
  return fmt::format(
      "; {:#x} is on rank {}, and {} has to be on the caller's "
      "rank {}",
      step.local, rank,
      is_bulk(step) ? "the local address" : "dst, the result,",
      space.my_rank());
}

/// Whether an end is ACP_GA_NULL that the step needs. An atomic needs no
/// address for its result.
bool lacks_end(const Step& step) {
  const bool needs_local =
      is_bulk(step) || step.opcode == protocol::Opcode::kCopy;
  return step.remote == gmm::kNullAddress ||
         (needs_local && step.local == gmm::kNullAddress);
}

std::string describe_misaligned(const Step& step) {
  const std::uint64_t size = bytes_at_remote(step);
  std::string text;
  for (const GlobalAddress address : {step.remote, step.local}) {
    if (address % size != 0) {
      text += fmt::format("; {:#x} has to be a multiple of {}", address, size);
    }
  }
  return text;
}

}  // namespace

/// An end that is surely at fault hides an end that only may be. If no end
/// leaves a region, the region itself may be gone.
std::string describe_bounds(const Step& step,
                            Status status,
                            const gmm::AddressSpace& space,
                            CopyEnd failed_end) {
  std::string text;
  if (status != Status::kBadAddress) {
    return text;
  }
  const std::uint64_t size = bytes_at_remote(step);
  // If no end is surely at fault, the text names each that may be.
  for (const Fault fault : {Fault::kSure, Fault::kPossible}) {
    for (const GlobalAddress address : suspects_of(step, failed_end)) {
      if (fault_of(address, size, space) == fault) {
        text += describe_excess(address, size, fault == Fault::kSure, space);
      }
    }
    if (!text.empty()) {
      return text;
    }
  }
  return describe_freed(step, space);
}

/// Each status has values of its own that explain it.
std::string describe_cause(const Step& step,
                           Status status,
                           const gmm::AddressSpace& space,
                           CopyEnd failed_end) {
  switch (status) {
    case Status::kBadAddress:
      return lacks_end(step)
                 ? "; an address that is ACP_GA_NULL was not queried, or not "
                   "received yet"
                 : describe_bounds(step, status, space, failed_end);
    case Status::kBadRank: return describe_foreign_end(step, space);
    case Status::kMisaligned: return describe_misaligned(step);
    case Status::kBadKey: return describe_dead_key(step, space, failed_end);
    case Status::kPeerDead: return describe_dead_peer(step, space, failed_end);
    case Status::kInvalidArgument:
      return "; the old value needs another word of this rank than the one "
             "that changes";
    default: return {};
  }
}

std::string describe_address(GlobalAddress address,
                             const gmm::AddressSpace& space) {
  if (address == gmm::kNullAddress) {
    return "ACP_GA_NULL";
  }
  const auto& codec = space.codec();
  if (codec.rank(address) >= codec.procs()) {
    return fmt::format("an address of no rank ({:#018x})", address);
  }
  return fmt::format("rank {} color {} key {} offset {:#x} ({:#018x})",
                     codec.rank(address), codec.color(address),
                     codec.index(address), codec.offset(address), address);
}

/// Names the ends by their part in the step. A copy has a destination and a
/// source. A put or a get has a remote and a local end, and a word has a
/// result.
std::string describe(const Step& step, const gmm::AddressSpace& space) {
  switch (step.opcode) {
    case protocol::Opcode::kCopy:
      return fmt::format("copy of {} bytes to {} from {}", step.size,
                         describe_address(step.remote, space),
                         describe_address(step.local, space));
    case protocol::Opcode::kPut:
    case protocol::Opcode::kGet:
      return fmt::format("{} of {} bytes, remote {}, local {}",
                         opcode_name(step.opcode), step.size,
                         describe_address(step.remote, space),
                         describe_address(step.local, space));
    default:
      return fmt::format("{}{} at {}, result to {}", opcode_name(step.opcode),
                         step.opcode == protocol::Opcode::kPut8
                             ? ""
                             : std::to_string(step.width),
                         describe_address(step.remote, space),
                         describe_address(step.local, space));
  }
}

std::string describe_cause(const Operation& operation,
                           const gmm::AddressSpace& space) {
  if (operation.steps.empty()) {
    return {};
  }
  const std::size_t last = operation.steps.size() - 1;
  return describe_cause(operation.steps[std::min(operation.current, last)],
                        operation.status, space, operation.failed_end);
}

/// The call that the program made comes first, then the step that is under way,
/// and the handle last.
std::string describe(const Operation& operation,
                     const gmm::AddressSpace& space) {
  if (operation.steps.empty()) {
    return "operation without steps";
  }
  const std::size_t index =
      std::min(operation.current, operation.steps.size() - 1);
  if (operation.owner == Owner::kInternal) {
    // The program has called no atomic, and does not know the address.
    return fmt::format("a message of acp_sync to rank {}",
                       space.codec().rank(operation.steps[index].remote));
  }
  std::string text;
  if (operation.call.front() != '\0') {
    text = fmt::format("{}: ", operation.call.data());
  }
  text += describe(operation.steps[index], space);
  if (operation.steps.size() > 1) {
    text += fmt::format(", step {} of {}", index + 1, operation.steps.size());
  }
  if (operation.owner == Owner::kQueue) {
    text += fmt::format(", handle {}", operation.sequence);
  }
  return text;
}

}  // namespace acp::gma
