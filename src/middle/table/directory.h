// Where the shares of a set or map are, as this thread knows it.
#pragma once

#include <cstdint>
#include <vector>

#include "middle/structure/control.h"
#include "middle/table/layout.h"

namespace acp::middle::table {

/// The shares and the uid of a table, as a thread knows them. They are right as
/// long as the buckets have this uid. Plain value.
struct Directory {
  acp_ga_t handle = ACP_GA_NULL;
  structure::Kind kind{};
  /// Life of the process in which it was read; see Site.
  std::uint64_t life = 0;
  std::uint32_t uid = 0;
  std::uint64_t buckets = 0;  ///< Buckets of each share.
  std::vector<acp_ga_t> shares;

  acp_ga_t bucket(std::size_t share, std::uint64_t index) const {
    return shares[share] + kShareHeaderBytes + index * kBucketBytes;
  }

  /// Number of a rank's share; shares.size() when the rank has none.
  std::size_t share_of(int rank) const;
};

/// Numbers of the control's fields.
/// Address of the shares' addresses.
inline constexpr std::size_t kDirectoryField = 0;
inline constexpr std::size_t kUidField = 1;
inline constexpr std::size_t kSharesField = 2;  ///< Number of shares.
inline constexpr std::size_t kBucketsField = 3;

/// Returns what this thread knows of the table, or reads the control first.
/// Valid until the thread's next call of this file. Null: the table was
/// destroyed (reported), or the job is ending.
const Directory* find_directory(const structure::Call& call);

/// Reads the control again, because a bucket has another uid. Waits a little
/// before, since a swap may be under way. Null: as find_directory().
const Directory* renew_directory(const structure::Call& call,
                                 unsigned& attempts);

/// Reads the shares' addresses that the control names.
bool read_directory(const structure::Call& call,
                    structure::Scratch& scratch,
                    const structure::View& view,
                    Directory& directory);

}  // namespace acp::middle::table
