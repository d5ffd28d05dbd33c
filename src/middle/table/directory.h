// Where the shares of a set or map are, as this thread knows it.
#pragma once

#include <cstdint>
#include <vector>

#include "middle/structure/control.h"
#include "middle/table/layout.h"

namespace acp::middle::table {

/// Plain value. The uid says whether it is still right: each bucket has it.
struct Directory {
  acp_ga_t handle = ACP_GA_NULL;
  structure::Kind kind{};
  std::uint64_t life = 0;  ///< Of the process; see Site.
  std::uint32_t uid = 0;
  std::uint64_t buckets = 0;  ///< Of each share.
  std::vector<acp_ga_t> shares;

  acp_ga_t bucket(std::size_t share, std::uint64_t index) const {
    return shares[share] + kShareHeaderBytes + index * kBucketBytes;
  }

  /// Of a rank; shares.size() when it has none.
  std::size_t share_of(int rank) const;
};

/// Fields of the control.
inline constexpr std::size_t kDirectoryField = 0;  ///< Address of addresses.
inline constexpr std::size_t kUidField = 1;
inline constexpr std::size_t kSharesField = 2;  ///< How many.
inline constexpr std::size_t kBucketsField = 3;

/// The thread's; asks the control when it does not know the table. Valid until
/// the thread's next call here. Null: destroyed (reported), end of the job.
const Directory* find_directory(const structure::Call& call);

/// Asks the control again: a bucket has another uid. Waits a little, since a
/// swap may be under way. Null as find_directory().
const Directory* renew_directory(const structure::Call& call,
                                 unsigned& attempts);

/// Reads what the control says.
bool read_directory(const structure::Call& call,
                    structure::Scratch& scratch,
                    const structure::View& view,
                    Directory& directory);

}  // namespace acp::middle::table
