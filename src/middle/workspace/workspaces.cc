#include "middle/workspace/workspaces.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

#include "acp/gma.h"
#include "acp/malloc.h"
#include "middle/end_of_job.h"
#include "middle/log.h"
#include "middle/structure/chain.h"

namespace acp::middle::workspace {

using structure::Chain;
using structure::Site;
using structure::Slot;
using structure::WorkspaceCard;

namespace {

acp_wsd_t handle_of(std::size_t index, std::uint32_t generation) {
  return reinterpret_cast<acp_wsd_t>(std::uintptr_t{generation} << 16 |
                                     (index + 1));
}

std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

/// Parts of a workspace that lie on the rank which is `distance` behind the
/// first.
std::size_t parts_of(std::size_t parts,
                     std::size_t procs,
                     std::size_t distance) {
  return parts / procs + (distance < parts % procs ? 1 : 0);
}

/// What all ranks have to agree on. Not linear: no rank may want the mean of
/// what others want and find its sum right.
std::uint64_t hash_of(std::size_t size, const Distribution& where) {
  const std::array<std::uint64_t, 3> words = {size, where.start,
                                              where.part_bytes};
  return XXH3_64bits(words.data(), sizeof words);
}

}  // namespace

Workspaces& workspaces() {
  static Workspaces all;
  return all;
}

bool Workspaces::set_parameters(Site& site, Distribution distribution) {
  if (distribution.start >= static_cast<std::size_t>(site.procs())) {
    acp_errno = ACPX_BAD_RANK;
    log_error("acp_setparams_ws({}, {}): ranks are 0 to {}", distribution.start,
              distribution.part_bytes, site.procs() - 1);
    return false;
  }
  const std::lock_guard lock(mutex_);
  parameters_ = distribution;
  parameters_life_ = site.life();
  return true;
}

std::size_t Workspaces::find_free(std::uint64_t life) const {
  const auto found =
      std::find_if(items_.begin(), items_.end(), [&](const Item& item) {
        return item.life.load(std::memory_order_acquire) != life;
      });
  return static_cast<std::size_t>(found - items_.begin());
}

acp_ga_t Workspaces::card_of(Site& site, int rank, std::size_t index) {
  return site.memory_of(rank) + structure::kCardsOffset +
         index * sizeof(WorkspaceCard);
}

/// All ranks find the same place free, since creation is collective.
acp_wsd_t Workspaces::create(Site& site, std::size_t size) {
  const std::size_t index = find_free(site.life());
  if (size == 0 || size > PTRDIFF_MAX || index == items_.size()) {
    acp_errno = size == 0 ? ACPX_INVALID_ARGUMENT : ACPX_NO_MEMORY;
    log_error("acp_create_ws({}): {}", size,
              size == 0            ? "give it a byte or more"
              : size > PTRDIFF_MAX ? "no job has so many bytes"
                                   : "256 workspaces exist: destroy some");
    return ACP_WSD_NULL;
  }
  Item& item = items_[index];
  const auto procs = static_cast<std::size_t>(site.procs());
  item.size = size;
  {
    const std::lock_guard lock(mutex_);
    item.where = parameters_life_ == site.life() ? parameters_ : Distribution{};
  }
  if (item.where.part_bytes == 0) {
    item.where.part_bytes = round_up(size / procs + (size % procs != 0), 64);
  }
  const std::size_t parts = size / item.where.part_bytes +
                            (size % item.where.part_bytes != 0 ? 1 : 0);
  const std::size_t distance =
      (static_cast<std::size_t>(site.rank()) + procs - item.where.start) %
      procs;
  const std::size_t mine = parts_of(parts, procs, distance);
  // The last part may be cut short: it is no larger than the workspace.
  const std::size_t bytes =
      mine == 0 ? 0
                : (mine - 1) * item.where.part_bytes +
                      std::min(item.where.part_bytes, round_up(size, 64));
  const acp_ga_t base =
      mine == 0 ? ACP_GA_NULL : acp_malloc(bytes, site.rank());
  const int reason = acp_errno;

  // Everybody's card first, then everybody's verdict and wish on rank 0.
  Slot slot(site);
  Chain chain(slot);
  chain.put8(card_of(site, site.rank(), index) + offsetof(WorkspaceCard, base),
             base);
  bool is_alive = chain.run();
  const acp_ga_t failed =
      card_of(site, 0, index) + offsetof(WorkspaceCard, failed);
  const bool has_failed = mine != 0 && base == ACP_GA_NULL;
  const acp_ga_t shapes =
      card_of(site, 0, index) + offsetof(WorkspaceCard, shapes);
  const std::uint64_t shape = hash_of(size, item.where);
  if (is_alive) {
    chain.add8(failed, has_failed ? 1 : 0);
    chain.add8(shapes, shape);
    is_alive = chain.run();
  }
  is_alive = acp_sync() == 0 && is_alive;
  const std::uint64_t* failures = chain.get(failed, 8);
  const std::uint64_t* sum = chain.get(shapes, 8);
  is_alive = is_alive && chain.run();
  const bool is_same = is_alive && *sum == shape * procs;
  const bool is_good = is_same && *failures == 0;
  is_alive = acp_sync() == 0 && is_alive;
  if (is_alive) {
    // All have looked. Each takes back its own: who comes first to the next
    // creation with this card meets nobody's rest.
    chain.add8(failed, has_failed ? ~std::uint64_t{0} : 0);
    chain.add8(shapes, -shape);
    is_alive = chain.run();
  }
  if (is_good && is_alive) {
    item.bases = std::make_unique<std::atomic<acp_ga_t>[]>(procs);
    ++item.generation;
    item.life.store(site.life(), std::memory_order_release);
    return handle_of(index, item.generation);
  }
  acp_free(base);
  if (is_alive) {
    acp_errno = is_same ? ACPX_NO_MEMORY : ACPX_INVALID_ARGUMENT;
    log_error(
        "acp_create_ws({}): {}", size,
        !is_same ? "ranks gave different sizes, or other parameters to "
                   "acp_setparams_ws"
        : has_failed
            ? fmt::format("{}; set ACP_HEAP_SIZE higher", acpx_strerror(reason))
            : "another rank's heap has no room: set ACP_HEAP_SIZE "
              "higher");
  }
  return ACP_WSD_NULL;
}

Workspaces::Item* Workspaces::find(Site& site,
                                   const char* function,
                                   acp_wsd_t wsd) {
  const auto value = reinterpret_cast<std::uintptr_t>(wsd);
  const std::size_t index = (value & 0xffff) - 1;
  if (index < items_.size()) {
    Item& item = items_[index];
    // Pairs with create(): what it has is whole.
    if (item.life.load(std::memory_order_acquire) == site.life() &&
        handle_of(index, item.generation) == wsd) {
      return &item;
    }
  }
  acp_errno = ACPX_INVALID_ARGUMENT;
  log_error("{}({:#x}): there is no such workspace, or no longer", function,
            value);
  return nullptr;
}

void Workspaces::destroy(Site& site, acp_wsd_t wsd) {
  Item* item = find(site, "acp_destroy_ws", wsd);
  if (item == nullptr || acp_sync() != 0) {
    return;
  }
  const acp_ga_t base =
      base_of(site, *item, static_cast<std::size_t>(site.rank()));
  item->life.store(0, std::memory_order_release);
  acp_free(base);
  item->bases.reset();
  // Nobody writes a new card here while another still reads the old one.
  acp_sync();
}

/// The card is read at the first use of a rank's parts.
acp_ga_t Workspaces::base_of(Site& site, Item& item, std::size_t rank) {
  acp_ga_t base = item.bases[rank].load(std::memory_order_relaxed);
  if (base == ACP_GA_NULL) {
    Slot slot(site);
    Chain chain(slot);
    const auto index = static_cast<std::size_t>(&item - items_.data());
    const std::uint64_t* read =
        chain.get(card_of(site, static_cast<int>(rank), index), 8);
    if (chain.run()) {
      base = *read;
      item.bases[rank].store(base, std::memory_order_relaxed);
    }
  }
  return base;
}

bool Workspaces::copy_parts(Site& site,
                            Way way,
                            Item& item,
                            acp_ga_t ga,
                            std::size_t size,
                            std::size_t offset) {
  const auto procs = static_cast<std::size_t>(site.procs());
  const std::size_t part_bytes = item.where.part_bytes;
  acp_handle_t last = ACP_HANDLE_NULL;
  bool is_good = true;
  while (size != 0 && is_good) {
    const std::size_t part = offset / part_bytes;
    const std::size_t inside = offset % part_bytes;
    const std::size_t bytes = std::min(size, part_bytes - inside);
    const acp_ga_t base =
        base_of(site, item, (item.where.start + part) % procs);
    const acp_ga_t there = base + part / procs * part_bytes + inside;
    const acp_handle_t handle =
        way == Way::kRead ? acp_copy(ga, there, bytes, ACP_HANDLE_NULL)
                          : acp_copy(there, ga, bytes, ACP_HANDLE_NULL);
    is_good = handle != ACP_HANDLE_NULL;
    last = is_good ? handle : last;
    ga += bytes;
    offset += bytes;
    size -= bytes;
  }
  // Also after a failure: the copies under way use the caller's memory.
  return acpx_complete_timeout(last, -1) == 0 && is_good;
}

bool Workspaces::copy(Site& site,
                      Way way,
                      acp_wsd_t wsd,
                      acp_ga_t ga,
                      std::size_t size,
                      std::size_t offset) {
  const char* function = way == Way::kRead ? "acp_read_ws" : "acp_write_ws";
  Item* item = find(site, function, wsd);
  if (item == nullptr) {
    return false;
  }
  if (offset > item->size || size > item->size - offset) {
    acp_errno = ACPX_BAD_ADDRESS;
    log_error("{}: {} bytes at {} of a workspace of {} bytes", function, size,
              offset, item->size);
    return false;
  }
  if (size == 0 || copy_parts(site, way, *item, ga, size, offset)) {
    return true;
  }
  // The wait may have collected a failure of the program's own operations.
  return !is_end_of_job(acp_errno) &&
         copy_parts(site, way, *item, ga, size, offset);
}

}  // namespace acp::middle::workspace
