// Two-level segregated fit over library memory; see heap.h.
#include "hmpi/heap.h"

#include <bit>
#include <mutex>
#include <new>

#include "hmpi/pages.h"

namespace hmpi {

namespace {

constexpr std::uint32_t kStepBits = 4;
/// Blocks of a list that are compared with a size.
constexpr int kListLooks = 16;

/// Equal in all processes of a host, which map a page at different addresses
/// perhaps. Never 0, the check of a free block.
std::uint32_t check_of(const Block& block) noexcept {
  const std::uint64_t place =
      reinterpret_cast<std::uintptr_t>(&block) % kPageBytes / Block::kUnit;
  const std::uint64_t mixed =
      (std::uint64_t{block.units} << 32 | place << 16 | block.owner) *
      0x9E37'79B9'7F4A'7C15;
  return static_cast<std::uint32_t>(mixed >> 32) | 1;
}

std::uint64_t address_of(const void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at);
}

bool is_free(const Block& block) noexcept {
  return block.use.load(std::memory_order_relaxed) == Block::Use::kFree;
}

/// Gives the pages of a large block to the system. The block is nobody's.
void return_large(Block& block) noexcept {
  if (block.units * Block::kUnit >= kReturnedBytes) {
    (void)return_pages(whole_pages(block.bytes(), block.capacity()));
  }
}

}  // namespace

/// Stands in the bytes of a free block.
struct Heap::Links {
  Block* next;
  Block* last;  ///< null: the first of its list.
};

/// A header's place is fixed within its cache line, so most other pointers are
/// told by their address alone.
Block* Block::at(void* bytes) noexcept {
  if (address_of(bytes) % kUnit != 0) {
    return nullptr;
  }
  Block* block = static_cast<Block*>(bytes) - 1;
  return block->units != 0 && block->check == check_of(*block) ? block
                                                               : nullptr;
}

void Block::seal() noexcept {
  check = check_of(*this);
}

/// Lists of blocks below 16 units have one size. From there on each power of
/// two has 16 lists.
unsigned Heap::list_of(std::uint32_t units) noexcept {
  if (units < kSteps) {
    return units;
  }
  const auto power = static_cast<unsigned>(std::bit_width(units)) - 1;
  const unsigned step = (units >> (power - kStepBits)) - kSteps;
  return (power - kStepBits + 1) * kSteps + step;
}

/// The first list all of whose blocks have at least so many units.
unsigned Heap::list_from(std::uint32_t units) noexcept {
  if (units < kSteps) {
    return units;
  }
  const auto power = static_cast<unsigned>(std::bit_width(units)) - 1;
  const std::uint32_t step = std::uint32_t{1} << (power - kStepBits);
  return list_of(units + step - 1);
}

Block& Heap::behind(Block& block) noexcept {
  return *std::launder(reinterpret_cast<Block*>(
      reinterpret_cast<std::byte*>(&block) + block.units * Block::kUnit));
}

Heap::Links& Heap::links(Block& block) noexcept {
  return *std::launder(reinterpret_cast<Links*>(block.bytes()));
}

void Heap::insert(Block& block) noexcept {
  const unsigned list = list_of(block.units);
  block.use.store(Block::Use::kFree, std::memory_order_relaxed);
  block.check = 0;
  Block* first = lists_[list];
  new (block.bytes()) Links{first, nullptr};
  if (first != nullptr) {
    links(*first).last = &block;
  }
  lists_[list] = &block;
  powers_ |= 1U << (list / kSteps);
  steps_[list / kSteps] =
      static_cast<std::uint16_t>(steps_[list / kSteps] | 1U << (list % kSteps));
}

void Heap::remove(Block& block) noexcept {
  const unsigned list = list_of(block.units);
  const Links at = links(block);
  if (at.next != nullptr) {
    links(*at.next).last = at.last;
  }
  if (at.last != nullptr) {
    links(*at.last).next = at.next;
    return;
  }
  lists_[list] = at.next;
  if (at.next == nullptr) {
    auto& steps = steps_[list / kSteps];
    steps = static_cast<std::uint16_t>(steps & ~(1U << (list % kSteps)));
    if (steps == 0) {
      powers_ &= ~(1U << (list / kSteps));
    }
  }
}

/// A free block out of the first list whose blocks are all large enough, or
/// else one of a few blocks of the list that may have such a block.
Block* Heap::find(std::uint32_t units) noexcept {
  const unsigned list = list_from(units);
  unsigned power = list / kSteps;
  std::uint32_t steps = 0;
  if (power < kPowers) {
    steps = steps_[power] & ~((1U << (list % kSteps)) - 1);
    if (steps == 0) {
      const std::uint32_t powers = powers_ & ~((2U << power) - 1);
      if (powers != 0) {
        power = static_cast<unsigned>(std::countr_zero(powers));
        steps = steps_[power];
      }
    }
  }
  if (steps != 0) {
    return lists_[power * kSteps +
                  static_cast<unsigned>(std::countr_zero(steps))];
  }
  Block* block = lists_[list_of(units)];
  for (int i = 0; block != nullptr && block->units < units; ++i) {
    block = i < kListLooks ? links(*block).next : nullptr;
  }
  return block;
}

/// Divides a block that is in no list. The part behind `units` is free.
void Heap::divide(Block& block, std::uint32_t units) noexcept {
  if (block.units == units) {
    return;
  }
  Block& end = behind(block);
  const std::uint32_t rest = block.units - units;
  block.units = units;
  Block* part = new (&behind(block)) Block;
  part->units = rest;
  part->before = units;
  part->owner = owner_;
  end.before = rest;
  merge(*part);
}

/// Puts a block that is in no list into one, together with free neighbours.
void Heap::merge(Block& block) noexcept {
  Block* whole = &block;
  Block& next = behind(block);
  if (is_free(next)) {
    remove(next);
    whole->units += next.units;
  }
  if (block.before != 0) {
    Block& front = *std::launder(reinterpret_cast<Block*>(
        reinterpret_cast<std::byte*>(&block) - block.before * Block::kUnit));
    if (is_free(front)) {
      remove(front);
      front.units += whole->units;
      whole = &front;
    }
  }
  behind(*whole).before = whole->units;
  insert(*whole);
}

/// The last unit has the header that ends the heap. The first header lies
/// behind the root, in the cache line in front of its bytes.
void Heap::open(void* memory, std::size_t bytes, std::uint16_t owner) noexcept {
  owner_ = owner;
  root_ = new (memory) HeapRoot;
  auto* first =
      reinterpret_cast<Block*>(static_cast<std::byte*>(memory) +
                               sizeof(HeapRoot) + Block::kUnit - sizeof(Block));
  const std::size_t units = (bytes - sizeof(HeapRoot)) / Block::kUnit - 2;
  new (first) Block;
  first->units = static_cast<std::uint32_t>(
      units < (std::size_t{1} << 32) ? units : (std::size_t{1} << 32) - 1);
  first->owner = owner;
  Block* end = new (&behind(*first)) Block;
  end->before = first->units;
  end->use.store(Block::Use::kEnd, std::memory_order_relaxed);
  insert(*first);
}

/// A block with an alignment is taken out of one that has room for the worst
/// case. The part in front of it is free again.
void* Heap::take(std::size_t bytes,
                 std::size_t alignment,
                 Block::Use use) noexcept {
  if (bytes > (std::size_t{1} << 37) || alignment > (std::size_t{1} << 30)) {
    return nullptr;
  }
  const auto units = static_cast<std::uint32_t>(
      (bytes + sizeof(Block) + Block::kUnit - 1) / Block::kUnit);
  const auto spare = static_cast<std::uint32_t>(
      alignment <= Block::kUnit ? 0 : alignment / Block::kUnit - 1);
  const std::lock_guard lock(lock_);
  if (root_->returned.load(std::memory_order_relaxed) != 0) {
    take_returned();
  }
  Block* block = find(units + spare);
  if (block == nullptr) {
    return nullptr;
  }
  remove(*block);
  const auto front = static_cast<std::uint32_t>(
      (-address_of(block->bytes()) & (alignment - 1)) / Block::kUnit);
  // Else it would be merged with its parts.
  block->use.store(use, std::memory_order_relaxed);
  if (front != 0) {
    Block* whole = block;
    Block& end = behind(*whole);
    const std::uint32_t rest = whole->units - front;
    whole->units = front;
    block = new (&behind(*whole)) Block;
    block->units = rest;
    block->before = front;
    block->owner = owner_;
    block->use.store(use, std::memory_order_relaxed);
    end.before = rest;
    merge(*whole);
  }
  divide(*block, units);
  block->is_given = 0;
  block->seal();
  taken_units_.store(taken_units_.load(std::memory_order_relaxed) + units,
                     std::memory_order_relaxed);
  return block->bytes();
}

void Heap::give_back(Block& block) noexcept {
  if (on_return_ != nullptr) {
    on_return_(block.bytes(), block.capacity());
  }
  return_large(block);
  const std::lock_guard lock(lock_);
  taken_units_.store(taken_units_.load(std::memory_order_relaxed) - block.units,
                     std::memory_order_relaxed);
  merge(block);
}

/// The block behind has to be free, and large enough.
bool Heap::grow(Block& block, std::size_t bytes) noexcept {
  if (bytes > (std::size_t{1} << 37)) {
    return false;
  }
  const auto units = static_cast<std::uint32_t>(
      (bytes + sizeof(Block) + Block::kUnit - 1) / Block::kUnit);
  const std::lock_guard lock(lock_);
  Block& next = behind(block);
  if (!is_free(next) || block.units + next.units < units) {
    return false;
  }
  const std::uint32_t before = block.units;
  remove(next);
  block.units += next.units;
  behind(block).before = block.units;
  divide(block, units);
  block.seal();
  taken_units_.store(
      taken_units_.load(std::memory_order_relaxed) + units - before,
      std::memory_order_relaxed);
  return true;
}

/// Many processes push, and the owner takes all at once, so no process can meet
/// a block that was taken and pushed again in between.
void Heap::return_to(HeapRoot& root,
                     Block& block,
                     std::uint64_t shift) noexcept {
  const std::uint64_t there = address_of(block.bytes()) - shift;
  std::uint64_t last = root.returned.load(std::memory_order_relaxed);
  auto* next = reinterpret_cast<std::uint64_t*>(block.bytes());
  do {
    *next = last;
    // Release: the owner sees the link.
  } while (!root.returned.compare_exchange_weak(
      last, there, std::memory_order_release, std::memory_order_relaxed));
}

/// Under the lock. A list that another program's bytes stand in is left alone.
void Heap::take_returned() noexcept {
  std::uint64_t at = root_->returned.exchange(0, std::memory_order_acquire);
  while (at != 0) {
    auto* bytes =
        reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(at));
    Block* returned = Block::at(bytes);
    if (returned == nullptr) {
      return;
    }
    Block& block = *returned;
    if (on_return_ != nullptr) {
      on_return_(bytes, block.capacity());
    }
    at = *bytes;
    return_large(block);
    taken_units_.store(
        taken_units_.load(std::memory_order_relaxed) - block.units,
        std::memory_order_relaxed);
    merge(block);
  }
}

}  // namespace hmpi
