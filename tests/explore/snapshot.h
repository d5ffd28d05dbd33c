// Restores the memory of all ranks before each schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace explore {

/// Remembers the content of ranges of memory.
///
/// take() makes the ranges read-only. The first write to a page faults, and the
/// handler then keeps a copy of the page and makes it writable for good.
/// restore() copies these pages back. Schedules of one exploration write the
/// same pages again and again, so faults soon stop. One object in a process.
class Snapshot {
 public:
  Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() = default;

  /// Adds a range. Both ends are multiples of the page size.
  void add(void* begin, std::size_t bytes);

  /// Begins to watch the ranges.
  void take();

  void restore();

  /// Pages that were written since take().
  std::size_t pages() const { return hot_.size(); }

 private:
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };

  static void on_fault(int signal, void* info, void* context);
  bool keep(std::uintptr_t address);

  std::vector<Range> ranges_;
  std::vector<std::byte*> hot_;  ///< Pages written since take().
  std::byte* copies_ = nullptr;  ///< Their content, in the same order.
};

}  // namespace explore
