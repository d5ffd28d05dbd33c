// The rules of docs/kernels.md, "Memory". Called by Run alone. May not choose:
// its caller says which store is read, and where a store goes.
#include "kernels/memory_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kernels {

namespace {

constexpr Stamp kGap = Stamp{1} << 32;

bool acquires(Order order) {
  return order == Order::kAcquire || order == Order::kConsume ||
         order == Order::kAcqRel || order == Order::kSeqCst;
}

bool releases(Order order) {
  return order == Order::kRelease || order == Order::kAcqRel ||
         order == Order::kSeqCst;
}

/// Words of HappensBefore. A step that depends on another one accesses a word
/// that the other one has written, or the other way round.
enum class Word : std::uint64_t { kStore, kLast, kOrdered, kFence, kSync };

std::uint64_t word(Word kind, std::uint64_t object, std::uint64_t number = 0) {
  return static_cast<std::uint64_t>(kind) << 60 | ((object << 12) + number);
}

}  // namespace

std::uint64_t read_memory(std::uintptr_t address, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), size);
  return value;
}

void write_memory(std::uintptr_t address,
                  std::size_t size,
                  std::uint64_t value) {
  std::memcpy(reinterpret_cast<void*>(address), &value, size);
}

void MemoryModel::clear(std::size_t threads) {
  threads_.assign(threads, Views{});
  for (Thread thread = 0; thread < threads; ++thread) {
    threads_[thread].now.clock[thread] = 1;
  }
  locations_.clear();
  numbers_.clear();
  released_at_.clear();
  ordered_ = {};
  steps_.clear();
}

void MemoryModel::restore() const {
  for (const Location& location : locations_) {
    for (const Store& store : location.stores) {
      if (store.number == 0) {
        write_memory(location.address, location.size, store.value);
      }
    }
  }
}

void MemoryModel::begin_step(Thread thread) {
  stepping_ = thread;
  steps_.begin(static_cast<std::uint32_t>(thread));
}

/// The clock of a thread counts its steps. Plain accesses after a step are not
/// covered by the view that the step has released.
void MemoryModel::end_step() {
  steps_.end();
  ++threads_[stepping_].now.clock[stepping_];
}

/// Code that was compiled without instrumentation must not write atomics within
/// a schedule: the model would not know of the store.
std::size_t MemoryModel::find(std::uintptr_t address, std::size_t size) {
  const auto [at, is_new] = numbers_.emplace(address, locations_.size());
  if (is_new) {
    Location& location = locations_.emplace_back();
    location.address = address;
    location.size = size;
    location.stores.push_back({kGap, read_memory(address, size), 0, {}, false});
    return at->second;
  }
  Location& location = locations_[at->second];
  if (location.size != size) {
    std::fprintf(stderr,
                 "kernels: a location of %zu bytes is accessed as %zu bytes\n",
                 location.size, size);
    std::abort();
  }
  if (location.has_plain_store) {
    take_plain_store(location);
  } else if (location.stores.back().value != read_memory(address, size)) {
    std::fputs("kernels: code without instrumentation has written an atomic\n",
               stderr);
    std::abort();
  }
  return at->second;
}

void MemoryModel::take_plain_store(Location& location) {
  location.has_plain_store = false;
  location.stores.back().value = read_memory(location.address, location.size);
}

void MemoryModel::plain_store(Thread thread,
                              std::uintptr_t address,
                              std::size_t size) {
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    Location& location = locations_[i];
    if (location.address >= address + size ||
        address >= location.address + location.size) {
      continue;
    }
    if (location.has_plain_store) {
      take_plain_store(location);
    }
    insert(thread, i, location.stores.size(), 0,
           passed_on(thread, Order::kRelaxed));
    location.has_plain_store = true;
  }
}

std::size_t MemoryModel::readable(Thread thread,
                                  std::size_t location,
                                  Order order) const {
  const Location& at = locations_[location];
  Stamp oldest = threads_[thread].now.oldest(location);
  if (order == Order::kSeqCst) {
    oldest = std::max(oldest, at.ordered);
  }
  std::size_t count = 1;
  while (count < at.stores.size() &&
         at.stores[at.stores.size() - count].stamp > oldest) {
    ++count;
  }
  return count;
}

const MemoryModel::Store& MemoryModel::store_at(std::size_t location,
                                                std::size_t age) const {
  const std::vector<Store>& stores = locations_[location].stores;
  return stores[stores.size() - 1 - age];
}

/// The thread has read `from`.
void MemoryModel::take(Thread thread,
                       std::size_t location,
                       const Store& from,
                       Order order) {
  Views& views = threads_[thread];
  views.now.see(location, from.stamp);
  views.acquired.see(location, from.stamp);
  views.acquired.join(from.view);
  if (acquires(order)) {
    views.now.join(from.view);
  }
  steps_.read(word(Word::kStore, location, from.number));
}

/// No seq_cst operation reads a store older than one that an earlier seq_cst
/// operation has touched.
void MemoryModel::touch_order(std::size_t location, Order order) {
  if (order == Order::kSeqCst) {
    steps_.read(word(Word::kFence, 0));
    steps_.write(word(Word::kOrdered, location));
  }
}

std::uint64_t MemoryModel::load(Thread thread,
                                std::size_t location,
                                std::size_t age,
                                Order order) {
  Location& at = locations_[location];
  const Store& from = store_at(location, age);
  take(thread, location, from, order);
  touch_order(location, order);
  if (order == Order::kSeqCst) {
    at.ordered = std::max(at.ordered, from.stamp);
    ordered_.see(location, from.stamp);
  }
  at.loads[thread] = threads_[thread].now.clock[thread];
  return from.value;
}

/// A store may go behind any store that the thread knows of and that no
/// exchange has replaced.
std::size_t MemoryModel::places(Thread thread,
                                std::size_t location,
                                Order order) const {
  const Location& at = locations_[location];
  if (at.has_plain_store) {
    return 1;
  }
  const std::size_t count = readable(thread, location, order);
  std::size_t places = 1;
  while (places < count &&
         !at.stores[at.stores.size() - places].follows_closely) {
    ++places;
  }
  return places;
}

/// The view that an acquiring reader of the store joins.
View MemoryModel::passed_on(Thread thread, Order order) const {
  const Views& views = threads_[thread];
  return releases(order) ? views.now : views.released;
}

/// Puts a store in front of the one with this index. Memory keeps the newest.
void MemoryModel::insert(Thread thread,
                         std::size_t location,
                         std::size_t index,
                         std::uint64_t value,
                         View view) {
  Location& at = locations_[location];
  const Stamp before = at.stores[index - 1].stamp;
  const bool is_newest = index == at.stores.size();
  Store made;
  made.stamp = is_newest ? before + kGap
                         : before + (at.stores[index].stamp - before) / 2;
  made.value = value;
  made.number = at.stores.size();
  view.see(location, made.stamp);
  made.view = std::move(view);
  threads_[thread].now.see(location, made.stamp);
  threads_[thread].acquired.see(location, made.stamp);
  steps_.read(word(Word::kStore, location, at.stores[index - 1].number));
  steps_.write(word(Word::kLast, location));
  steps_.write(word(Word::kStore, location, made.number));
  at.stores_by[thread] = threads_[thread].now.clock[thread];
  at.stores.insert(at.stores.begin() + static_cast<std::ptrdiff_t>(index),
                   std::move(made));
}

void MemoryModel::store(Thread thread,
                        std::size_t location,
                        std::size_t place,
                        std::uint64_t value,
                        Order order) {
  Location& at = locations_[location];
  const std::size_t index = at.stores.size() - place;
  touch_order(location, order);
  insert(thread, location, index, value, passed_on(thread, order));
  if (order == Order::kSeqCst) {
    at.ordered = std::max(at.ordered, at.stores[index].stamp);
    ordered_.see(location, at.stores[index].stamp);
  }
  if (place == 0) {
    write_memory(at.address, at.size, value);
  }
}

/// The new store carries the view of the replaced one: a release sequence goes
/// on over exchanges.
std::uint64_t MemoryModel::exchange(Thread thread,
                                    std::size_t location,
                                    std::uint64_t value,
                                    Order order) {
  Location& at = locations_[location];
  const Store from = at.stores.back();
  take(thread, location, from, order);
  touch_order(location, order);
  View view = passed_on(thread, order);
  view.join(from.view);
  insert(thread, location, at.stores.size(), value, std::move(view));
  at.stores.back().follows_closely = true;
  if (order == Order::kSeqCst) {
    at.ordered = at.stores.back().stamp;
    ordered_.see(location, at.ordered);
  }
  at.loads[thread] = threads_[thread].now.clock[thread];
  write_memory(at.address, at.size, value);
  return from.value;
}

/// A seq_cst fence sees the stores that earlier fences saw, and the stores that
/// earlier seq_cst operations touched. That alone lets nothing happen before.
void MemoryModel::join_order(Views& views) {
  ordered_.see_all(views.now);
  views.now.see_all(ordered_);
  views.acquired.see_all(ordered_);
  views.released = views.now;
}

void MemoryModel::fence(Thread thread, Order order) {
  Views& views = threads_[thread];
  if (acquires(order)) {
    views.now.join(views.acquired);
  }
  if (releases(order)) {
    views.released = views.now;
  }
  if (order == Order::kSeqCst) {
    steps_.write(word(Word::kFence, 0));
    join_order(views);
  }
}

/// All operations of all threads before it are ordered before all after it.
void MemoryModel::fence_all() {
  steps_.write(word(Word::kFence, 0));
  for (int round = 0; round < 2; ++round) {
    for (Views& views : threads_) {
      views.now.join(views.acquired);
      join_order(views);
    }
  }
}

void MemoryModel::acquire(Thread thread, std::uintptr_t address) {
  Views& views = threads_[thread];
  views.now.join(released_at_[address]);
  views.acquired.join(views.now);
  depend(address);
}

void MemoryModel::release(Thread thread, std::uintptr_t address) {
  released_at_[address].join(threads_[thread].now);
  depend(address);
}

void MemoryModel::depend(std::uintptr_t address) {
  steps_.write(word(Word::kSync, address));
}

bool MemoryModel::has_atomic_race(Thread thread,
                                  std::uintptr_t address,
                                  std::size_t size,
                                  bool is_store) const {
  const View& known = threads_[thread].now;
  for (const Location& location : locations_) {
    if (location.address >= address + size ||
        address >= location.address + location.size) {
      continue;
    }
    for (std::size_t other = 0; other < threads_.size(); ++other) {
      if (other != thread &&
          (location.stores_by[other] > known.clock[other] ||
           (is_store && location.loads[other] > known.clock[other]))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace kernels
