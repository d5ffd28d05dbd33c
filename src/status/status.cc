// The texts of the reasons for failures. Called for log lines of all layers and
// by acpx_strerror. Pure.
#include "status/status.h"

#include <array>

namespace acp {

/// The texts stand in the order of the enum. They complete "function: ...", so
/// each is a fragment without a subject.
const char* status_text(Status status) noexcept {
  static constexpr std::array<const char*, kStatusCount> kTexts = {
      "success",
      "full or not ready yet, try again",
      "argument out of its range",
      "called before acp_init",
      "acp_init has been called already",
      "called after acp_finalize",
      "address outside its region",
      "region is not registered (any more)",
      "no such rank, or not the rank required here",
      "no such color",
      "address is not aligned to the operand's size",
      "out of memory",
      "all address translation keys of this rank are in use",
      "larger than the limit",
      "not supported here",
      "peer is dead",
      "job is being aborted",
      "timed out",
      "system call failed",
      "malformed message",
      "an operation that this one is ordered after failed",
      "unknown option or bad value",
      "the other side has ended it",
  };
  const auto index = static_cast<std::size_t>(status);
  return index < kTexts.size() ? kTexts[index] : "unknown status";
}

}  // namespace acp
