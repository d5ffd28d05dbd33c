// The handler of faults of the transport over UCX. It acts only in a thread
// that is inside UCX, and passes every fault on to the handler in front of it:
// the library's, and then the program's.
#include "transport/ucx/fault_note.h"

#include <array>
#include <mutex>

#include "base/fault_actions.h"
#include "base/log.h"
#include "base/memory_map.h"

namespace acp::ucx {

namespace {

std::mutex g_mutex;  // guards g_notes and the installation
int g_notes = 0;
FaultActions g_before;
/// Processes have one transport; only tests have more.
std::array<FaultNote::Place, 32> g_places;

/// A fault of this thread, which is not sent by kill(), is UCX's if the thread
/// is inside UCX. So the note of its place lives.
void on_fault(int signal, siginfo_t* info, void* context) {
  if (info->si_code > 0) {
    for (FaultNote::Place& place : g_places) {
      if (place.thread.load(std::memory_order_relaxed) == ::pthread_self()) {
        place.note.load(std::memory_order_relaxed)->tell(info->si_addr);
        place.thread.store(0, std::memory_order_relaxed);
        break;
      }
    }
  }
  g_before.pass_on(signal, info, context);
}

}  // namespace

FaultNote::FaultNote(const Regions& regions) noexcept
    : regions_(regions), place_(nullptr) {
  const std::lock_guard lock(g_mutex);
  if (g_notes++ == 0) {
    g_before.install(on_fault);
  }
  for (Place& place : g_places) {
    if (place.note.load(std::memory_order_relaxed) == nullptr) {
      place.note.store(this, std::memory_order_relaxed);
      place_ = &place;
      break;
    }
  }
}

FaultNote::~FaultNote() {
  const std::lock_guard lock(g_mutex);
  if (place_ != nullptr) {
    place_->note.store(nullptr, std::memory_order_relaxed);
  }
  if (--g_notes == 0) {
    g_before.remove(on_fault);
  }
}

void FaultNote::tell(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  const MyRegion* found = regions_.holding(byte);
  if (found == nullptr) {
    return;  // a fault of UCX itself
  }
  const transport::Region& region = found->region();
  const auto why =
      MemoryMap().find_obstacle(reinterpret_cast<std::uintptr_t>(address), 1);
  log_error(
      "ucx: byte {} of the region of {} bytes at {} (key {}) {}: the program "
      "has unmapped or protected this memory while UCX accesses it for a rank, "
      "and UCX cannot go on; unregister memory (acp_unregister_memory) before "
      "munmap, mprotect or free. This process ends by a fault at {}",
      byte - region.address, region.size,
      static_cast<const void*>(region.address), region.key,
      why.text.empty() ? "cannot be accessed" : why.text, address);
}

}  // namespace acp::ucx
