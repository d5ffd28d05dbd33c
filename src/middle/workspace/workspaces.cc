// Workspaces: creation and destruction by agreement of all ranks, and copies to
// and from their parts. Called by workspace_api.cc. A workspace is freed only
// when all ranks have come to its destruction.
#include "middle/workspace/workspaces.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

#include "acp/gma.h"
#include "acp/malloc.h"
#include "base/immortal.h"
#include "middle/end_of_job.h"
#include "middle/log.h"
#include "middle/structure/chain.h"
#include "middle/workspace/agreement.h"

namespace acp::middle::workspace {

using structure::Chain;
using structure::Scratch;
using structure::Site;
using structure::WorkspaceEntry;

namespace {

acp_wsd_t handle_of(std::size_t index, std::uint32_t generation) {
  return reinterpret_cast<acp_wsd_t>(std::uintptr_t{generation} << 16 |
                                     (index + 1));
}

std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

/// Parts of a workspace on the rank that comes `distance` ranks after the
/// first.
std::size_t parts_of(std::size_t parts,
                     std::size_t procs,
                     std::size_t distance) {
  return parts / procs + (distance < parts % procs ? 1 : 0);
}

/// The values that all ranks have to agree on. Sizes and handles are hashed
/// before they are added up: otherwise a rank that wants the mean of the
/// others' values would agree.
std::uint64_t wish_to_create(std::size_t size, const Distribution& where) {
  const std::array<std::uint64_t, 3> words = {size, where.start,
                                              where.part_bytes};
  return XXH3_64bits(words.data(), sizeof words);
}

std::uint64_t wish_to_destroy(acp_wsd_t wsd) {
  const auto number = reinterpret_cast<std::uintptr_t>(wsd);
  return XXH3_64bits(&number, sizeof number);
}

/// Bytes of this rank's parts; 0 when it has none.
std::size_t bytes_of_rank(const Site& site,
                          std::size_t size,
                          const Distribution& where) {
  const auto procs = static_cast<std::size_t>(site.procs());
  const std::size_t parts =
      size / where.part_bytes + (size % where.part_bytes != 0 ? 1 : 0);
  const std::size_t distance =
      (static_cast<std::size_t>(site.rank()) + procs - where.start) % procs;
  const std::size_t mine = parts_of(parts, procs, distance);
  // A part is never larger than the whole workspace.
  return mine == 0 ? 0
                   : (mine - 1) * where.part_bytes +
                         std::min(where.part_bytes, round_up(size, 64));
}

}  // namespace

Workspaces& workspaces() {
  static Immortal<Workspaces> all;
  return *all;
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

acp_ga_t Workspaces::entry_of(Site& site, int rank, std::size_t index) {
  return site.memory_of(rank) + structure::kWorkspacesOffset +
         index * sizeof(WorkspaceEntry);
}

Distribution Workspaces::distribution_of(Site& site, std::size_t size) {
  Distribution where{};
  {
    const std::lock_guard lock(mutex_);
    where = parameters_life_ == site.life() ? parameters_ : Distribution{};
  }
  if (where.part_bytes == 0) {
    const auto procs = static_cast<std::size_t>(site.procs());
    where.part_bytes = round_up(size / procs + (size % procs != 0), 64);
  }
  return where;
}

/// Allocates this rank's parts and writes their address to this rank's entry.
Refusal Workspaces::take_parts(Site& site,
                               std::size_t index,
                               std::size_t size,
                               const Distribution& where,
                               acp_ga_t& base) {
  if (size == 0) {
    return {ACPX_INVALID_ARGUMENT, "give it a byte or more"};
  }
  if (size > PTRDIFF_MAX) {
    return {ACPX_NO_MEMORY, "no job has so many bytes"};
  }
  if (index == items_.size()) {
    return {ACPX_NO_MEMORY, "256 workspaces exist: destroy some"};
  }
  const std::size_t bytes = bytes_of_rank(site, size, where);
  base = bytes == 0 ? ACP_GA_NULL : structure::allocate(bytes, site.rank());
  if (bytes != 0 && base == ACP_GA_NULL) {
    return {ACPX_NO_MEMORY, fmt::format("{}; set ACP_HEAP_SIZE higher",
                                        acpx_strerror(acp_errno))};
  }
  Scratch scratch(site);
  Chain chain(scratch);
  chain.put8(entry_of(site, site.rank(), index), base);
  return chain.run() ? Refusal{} : Refusal{acp_errno, "the job is ending"};
}

/// A rank that cannot take part says so in the agreement. If it returned
/// instead, the others would wait for it and meet its next acp_sync.
acp_wsd_t Workspaces::create(Site& site, std::size_t size) {
  // All ranks find the same item free, since creation is collective.
  const std::size_t index = find_free(site.life());
  const Distribution where = distribution_of(site, size);
  acp_ga_t base = ACP_GA_NULL;
  const Refusal mine = take_parts(site, index, size, where, base);
  const Outcome outcome = agree(site, wish_to_create(size, where), mine.code);
  if (outcome == Outcome::kAgreed) {
    Item& item = items_[index];
    item.size = size;
    item.where = where;
    item.bases = std::make_unique<std::atomic<acp_ga_t>[]>(
        static_cast<std::size_t>(site.procs()));
    ++item.generation;
    item.life.store(site.life(), std::memory_order_release);
    return handle_of(index, item.generation);
  }
  acp_free(base);
  if (outcome == Outcome::kDiffer) {
    acp_errno = ACPX_INVALID_ARGUMENT;
    log_error(
        "acp_create_ws({}): {}{}ranks gave different sizes, or other "
        "parameters to acp_setparams_ws; no rank gets a workspace",
        size, mine.text, mine.code != 0 ? "; " : "");
  } else if (outcome == Outcome::kRefused) {
    acp_errno = mine.code != 0 ? mine.code : ACPX_NO_MEMORY;
    log_error("acp_create_ws({}): {}; no rank gets a workspace", size,
              mine.code != 0 ? mine.text
                             : "another rank's heap has no room: set "
                               "ACP_HEAP_SIZE higher");
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
    // Pairs with the store in create(): the item is complete.
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

/// A rank with a wrong handle takes part in the agreement, too, and nothing is
/// destroyed on any rank.
void Workspaces::destroy(Site& site, acp_wsd_t wsd) {
  Item* item = find(site, "acp_destroy_ws", wsd);
  const Outcome outcome = agree(site, wish_to_destroy(wsd),
                                item == nullptr ? ACPX_INVALID_ARGUMENT : 0);
  if (outcome != Outcome::kAgreed) {
    if (outcome != Outcome::kEnded && item != nullptr) {
      log_error(
          "acp_destroy_ws({:#x}): another rank gave another workspace, "
          "or none: nothing is destroyed, on no rank",
          reinterpret_cast<std::uintptr_t>(wsd));
    }
    if (outcome != Outcome::kEnded) {
      acp_errno = ACPX_INVALID_ARGUMENT;
    }
    return;
  }
  // All ranks have come here, so no rank reads this rank's parts or entry any
  // more.
  const acp_ga_t base =
      base_of(site, *item, static_cast<std::size_t>(site.rank()));
  item->life.store(0, std::memory_order_release);
  acp_free(base);
  item->bases.reset();
}

/// Returns the address of a rank's parts. That rank's entry is read when it is
/// needed for the first time.
acp_ga_t Workspaces::base_of(Site& site, Item& item, std::size_t rank) {
  acp_ga_t base = item.bases[rank].load(std::memory_order_relaxed);
  if (base == ACP_GA_NULL) {
    Scratch scratch(site);
    Chain chain(scratch);
    const auto index = static_cast<std::size_t>(&item - items_.data());
    const std::uint64_t* read =
        chain.get(entry_of(site, static_cast<int>(rank), index), 8);
    if (chain.run()) {
      base = *read;
      item.bases[rank].store(base, std::memory_order_relaxed);
    }
  }
  return base;
}

/// Issues one copy for each part in the range, then waits for all of them.
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
  // Waits also after a failure, because copies under way use the caller's
  // memory.
  return acpx_complete_timeout(last, -1) == 0 && is_good;
}

/// Checks the range, then copies.
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
  // The wait may have collected a failure of the program's own operations. Then
  // the copies are made once more.
  return !is_end_of_job(acp_errno) &&
         copy_parts(site, way, *item, ga, size, offset);
}

}  // namespace acp::middle::workspace
