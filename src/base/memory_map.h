// Tells which addresses of this process can be read and written. It reads
// /proc/self/maps, so no page is touched.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace acp {

/// Thread-safe.
class MemoryMap {
 public:
  /// The reason why a range cannot be used; `text` is empty when it can.
  struct Obstacle {
    std::uintptr_t address = 0;
    std::string text;  ///< "is not mapped", "is mapped r--p".
  };

  /// Whether all of `size` bytes at `address` can be read and written. Reading
  /// the list costs 0.4 us for each mapping of the process. So a range inside
  /// mappings that an earlier call has seen counts as usable. Memory that has
  /// become read-only or unmapped since then is not noticed. Without /proc
  /// every range counts as usable.
  Obstacle find_obstacle(std::uintptr_t address, std::uint64_t size);

 private:
  struct Mapping {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::string permissions;
    bool is_usable;
  };

  bool read();
  void add(std::string_view line);
  Obstacle look(std::uintptr_t address, std::uintptr_t end) const;

  std::mutex mutex_;  ///< Guards mappings_, which read() makes anew.
  std::vector<Mapping>
      mappings_;  ///< By address; usable neighbours are joined.
};

}  // namespace acp
