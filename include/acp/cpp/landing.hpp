// Inside acp.hpp: the landing, by which values pass between variables and
// global memory, blocks of the heap, and the epoch of owners.
#ifndef ACP_CPP_LANDING_HPP
#define ACP_CPP_LANDING_HPP

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "acp/cpp/error.hpp"

namespace acp {
inline namespace face {
namespace detail {

/// Number of this life of the process; job::reset() and the end of the job
/// begin the next. Objects of an earlier one are dead, and a new object may
/// have their number, so their owners leave them alone.
inline std::atomic<unsigned> g_epoch{1};

/// Whether an object of this epoch can still be freed.
inline bool is_current(unsigned epoch) noexcept {
  return epoch == g_epoch.load(std::memory_order_relaxed);
}

/// A block of a rank's heap. Move-only.
class heap_block {
 public:
  heap_block() = default;

  heap_block(std::size_t bytes, int rank)
      : ga_(acp_malloc(bytes, rank)),
        epoch_(g_epoch.load(std::memory_order_relaxed)) {
    if (ga_ == ACP_GA_NULL) {
      fail("acp_malloc");
    }
  }

  heap_block(heap_block&& other) noexcept
      : ga_(std::exchange(other.ga_, ACP_GA_NULL)), epoch_(other.epoch_) {}

  heap_block& operator=(heap_block&& other) noexcept {
    std::swap(ga_, other.ga_);
    std::swap(epoch_, other.epoch_);
    return *this;
  }

  ~heap_block() {
    if (is_alive()) {
      acp_free(ga_);
    }
  }

  acp_ga_t ga() const noexcept { return ga_; }

  /// The block is not freed.
  void abandon() noexcept { ga_ = ACP_GA_NULL; }

  bool is_alive() const noexcept {
    return ga_ != ACP_GA_NULL && is_current(epoch_);
  }

 private:
  acp_ga_t ga_ = ACP_GA_NULL;
  unsigned epoch_ = 0;
};

/// Values of one call: a key and a value, or several elements.
inline constexpr std::size_t kValueBytes = 2048;

/// Memory of this rank for the values of the thread's calls that wait: two
/// places, and behind them a word for old values that no caller reads. Null
/// before the first use, and after the end of the job or a reset.
struct landing {
  std::byte* memory;
  acp_ga_t ga;
  acp_ga_t dropped;

  static constexpr std::size_t kSecond = kValueBytes;
  static constexpr std::size_t kDropped = 2 * kValueBytes;
  static constexpr std::size_t kBytes = kDropped + 64;

  acp_ga_t second() const { return ga + kSecond; }
};

// No constructor and no destructor: each use is a plain access.
inline thread_local constinit landing t_landing{};

/// The landings of all threads, so that the end of the job finds them.
struct landing_list {
  std::mutex mutex;
  std::vector<landing*> all;  ///< Guarded by the mutex.
};

inline landing_list g_landings;

/// Frees a landing that is in the list.
inline void free_landing(landing& one) noexcept {
  if (one.ga != ACP_GA_NULL) {
    acp_free(one.ga);
  }
  one = {};
}

/// Frees all. One thread, before the end of the job or a reset, while no other
/// is inside of ACP.
inline void free_landings() noexcept {
  const std::lock_guard lock(g_landings.mutex);
  for (landing* one : g_landings.all) {
    free_landing(*one);
  }
}

/// Lists the thread's landing until the end of the thread.
class landing_entry {
 public:
  landing_entry() : mine_(&t_landing) {
    const std::lock_guard lock(g_landings.mutex);
    g_landings.all.push_back(mine_);
  }

  landing_entry(const landing_entry&) = delete;
  landing_entry& operator=(const landing_entry&) = delete;

  ~landing_entry() {
    const std::lock_guard lock(g_landings.mutex);
    std::erase(g_landings.all, mine_);
    // The main thread ends behind the job, which has freed its landing.
    if (::gettid() != ::getpid()) {
      free_landing(*mine_);
    }
  }

 private:
  landing* mine_;
};

[[gnu::cold, gnu::noinline]] inline void make_landing() {
  static thread_local const landing_entry entry;
  const acp_ga_t ga = acp_malloc(landing::kBytes, acp_rank());
  if (ga == ACP_GA_NULL) {
    fail("acp_malloc");
  }
  t_landing = {static_cast<std::byte*>(acp_query_address(ga)), ga,
               ga + landing::kDropped};
}

/// The thread's landing.
inline const landing& land() {
  if (t_landing.ga == ACP_GA_NULL) [[unlikely]] {
    make_landing();
  }
  return t_landing;
}

template <typename T>
constexpr void check_value() {
  check_element<T>();
  static_assert(sizeof(T) <= kValueBytes,
                "a value that is passed by itself has 2,048 bytes at most: "
                "copy larger ones between registered or allocated memory");
}

/// Puts a value into a place of the landing.
template <typename T>
void store(const landing& at, std::size_t offset, const T& value) {
  std::memcpy(at.memory + offset, std::addressof(value), sizeof(T));
}

/// The value in a place of the landing. The library has written its bytes.
template <typename T>
T load(const std::byte* memory) {
  return *reinterpret_cast<const T*>(memory);
}

}  // namespace detail
}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_LANDING_HPP
