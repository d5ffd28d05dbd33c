// The heap of library memory: a random model, alignment, growth, and blocks
// that come back from other threads, which stand for other processes here.
#include "hmpi/heap.h"

#include <sys/mman.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using hmpi::Block;
using hmpi::Heap;
using hmpi::HeapRoot;

namespace {

/// A heap of its own, in memory that the kernel has made.
class Room {
 public:
  explicit Room(std::size_t bytes)
      : bytes_(bytes),
        memory_(::mmap(nullptr,
                       bytes,
                       PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1,
                       0)) {
    REQUIRE(memory_ != MAP_FAILED);
    heap.open(memory_, bytes, 3);
  }

  ~Room() { ::munmap(memory_, bytes_); }

  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  HeapRoot& root() { return *static_cast<HeapRoot*>(memory_); }

  bool has(const void* at, std::size_t size) const {
    const auto* first = static_cast<const std::byte*>(memory_);
    const auto* begin = static_cast<const std::byte*>(at);
    return begin >= first && begin + size <= first + bytes_;
  }

  Heap heap;

 private:
  std::size_t bytes_;
  void* memory_;
};

void* take(Room& room, std::size_t bytes, std::size_t alignment = 64) {
  return room.heap.take(bytes, alignment, Block::Use::kTaken);
}

void give_back(Room& room, void* bytes) {
  Block* block = Block::at(bytes);
  REQUIRE(block != nullptr);
  room.heap.give_back(*block);
}

/// A block that the test has, filled with a byte of its own.
struct Taken {
  std::byte* bytes;
  std::size_t size;
  unsigned char fill;
};

bool is_filled(const Taken& taken) {
  for (std::size_t i = 0; i < taken.size; ++i) {
    if (taken.bytes[i] != std::byte{taken.fill}) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("heap: a random program keeps its bytes, and leaves one piece") {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  Room room(kBytes);
  std::mt19937_64 random(20261129);
  std::vector<Taken> taken;
  std::size_t refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    const bool takes = taken.empty() || random() % 100 < 52;
    if (takes) {
      const std::size_t size = random() % (std::size_t{1} << (random() % 19));
      const std::size_t alignment = std::size_t{1} << (random() % 14);
      auto* bytes = static_cast<std::byte*>(take(room, size, alignment));
      if (bytes == nullptr) {
        ++refused;
      } else {
        REQUIRE(room.has(bytes, size));
        REQUIRE(reinterpret_cast<std::uintptr_t>(bytes) % alignment == 0);
        REQUIRE(reinterpret_cast<std::uintptr_t>(bytes) % 64 == 0);
        const auto fill = static_cast<unsigned char>(random());
        std::memset(bytes, fill, size);
        taken.push_back({bytes, size, fill});
      }
    }
    if (!takes || (refused != 0 && random() % 50 == 0)) {
      if (taken.empty()) {
        continue;
      }
      std::swap(taken[random() % taken.size()], taken.back());
      Taken& one = taken.back();
      REQUIRE(is_filled(one));
      const std::size_t more = one.size + random() % 5000;
      if (random() % 4 == 0 && room.heap.grow(*Block::at(one.bytes), more)) {
        REQUIRE(Block::at(one.bytes)->capacity() >= more);
        std::memset(one.bytes, one.fill, more);
        one.size = more;
        continue;
      }
      if (random() % 8 == 0) {
        HeapRoot& root = room.root();
        Heap::return_to(root, *Block::at(one.bytes), 0);
      } else {
        give_back(room, one.bytes);
      }
      taken.pop_back();
    }
  }
  CHECK(refused > 100);
  for (const Taken& one : taken) {
    REQUIRE(is_filled(one));
    give_back(room, one.bytes);
  }
  void* any = take(room, 1);  // This takes what has been returned.
  give_back(room, any);
  CHECK(room.heap.taken() == 0);
  CHECK(take(room, kBytes - 512) != nullptr);
}

TEST_CASE("heap: what is not the begin of a block is told") {
  Room room(std::size_t{1} << 20);
  auto* bytes = static_cast<std::byte*>(take(room, 1000));
  REQUIRE(bytes != nullptr);
  std::memset(bytes, 0xAB, 1000);
  CHECK(Block::at(bytes) != nullptr);
  for (int i = 1; i < 900; ++i) {
    CHECK(Block::at(bytes + i) == nullptr);
  }
  give_back(room, bytes);
  CHECK(Block::at(bytes) == nullptr);
}

TEST_CASE("heap: a large block's pages go back, and are zero next time") {
  constexpr std::size_t kBytes = std::size_t{40} << 20;
  Room room(std::size_t{64} << 20);
  auto* bytes = static_cast<std::byte*>(take(room, kBytes));
  REQUIRE(bytes != nullptr);
  std::memset(bytes, 1, kBytes);
  give_back(room, bytes);
  std::vector<unsigned char> resident(kBytes / 4096 - 2);
  auto* page = reinterpret_cast<void*>(
      (reinterpret_cast<std::uintptr_t>(bytes) + 4095) & ~std::uintptr_t{4095});
  REQUIRE(::mincore(page, resident.size() * 4096, resident.data()) == 0);
  CHECK(std::count(resident.begin(), resident.end(), 0) ==
        static_cast<std::ptrdiff_t>(resident.size()));
}

TEST_CASE("heap: sizes and alignments that do not exist are refused") {
  Room room(std::size_t{1} << 20);
  CHECK(take(room, SIZE_MAX) == nullptr);
  CHECK(take(room, SIZE_MAX / 2) == nullptr);
  CHECK(take(room, std::size_t{1} << 20) == nullptr);
  CHECK(take(room, 64, std::size_t{1} << 40) == nullptr);
  void* block = take(room, 64, std::size_t{1} << 16);
  REQUIRE(block != nullptr);
  CHECK_FALSE(room.heap.grow(*Block::at(block), SIZE_MAX));
}

TEST_CASE("heap: threads take, and others give back") {
  constexpr int kThreads = 4;
  constexpr int kTurns = 50'000;
  Room room(std::size_t{8} << 20);
  std::vector<std::atomic<std::byte*>> places(64);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      std::minstd_rand random(static_cast<unsigned>(number) + 1);
      for (int i = 0; i < kTurns; ++i) {
        const std::size_t size = 16 + random() % 4000;
        auto* mine = static_cast<std::byte*>(take(room, size));
        if (mine != nullptr) {
          std::memcpy(mine, &size, sizeof size);
          std::memset(mine + sizeof size, static_cast<int>(size & 0xFF),
                      size - sizeof size);
        }
        std::byte* other = places[random() % places.size()].exchange(mine);
        if (other == nullptr) {
          continue;
        }
        std::size_t its = 0;
        std::memcpy(&its, other, sizeof its);
        if (its > 4016 || other[its - 1] != static_cast<std::byte>(its)) {
          ++wrong;
        }
        if (number % 2 == 0) {
          Heap::return_to(room.root(), *Block::at(other), 0);
        } else {
          room.heap.give_back(*Block::at(other));
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
  for (auto& place : places) {
    if (std::byte* left = place.load(); left != nullptr) {
      give_back(room, left);
    }
  }
  give_back(room, take(room, 1));
  CHECK(room.heap.taken() == 0);
  CHECK(take(room, (std::size_t{8} << 20) - 512) != nullptr);
}
