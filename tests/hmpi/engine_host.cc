// The heap, the signals and the buffers of engine_host.h.
#include "engine_host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "acp/extension.h"
#include "engine_model.h"
#include "hmpi/host_memory.h"

namespace hmpi::test {

namespace {

constexpr std::size_t kHeapBytes = std::size_t{256} << 20;

/// The kernel's copy finds this word in private memory.
constexpr std::uint64_t kProbe = 0x1234'5678'9abc'def0;

std::byte* map_heap() {
  void* memory = ::mmap(nullptr, kHeapBytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::abort();
  }
  g_host_memory.open(memory, kHeapBytes, kHeapBytes / 16, 0);
  g_host_memory.add_heaps({{.begin = reinterpret_cast<std::uintptr_t>(memory),
                            .bytes = kHeapBytes}});
  return static_cast<std::byte*>(memory);
}

std::byte* heap() {
  static std::byte* const memory = map_heap();
  return memory;
}

std::vector<std::byte> make_pattern() {
  Random random(20261129);
  std::vector<std::byte> bytes(kMostBytes + kPatterns);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

/// The engine takes its records by 64, and each ring alone.
bool is_engines(const Block& block) {
  const auto is_of = [&block](std::size_t bytes) {
    return block.capacity() >= bytes && block.capacity() < bytes + Block::kUnit;
  };
  return is_of(sizeof(RingMemory)) || is_of(64 * sizeof(SendRecord)) ||
         is_of(sizeof(PeerMemory));
}

Block& behind(Block& block) {
  return *std::launder(reinterpret_cast<Block*>(
      reinterpret_cast<std::byte*>(&block) + block.units * Block::kUnit));
}

}  // namespace

std::span<const std::byte> pattern(std::size_t offset, std::size_t bytes) {
  static const std::vector<std::byte> all = make_pattern();
  return std::span(all).subspan(offset % kPatterns, bytes);
}

PeerMemory& new_process() {
  heap();
  void* memory = g_host_memory.take(sizeof(PeerMemory));
  if (memory == nullptr) {
    std::abort();
  }
  return *new (memory) PeerMemory;
}

Engine::Member member_of(int rank, PeerMemory& memory) {
  Engine::Member member;
  member.rank = rank;
  member.memory = &memory;
  member.address = reinterpret_cast<acp_ga_t>(&memory);
  member.process = ::getpid();
  member.probe_address = reinterpret_cast<std::uintptr_t>(&kProbe);
  member.probe_word = kProbe;
  return member;
}

/// Blocks follow each other without gaps, behind the root of the heap.
std::string clear_heap() {
  std::vector<Block*> left;
  std::uint32_t before = 0;
  auto* first = std::launder(reinterpret_cast<Block*>(
      heap() + sizeof(HeapRoot) + Block::kUnit - sizeof(Block)));
  const auto use_of = [](const Block& block) {
    return block.use.load(std::memory_order_relaxed);
  };
  for (Block* block = first; use_of(*block) != Block::Use::kEnd;
       block = &behind(*block)) {
    if (block->units == 0 || block->before != before) {
      return "the heap is broken";
    }
    before = block->units;
    if (use_of(*block) != Block::Use::kTaken &&
        use_of(*block) != Block::Use::kBuffer) {
      continue;
    }
    if (!is_engines(*block)) {
      return "a block of " + std::to_string(block->capacity()) +
             " bytes is lost";
    }
    left.push_back(block);
  }
  for (Block* block : left) {
    g_host_memory.give_back(block->bytes());
  }
  return {};
}

Buffers::~Buffers() {
  for (const auto& sizes : free_[0]) {
    std::ranges::for_each(sizes, [](std::byte* buffer) { std::free(buffer); });
  }
  for (const auto& sizes : free_[1]) {
    std::ranges::for_each(
        sizes, [](std::byte* buffer) { g_host_memory.give_back(buffer); });
  }
}

std::byte* Buffers::take(std::size_t bytes, bool is_in_library) {
  auto& free = free_[is_in_library ? 1 : 0][class_of(bytes)];
  if (!free.empty()) {
    std::byte* buffer = free.back();
    free.pop_back();
    return buffer;
  }
  const std::size_t room = std::size_t{1} << class_of(bytes);
  void* buffer = is_in_library ? g_host_memory.take(room) : std::malloc(room);
  if (buffer == nullptr) {
    std::abort();
  }
  return static_cast<std::byte*>(buffer);
}

void Buffers::give_back(std::byte* buffer,
                        std::size_t bytes,
                        bool is_in_library) {
  free_[is_in_library ? 1 : 0][class_of(bytes)].push_back(buffer);
}

}  // namespace hmpi::test

/// Stands for ACP's function, which logs an error without a job. Adds to the
/// word that the signal of Engine::wake() names. Relaxed, so that a wake orders
/// no memory that the engine has not ordered.
acp_handle_t acpx_post(const acpx_op_t* ops, size_t, acp_handle_t) {
  auto* bell = reinterpret_cast<std::atomic<std::uint64_t>*>(
      static_cast<std::uintptr_t>(ops->remote));
  bell->fetch_add(ops->operand, std::memory_order_relaxed);
  return ACP_HANDLE_NULL;
}
