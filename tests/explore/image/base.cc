// The parts of src/base that middle calls and that depend on the system. Ranks
// here never lack memory, and their memory is always mapped.
#include "base/memory_reserve.h"
#include "base/touch.h"

namespace acp {

bool has_memory_reserve() noexcept {
  return true;
}

void MustNotFail::enter() noexcept {}

void MustNotFail::leave() noexcept {}

MayFail::MayFail() noexcept = default;
MayFail::~MayFail() = default;  // NOLINT(performance-trivially-destructible)

bool can_touch(std::byte* /*address*/,
               std::size_t /*size*/,
               Access /*access*/) noexcept {
  return true;
}

}  // namespace acp
