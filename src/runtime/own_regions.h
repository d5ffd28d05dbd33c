// The regions of this rank, for acp_register_memory and acp_unregister_memory:
// enters memory into the key table, and tells the transports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/memory_map.h"
#include "gma/engine.h"
#include "gma/waiting.h"
#include "gmm/address_space.h"
#include "gmm/key_table.h"
#include "runtime/counters.h"
#include "runtime/transport_set.h"
#include "status/result.h"

namespace acp::runtime {

/// Thread-safe.
class OwnRegions {
 public:
  /// The arguments must outlive this.
  OwnRegions(gmm::KeyTable& keys,
             gma::Engine& engine,
             TransportSet& transports,
             gma::WaitHost& wait_host,
             std::uint32_t max_regions);

  /// From now on `counters` gets the bytes of each region. Before the first
  /// one.
  void count_by(Counters& counters) noexcept { counters_ = &counters; }

  /// Tells the transports of starter and module memory, which have keys of
  /// their own. At the start, and again after forget_all().
  void add_library_memory();

  /// The region's key. kInvalidArgument, kBadColor, kTooLarge, kNoKeys: see
  /// acp_register_memory; logged at this level.
  Result<gmm::GlobalAddress> add(void* address,
                                 std::size_t size,
                                 int color,
                                 LogLevel level);

  /// Returns when no thread and no device accesses the region any more. Errors
  /// are logged.
  [[nodiscard]] Status remove(gmm::GlobalAddress atkey);

  /// Like remove(), without waiting. False: accesses are under way; poll, then
  /// call again.
  [[nodiscard]] Result<bool> try_remove(gmm::GlobalAddress atkey);

  /// acp_reset: all keys end. No rank has anything under way.
  void forget_all();

 private:
  /// A region whose key has ended, as the transports know it.
  struct Ended {
    gmm::GlobalAddress atkey;
    std::uint32_t index;
    std::uint64_t state;
  };

  void note_region(std::uint64_t bytes, std::int64_t sign) noexcept {
    if (counters_ != nullptr) {
      counters_->note_region(sign * static_cast<std::int64_t>(bytes));
    }
  }

  /// `call` is the function of the program, for the log.
  Result<Ended> end_key(gmm::GlobalAddress atkey, std::string_view call);
  bool is_released(const Ended& region);

  const char* advise_on(const void* address) const;
  Status check(void* address, std::size_t size, int color, LogLevel level);

  const gmm::AddressSpace& space() const noexcept { return engine_.space(); }

  std::uint32_t max_regions_;  ///< Named in a line of the log.
  gmm::KeyTable& keys_;
  gma::Engine& engine_;
  TransportSet& transports_;
  gma::WaitHost& wait_host_;
  Counters* counters_ = nullptr;  ///< Null: this rank counts nothing.
  MemoryMap memory_map_;
  std::mutex mutex_;  ///< Guards ending_.
  /// Regions that try_remove() has not finished with.
  std::vector<Ended> ending_;
};

}  // namespace acp::runtime
