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

namespace {

/// Objects of MayFail. They change nothing where memory is never refused.
int g_may_fail = 0;

}  // namespace

MayFail::MayFail() noexcept {
  ++g_may_fail;
}

MayFail::~MayFail() {
  --g_may_fail;
}

bool can_touch(std::byte* /*address*/,
               std::size_t /*size*/,
               Access /*access*/) noexcept {
  return true;
}

}  // namespace acp
