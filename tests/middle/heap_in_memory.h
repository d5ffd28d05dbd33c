// A heap in this process's own memory, for tests of the heap's parts. Threads
// stand for ranks, and nothing goes over a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "middle/malloc/heap_memory.h"
#include "middle/malloc/layout.h"

namespace acp::middle::test {

class HeapInMemory {
 public:
  explicit HeapInMemory(std::uint64_t bytes)
      : layout(bytes), lines_(bytes / sizeof(Line) + 1) {
    memory.direct = lines_.front().bytes;
  }

  /// Whether every chunk is whole, which is so only in a heap without a block
  /// in use.
  bool is_whole() const {
    for (std::uint64_t i = 0; i < layout.groups(); ++i) {
      if (memory.load_direct(layout.group(i)) != 0) {
        return false;
      }
    }
    for (std::uint64_t i = 0; i < layout.chunks(); ++i) {
      if (memory.load_direct(layout.free_pages(i)) != 0) {
        return false;
      }
    }
    for (PageNumber i = 0; i < layout.pages(); ++i) {
      if (memory.load_direct(layout.info_of(i)) != 0 ||
          memory.load_direct(layout.bits_of(i)) != 0) {
        return false;
      }
    }
    return true;
  }

  HeapLayout layout;
  HeapMemory memory;

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  std::vector<Line> lines_;
};

}  // namespace acp::middle::test
