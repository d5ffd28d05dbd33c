// The module of the data structures: its start and end, the scratches, and the
// name of the public function that each thread is in. Every public function of
// a data structure begins in Site::of_call. Nothing here waits for another
// rank.
#include "middle/structure/site.h"

#include <sched.h>

#include <bit>
#include <cstdlib>

#include "base/memory_reserve.h"
#include "middle/lacks_memory.h"
#include "middle/leave_to_parent.h"
#include "middle/log.h"
#include "middle/malloc/allocate_for.h"
#include "middle/structure/late_looks.h"

namespace acp::middle::structure {

namespace {

// Written by acp_init, acp_reset and acp_finalize, which one thread calls.
int g_module = -1;
bool g_has_ended = false;
std::uint64_t g_lives = 0;

std::atomic<Site*> g_site{nullptr};

}  // namespace

int Site::add_module(int (*add)(const acpx_module_t*)) {
  acpx_module_t module{};
  module.name = "data structures";
  module.bytes = kModuleBytes;
  module.init = init;
  module.fini = fini;
  g_module = add(&module);
  return g_module < 0 ? -1 : 0;
}

void Site::leave_job() noexcept {
  leave_to_parent(g_site);
}

int Site::init(void*) {
  auto* site = new Site;
  site->rank_ = acp_rank();
  site->procs_ = acp_procs();
  site->life_ = ++g_lives;
  site->memory_ga_ = site->memory_of(site->rank_);
  site->memory_ = static_cast<std::byte*>(acp_query_address(site->memory_ga_));
  site->late_looks_ = std::make_unique<LateLooks>(*site, site->memory_ga_);
  g_has_ended = false;
  g_site.store(site, std::memory_order_release);  // pairs with of_call()
  return 0;
}

Site::Site() = default;
Site::~Site() = default;

/// Operations of this rank are over, but for unlockings without a waiting call.
int Site::fini(void*) {
  if (Site* site = g_site.load(std::memory_order_acquire); site != nullptr) {
    site->late_looks_->finish();
  }
  delete g_site.exchange(nullptr, std::memory_order_acq_rel);
  g_has_ended = true;
  return 0;
}

namespace {

/// The last public function that this thread has called.
thread_local const char* t_function = "";

}  // namespace

acp_ga_t allocate(std::size_t bytes, int rank) {
  return allocate_for(t_function, bytes, rank);
}

const char* current_function() noexcept {
  return t_function;
}

Site* Site::of_call(const char* function) {
  t_function = function;
  Site* site = g_site.load(std::memory_order_acquire);
  if (__builtin_expect(site == nullptr, 0)) {
    acp_errno = g_has_ended ? ACPX_FINALIZED : ACPX_NOT_INITIALIZED;
    log_error("{}: {}", function, acpx_strerror(acp_errno));
    return nullptr;
  }
  return lacks_memory(function) ? nullptr : site;
}

acp_ga_t Site::memory_of(int rank) const {
  return acpx_module_ga(g_module, rank);
}

namespace {

/// How many scratches this thread has at the moment.
thread_local unsigned t_depth = 0;

constexpr std::uint64_t kFirstMask = (std::uint64_t{1} << kFirstScratches) - 1;

}  // namespace

/// Takes a scratch of the thread's group by one compare and swap; yields while
/// all of the group are in use.
Scratch::Scratch(Site& site) : site_(site) {
  MustNotFail::enter();  // The call may hold locks of other ranks.
  // Bits of the scratches that this thread may not take: its first scratch
  // comes from the first group, each further one from the rest.
  const std::uint64_t others = t_depth++ == 0 ? ~kFirstMask : kFirstMask;
  std::uint64_t taken = site.in_use_.load(std::memory_order_relaxed);
  for (;;) {
    if ((taken | others) == ~std::uint64_t{0}) {
      // more threads of this rank are inside than there are scratches
      ::sched_yield();
      taken = site.in_use_.load(std::memory_order_relaxed);
      continue;
    }
    index_ = static_cast<unsigned>(std::countr_one(taken | others));
    // Pairs with the destructor: the last user's accesses come before.
    if (site.in_use_.compare_exchange_weak(
            taken, taken | std::uint64_t{1} << index_,
            std::memory_order_acquire, std::memory_order_relaxed)) {
      break;
    }
  }
  const std::size_t offset = kScratchOffset + index_ * kScratchBytes;
  memory_ = site.memory_ + offset;
  ga_ = site.memory_ga_ + offset;
}

Scratch::~Scratch() {
  MustNotFail::leave();
  --t_depth;
  site_.in_use_.fetch_and(~(std::uint64_t{1} << index_),
                          std::memory_order_release);
}

std::uint64_t* Scratch::take(std::size_t bytes) {
  const std::size_t rounded = (bytes + 7) / 8 * 8;
  if (used_ + rounded > kScratchBytes - kScratchDataBytes) {
    // a chain of this library needs more words than a scratch has
    std::abort();
  }
  auto* words = reinterpret_cast<std::uint64_t*>(memory_ + used_);
  used_ += rounded;
  return words;
}

}  // namespace acp::middle::structure
