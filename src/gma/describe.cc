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

}  // namespace

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
