// Copies between the blocks of a message and other memory, and makes a region
// of blocks. Called by the halves, by declarations and by memory_api.cc. Memory
// is registered once at most, and a refused one is not tried again.
#include "qmp/message_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace qmp {

namespace {

/// The simplest form of a run: blocks without a gap become one block.
Run normal(Run run) {
  if (run.block == 0 || run.count == 0) {
    return {run.base, 0, 0, 0};
  }
  if (run.count > 1 && run.stride == static_cast<std::ptrdiff_t>(run.block)) {
    return {run.base, run.block * run.count, 1, 0};
  }
  return run;
}

}  // namespace

Span span_of(std::size_t block, std::size_t count, std::ptrdiff_t stride) {
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(count - 1) * stride;
  return {std::min<std::ptrdiff_t>(last, 0),
          static_cast<std::size_t>(last < 0 ? -last : last) + block};
}

MessageMemory::MessageMemory(std::vector<Run> runs) {
  std::vector<Run> kept;
  for (const Run& run : runs) {
    const Run each = normal(run);
    if (each.count > 0) {
      kept.push_back(each);
      size_ += each.block * each.count;
    }
  }
  if (!kept.empty()) {
    first_ = kept.front();
    more_.assign(kept.begin() + 1, kept.end());
  } else if (!runs.empty()) {
    first_ = normal(runs.front());
  }
}

MessageMemory::MessageMemory(void* base, std::size_t bytes)
    : first_(normal({static_cast<std::byte*>(base), bytes, 1, 0})),
      size_(bytes) {}

MessageMemory::~MessageMemory() {
  if (key_ != ACP_ATKEY_NULL) {
    library_->unregister_memory(key_);
  }
}

MessageMemory* MessageMemory::moved_to(void* base) const {
  const std::ptrdiff_t shift = static_cast<std::byte*>(base) - first_.base;
  std::vector<Run> runs{first_};
  runs.insert(runs.end(), more_.begin(), more_.end());
  for (Run& run : runs) {
    run.base += shift;
  }
  return new MessageMemory(std::move(runs));
}

template <typename Copy>
void MessageMemory::walk(std::size_t bytes, const Copy& copy) const {
  const auto walk_run = [&](const Run& run) {
    for (std::size_t i = 0; i < run.count && bytes > 0; ++i) {
      const std::size_t now = std::min(bytes, run.block);
      copy(run.base + static_cast<std::ptrdiff_t>(i) * run.stride, now);
      bytes -= now;
    }
  };
  walk_run(first_);
  for (const Run& run : more_) {
    walk_run(run);
  }
}

void MessageMemory::gather(std::byte* to, std::size_t bytes) const {
  walk(bytes, [&to](std::byte* memory, std::size_t n) {
    std::memcpy(to, memory, n);
    to += n;
  });
}

void MessageMemory::scatter(const std::byte* from, std::size_t bytes) const {
  walk(bytes, [&from](std::byte* memory, std::size_t n) {
    std::memcpy(memory, from, n);
    from += n;
  });
}

bool MessageMemory::is_scattered_by_peers(const LibraryMemory& library) const {
  const Span span = span_of(first_.block, first_.count, first_.stride);
  return more_.empty() &&
         library.is_mapped_by_peers(first_.base + span.low, span.bytes);
}

void MessageMemory::copy_to(const Run& run, std::size_t bytes) const {
  std::byte* block = run.base;
  std::size_t filled = 0;
  walk(bytes, [&](const std::byte* memory, std::size_t n) {
    while (n > 0) {
      const std::size_t now = std::min(n, run.block - filled);
      std::memcpy(block + filled, memory, now);
      memory += now;
      n -= now;
      filled += now;
      if (filled == run.block) {
        block += run.stride;
        filled = 0;
      }
    }
  });
}

acp_ga_t MessageMemory::address(LibraryMemory& library) {
  if (address_ != ACP_GA_NULL || was_refused_) {
    return address_;
  }
  const Span span = span_of(first_.block, first_.count, first_.stride);
  std::byte* low = first_.base + span.low;
  const auto inside = static_cast<std::uint64_t>(-span.low);
  acp_ga_t start = library.address_of(low, span.bytes);
  if (start == ACP_GA_NULL) {
    key_ = library.register_memory(low, span.bytes);
    start = key_ == ACP_ATKEY_NULL ? ACP_GA_NULL : acp_query_ga(key_, low);
  }
  was_refused_ = start == ACP_GA_NULL;
  library_ = &library;
  address_ = was_refused_ ? ACP_GA_NULL : start + inside;
  return address_;
}

}  // namespace qmp
