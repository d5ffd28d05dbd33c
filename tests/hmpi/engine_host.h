// A host whose processes are threads of one test program. All of them share one
// heap, g_host_memory, and so one sanitizer sees each access of every process.
// Engine::wake() signals by acpx_post. engine_host.cc defines this function,
// and adds to the word that the signal names.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "hmpi/engine.h"

namespace hmpi::test {

/// The largest message of a test.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;
/// A message has the random bytes from an offset below this number on.
inline constexpr std::size_t kPatterns = 8191;

/// The bytes of a message. Two messages of a few bytes rarely have equal ones.
std::span<const std::byte> pattern(std::size_t offset, std::size_t bytes);

/// The words of a new process in library memory. The first call makes the heap.
PeerMemory& new_process();

/// The member of an engine's host that stands for a process with these words.
/// Its private memory can be read by the kernel's copy.
Engine::Member member_of(int rank, PeerMemory& memory);

/// Gives back the rings and send records that engines of before have left in
/// the heap, and all words of processes. No engine is at work. Returns a text
/// when the heap is broken, or when another block is still taken.
std::string clear_heap();

/// Buffers of a rank, kept by size. Reusing them takes no lock: a lock would
/// order the ranks, and hide their races from ThreadSanitizer.
class Buffers {
 public:
  Buffers() = default;
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// Library memory, or else memory of malloc.
  std::byte* take(std::size_t bytes, bool is_in_library);
  /// `bytes` and `is_in_library` are those of take().
  void give_back(std::byte* buffer, std::size_t bytes, bool is_in_library);

 private:
  static std::size_t class_of(std::size_t bytes) {
    return static_cast<std::size_t>(std::bit_width(bytes | 63));
  }

  using Free = std::array<std::vector<std::byte*>, 32>;
  std::array<Free, 2> free_;
};

}  // namespace hmpi::test
