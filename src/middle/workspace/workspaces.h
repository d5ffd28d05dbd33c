// The workspaces of this process. docs/containers.md, "Workspace", describes
// how they are distributed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "acp/workspace.h"
#include "middle/structure/site.h"

namespace acp::middle::workspace {

/// How a workspace is distributed: the rank of its first part, and the parts'
/// size. Plain value.
struct Distribution {
  std::size_t start = 0;
  std::size_t part_bytes = 0;  ///< 0: equal parts for all ranks.
};

/// Why this rank cannot take part in a collective call. Plain value.
struct Refusal {
  int code = 0;  ///< Value for acp_errno; 0: it can.
  std::string text;
};

enum class Way : std::uint8_t { kRead, kWrite };

/// create() and destroy() are collective, so one thread at a time calls them.
/// All threads may call the others. After acp_reset the workspaces of the
/// former life are gone, because `life` does not fit any more.
class Workspaces {
 public:
  acp_wsd_t create(structure::Site& site, std::size_t size);
  void destroy(structure::Site& site, acp_wsd_t wsd);
  /// Reads or writes a range. True: done.
  bool copy(structure::Site& site,
            Way way,
            acp_wsd_t wsd,
            acp_ga_t ga,
            std::size_t size,
            std::size_t offset);
  bool set_parameters(structure::Site& site, Distribution distribution);

 private:
  /// One workspace. create() stores `life` last, so readers see the other
  /// members whole.
  struct Item {
    std::atomic<std::uint64_t> life{0};  ///< 0: none.
    std::uint32_t generation = 0;
    std::size_t size = 0;
    Distribution where{};
    /// Addresses of the ranks' parts; ACP_GA_NULL until one is needed. Filled
    /// by any thread that reads the rank's entry; all read the same value.
    std::unique_ptr<std::atomic<acp_ga_t>[]> bases;
  };

  std::size_t find_free(std::uint64_t life) const;
  Distribution distribution_of(structure::Site& site, std::size_t size);
  Refusal take_parts(structure::Site& site,
                     std::size_t index,
                     std::size_t size,
                     const Distribution& where,
                     acp_ga_t& base);
  Item* find(structure::Site& site, const char* function, acp_wsd_t wsd);
  static acp_ga_t entry_of(structure::Site& site, int rank, std::size_t index);
  acp_ga_t base_of(structure::Site& site, Item& item, std::size_t rank);
  bool copy_parts(structure::Site& site,
                  Way way,
                  Item& item,
                  acp_ga_t ga,
                  std::size_t size,
                  std::size_t offset);

  std::array<Item, structure::kWorkspaces> items_;
  std::mutex mutex_;  ///< Guards parameters_ and their life.
  Distribution parameters_{};
  std::uint64_t parameters_life_ = 0;
};

/// The process's.
Workspaces& workspaces();

}  // namespace acp::middle::workspace
