// Words for log lines about operations. Called when an operation or a call has
// failed; may not change any state.
#include "gma/describe.h"

#include <fmt/format.h>

#include <algorithm>

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

/// "; 0x... and the 8 bytes from there leave starter memory of rank 1, ...".
std::string describe_excess(GlobalAddress address,
                            std::uint64_t size,
                            bool is_sure,
                            const gmm::AddressSpace& space) {
  const std::uint64_t bytes = space.region_bytes(address);
  return fmt::format(
      "; {:#x} and the {} bytes from there {} {} of rank {}, which has {}",
      address, size, is_sure ? "leave" : "may leave",
      region_name(address, space), space.codec().rank(address),
      bytes != 0 ? fmt::format("{} bytes", bytes)
                 : std::string("a size that only its owner knows"));
}

}  // namespace

std::string describe_bounds(const Step& step,
                            Status status,
                            const gmm::AddressSpace& space) {
  std::string text;
  if (status != Status::kBadAddress) {
    return text;
  }
  const std::uint64_t size = bytes_at_remote(step);
  // This rank cannot see the size of a region of another host. If no end is
  // surely at fault, the text names each such end.
  for (const bool is_sure : {true, false}) {
    for (const GlobalAddress address : {step.remote, step.local}) {
      const Result<gmm::Target> target = space.locate(address, size);
      const bool is_suspect = is_sure
                                  ? target.status() == status
                                  : target.ok() && !target.value().is_same_host;
      if (is_suspect && address != gmm::kNullAddress) {
        text += describe_excess(address, size, is_sure, space);
      }
    }
    if (!text.empty()) {
      break;
    }
  }
  return text;
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

/// Names the ends by their part in the step: a copy has a destination and a
/// source, a put or a get a remote and a local end, a word a result.
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

std::string describe_bounds(const Operation& operation,
                            const gmm::AddressSpace& space) {
  if (operation.steps.empty()) {
    return {};
  }
  const std::size_t last = operation.steps.size() - 1;
  return describe_bounds(operation.steps[std::min(operation.current, last)],
                         operation.status, space);
}

std::string describe(const Operation& operation,
                     const gmm::AddressSpace& space) {
  if (operation.steps.empty()) {
    return "operation without steps";
  }
  const std::size_t index =
      std::min(operation.current, operation.steps.size() - 1);
  std::string text = describe(operation.steps[index], space);
  if (operation.steps.size() > 1) {
    text += fmt::format(", step {} of {}", index + 1, operation.steps.size());
  }
  if (operation.owner == Owner::kQueue) {
    text += fmt::format(", handle {}", operation.sequence);
  }
  return text;
}

}  // namespace acp::gma
