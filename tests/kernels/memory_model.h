// Atomic memory as C++20 defines it, by views. docs/kernels.md has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "explore/happens_before.h"
#include "kernels/view.h"

namespace kernels {

using Thread = std::size_t;

/// A memory order, as compilers pass it to a function.
enum class Order : int {
  kRelaxed = __ATOMIC_RELAXED,
  kConsume = __ATOMIC_CONSUME,
  kAcquire = __ATOMIC_ACQUIRE,
  kRelease = __ATOMIC_RELEASE,
  kAcqRel = __ATOMIC_ACQ_REL,
  kSeqCst = __ATOMIC_SEQ_CST,
};

/// The stores of a schedule, and the view of each thread. Used by one thread of
/// the process. Each function is a part of one step: begin_step() comes before,
/// and end_step() after.
///
/// The bytes of a location hold its newest store, so code outside of a schedule
/// reads it as always.
class MemoryModel {
 public:
  struct Store {
    Stamp stamp = 0;
    std::uint64_t value = 0;
    std::uint64_t number = 0;  ///< Stores of the location before it, in time.
    View view;                 ///< An acquiring reader joins it.
    bool follows_closely = false;  ///< No store comes between it and the last.
  };

  /// Forgets everything.
  void clear(std::size_t threads);

  /// Puts back the values that the locations had when they were first accessed.
  void restore() const;

  void begin_step(Thread thread);
  void end_step();

  /// The number of the location at an address. The first access finds the
  /// value in memory.
  std::size_t find(std::uintptr_t address, std::size_t size);

  /// A plain store is about to write these bytes. Locations there take it for a
  /// relaxed store.
  void plain_store(Thread thread, std::uintptr_t address, std::size_t size);

  /// How many stores the thread may read: the newest, the one before, ...
  std::size_t readable(Thread thread, std::size_t location, Order order) const;

  /// A store, counted from the newest.
  const Store& store_at(std::size_t location, std::size_t age) const;

  /// Reads a store of that age.
  std::uint64_t load(Thread thread,
                     std::size_t location,
                     std::size_t age,
                     Order order);

  /// How many places a store may take: behind all others, behind all but the
  /// newest, ...
  std::size_t places(Thread thread, std::size_t location, Order order) const;

  void store(Thread thread,
             std::size_t location,
             std::size_t place,
             std::uint64_t value,
             Order order);

  /// Reads the newest store and replaces it. Returns the value read.
  std::uint64_t exchange(Thread thread,
                         std::size_t location,
                         std::uint64_t value,
                         Order order);

  void fence(Thread thread, Order order);

  /// A mutex, or a call of the kernel that synchronises: the thread acquires
  /// the views that other threads released at this address.
  void acquire(Thread thread, std::uintptr_t address);
  void release(Thread thread, std::uintptr_t address);

  /// The step depends on all earlier steps that have called it for the address.
  void depend(std::uintptr_t address);

  /// The kernel makes a fence in all threads.
  void fence_all();

  const View& view(Thread thread) const { return threads_[thread].now; }

  /// Equal for two schedules that lead to one state.
  std::uint64_t signature() const { return steps_.signature(); }

  /// Whether another thread has accessed these bytes by an atomic, and that did
  /// not happen before: a plain access of this thread would be a race.
  bool has_atomic_race(Thread thread,
                       std::uintptr_t address,
                       std::size_t size,
                       bool is_store) const;

 private:
  struct Location {
    std::uintptr_t address = 0;
    std::size_t size = 0;
    std::vector<Store> stores;  ///< By stamp.
    Stamp ordered = 0;  ///< The newest store that a seq_cst operation touched.
    bool has_plain_store = false;  ///< The newest store's value is in memory.
    std::array<std::uint32_t, kMostThreads> loads{};  ///< Clocks of the last
    std::array<std::uint32_t, kMostThreads>
        stores_by{};  ///< access, by thread.
  };

  struct Views {
    View now;       ///< Orders the thread's accesses.
    View acquired;  ///< Is added by an acquire fence.
    View released;  ///< Is carried by relaxed stores.
  };

  void take_plain_store(Location& location);
  void insert(Thread thread,
              std::size_t location,
              std::size_t index,
              std::uint64_t value,
              View view);
  View passed_on(Thread thread, Order order) const;
  void take(Thread thread,
            std::size_t location,
            const Store& from,
            Order order);
  void touch_order(std::size_t location, Order order);
  void join_order(Views& views);

  std::vector<Views> threads_;
  Thread stepping_ = 0;
  std::vector<Location> locations_;
  std::unordered_map<std::uintptr_t, std::size_t> numbers_;  ///< By address.
  std::unordered_map<std::uintptr_t, View> released_at_;
  View ordered_;  ///< Joined by seq_cst fences.
  explore::HappensBefore steps_;
};

/// Reads and writes the bytes of a location.
std::uint64_t read_memory(std::uintptr_t address, std::size_t size);
void write_memory(std::uintptr_t address,
                  std::size_t size,
                  std::uint64_t value);

}  // namespace kernels
