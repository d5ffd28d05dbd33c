// The functions of chapter 4.10, and pointers to library memory. Programs and
// the layers above call them; they check and translate, and take no lock.
#include "acp/extension.h"
#include "acp/global_memory.h"
#include "api/current_task.h"
#include "base/log.h"
#include "base/memory_reserve.h"

using acp::Status;
using acp::api::as_int;
using acp::api::fail;
using acp::api::fail_without_task;
using acp::api::lacks_memory;
using acp::api::task;

namespace {

/// The rank that an address names, or -1.
int rank_of(const acp::gmm::AddressSpace& space, acp_ga_t ga) {
  const acp::gmm::Rank rank = space.codec().rank(ga);
  if (rank >= space.codec().procs()) {
    fail(ga == ACP_GA_NULL ? Status::kBadAddress : Status::kBadRank);
    return -1;
  }
  return static_cast<int>(rank);
}

/// Registers memory. If it is refused, a line of level `level` says why.
acp_atkey_t register_memory(void* addr,
                            size_t size,
                            int color,
                            acp::LogLevel level) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task("acp_register_memory");
    return ACP_ATKEY_NULL;
  }
  if (lacks_memory("acp_register_memory")) {
    return ACP_ATKEY_NULL;
  }
  const acp::MustNotFail must_not_fail;
  const auto atkey = mine->register_memory(addr, size, color, level);
  if (!atkey.ok()) {
    fail(atkey.status());
    return ACP_ATKEY_NULL;
  }
  return atkey.value();
}

}  // namespace

extern "C" {

acp_atkey_t acp_register_memory(void* addr, size_t size, int color) {
  return register_memory(addr, size, color, acp::LogLevel::kError);
}

acp_atkey_t acpx_try_register_memory(void* addr, size_t size, int color) {
  return register_memory(addr, size, color, acp::LogLevel::kDebug);
}

// A rank that the job does not have is refused here, where the line in the log
// can name it; Engine::announce has the other checks.
int acpx_announce_memory(acp_ga_t ga, size_t size, int rank) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  if (rank < 0 || rank >= acp_procs()) {
    acp::log_error("acpx_announce_memory: rank {}; ranks are 0 to {}", rank,
                   acp_procs() - 1);
    fail(Status::kBadRank);
    return -1;
  }
  if (lacks_memory("acpx_announce_memory")) {
    return -1;
  }
  return as_int(
      mine->engine().announce(ga, size, static_cast<acp::gmm::Rank>(rank)));
}

int acp_unregister_memory(acp_atkey_t atkey) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  const acp::MustNotFail must_not_fail;
  return as_int(mine->unregister_memory(atkey));
}

int acpx_try_unregister_memory(acp_atkey_t atkey) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  const acp::MustNotFail must_not_fail;
  const acp::Result<bool> is_done = mine->try_unregister_memory(atkey);
  if (!is_done.ok()) {
    fail(is_done.status());
    return -1;
  }
  return is_done.value() ? 1 : 0;
}

acp_ga_t acp_query_ga(acp_atkey_t atkey, void* addr) {
  acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return ACP_GA_NULL;
  }
  const auto ga = mine->keys().address_of(mine->rank(), atkey, addr);
  if (!ga.ok()) {
    acp::log_error("acp_query_ga({:#x}, {}): {}{}", atkey, addr,
                   acp::status_text(ga.status()),
                   mine->keys().describe_region(mine->rank(), atkey));
    fail(ga.status());
    return ACP_GA_NULL;
  }
  return ga.value();
}

int acp_colors(void) {
  if (const acp::runtime::Task* mine = task()) {
    return static_cast<int>(mine->space().colors());
  }
  fail_without_task();
  return -1;
}

int acp_query_rank(acp_ga_t ga) {
  if (const acp::runtime::Task* mine = task()) {
    return rank_of(mine->space(), ga);
  }
  fail_without_task();
  return -1;
}

int acp_query_color(acp_ga_t ga) {
  const acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return -1;
  }
  if (rank_of(mine->space(), ga) < 0) {
    return -1;
  }
  const acp::gmm::Color color = mine->space().codec().color(ga);
  if (color >= mine->space().colors()) {
    fail(Status::kBadColor);
    return -1;
  }
  return static_cast<int>(color);
}

void* acp_query_address(acp_ga_t ga) {
  const acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return nullptr;
  }
  const auto address = mine->space().own(ga, 1);
  if (!address.ok()) {
    fail(address.status());
    return nullptr;
  }
  return address.value();
}

acp_ga_t acp_query_starter_ga(int rank) {
  const acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return ACP_GA_NULL;
  }
  if (rank < 0 || rank >= acp_procs()) {
    acp::log_error("acp_query_starter_ga({}): ranks are 0 to {}", rank,
                   acp_procs() - 1);
    fail(Status::kBadRank);
    return ACP_GA_NULL;
  }
  return mine->starter(static_cast<acp::gmm::Rank>(rank));
}

void* acpx_pointer(acp_ga_t ga) {
  const acp::runtime::Task* mine = task();
  if (mine == nullptr) {
    fail_without_task();
    return nullptr;
  }
  const auto target = mine->space().locate(ga, 1);
  if (!target.ok()) {
    fail(target.status());
    return nullptr;
  }
  if (target.value().direct == nullptr) {
    fail(Status::kUnsupported);
  }
  return target.value().direct;
}

}  // extern "C"
