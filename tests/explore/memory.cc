// Translates addresses. Library memory of all ranks lies in one mapping, which
// the Snapshot watches.
#include "explore/memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

namespace explore {

namespace {

constexpr std::size_t kPage = 4096;
/// A place that no program has taken. Traces then have the same pointers in
/// each run.
constexpr std::uintptr_t kPlace = 0x5000'0000'0000;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

Memory::Memory(int ranks)
    : ranks_(ranks), stride_(whole_pages(kStarterBytes)) {}

Memory::~Memory() {
  if (base_ != nullptr) {
    ::munmap(base_, bytes());
  }
}

std::uint64_t Memory::add_module(std::size_t bytes) {
  const std::uint64_t offset = stride_;
  stride_ += whole_pages(bytes == 0 ? 1 : bytes);
  return offset;
}

void Memory::map() {
  void* memory = ::mmap(
      reinterpret_cast<void*>(kPlace), bytes(), PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("explore: no memory for the ranks");
    std::exit(1);
  }
  base_ = static_cast<std::byte*>(memory);
}

int Memory::rank_of(acp_ga_t ga) const {
  const std::uint64_t number = ga >> kOffsetBits;
  return number >= 1 && number <= static_cast<std::uint64_t>(ranks_)
             ? static_cast<int>(number - 1)
             : -1;
}

std::byte* Memory::find(acp_ga_t ga, std::size_t bytes) const {
  const int rank = rank_of(ga);
  if (rank < 0) {
    return nullptr;
  }
  const std::uint64_t offset = ga & kOffsetMask;
  if (offset < kRegions) {
    return offset < stride_ && bytes <= stride_ - offset
               ? base_ + static_cast<std::size_t>(rank) * stride_ + offset
               : nullptr;
  }
  for (const Region& region : regions_) {
    if (region.is_live && ga >= region.ga && ga - region.ga < region.bytes &&
        bytes <= region.bytes - (ga - region.ga)) {
      return region.address + (ga - region.ga);
    }
  }
  return nullptr;
}

/// Each region takes a GiB of the second half of the offsets.
acp_atkey_t Memory::register_memory(int rank,
                                    void* address,
                                    std::size_t bytes) {
  constexpr std::uint64_t kPerRegion = std::uint64_t{1} << 26;
  const std::uint64_t number = regions_.size();
  const std::uint64_t low = reinterpret_cast<std::uintptr_t>(address) & 63;
  const acp_ga_t ga =
      library_ga(rank, kRegions + number * kPerRegion + 64 + low);
  const acp_atkey_t key = number + 1;
  regions_.push_back(
      {rank, key, ga, static_cast<std::byte*>(address), bytes, true});
  return key;
}

bool Memory::unregister(int rank, acp_atkey_t key) {
  if (key == 0 || key > regions_.size() || !regions_[key - 1].is_live ||
      regions_[key - 1].rank != rank) {
    return false;
  }
  regions_[key - 1].is_live = false;
  return true;
}

acp_ga_t Memory::query(int rank, acp_atkey_t key, const void* address) const {
  if (key == 0 || key > regions_.size()) {
    return ACP_GA_NULL;
  }
  const Region& region = regions_[key - 1];
  const auto offset = static_cast<const std::byte*>(address) - region.address;
  return region.is_live && region.rank == rank && offset >= 0 &&
                 static_cast<std::size_t>(offset) < region.bytes
             ? region.ga + static_cast<std::uint64_t>(offset)
             : ACP_GA_NULL;
}

}  // namespace explore
