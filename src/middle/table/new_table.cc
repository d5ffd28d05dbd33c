// The creation of a set or map: the memory of its shares, their empty buckets,
// the directory and the control, in this order. Called by table_api.h;
// whole_tables.cc takes new uids from it. No other rank may see an unfinished
// table. A creation that fails gives all its memory back.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "acp/malloc.h"
#include "middle/log.h"
#include "middle/structure/bytes.h"
#include "middle/table/directory.h"
#include "middle/table/whole_tables.h"

namespace acp::middle::table {

using structure::Call;
using structure::Chain;
using structure::Kind;
using structure::Scratch;

/// Mixes a counter, which starts at the time, with the rank. A uid that an old
/// directory knows does not come back in practice.
std::uint32_t new_uid(int rank) {
  static std::atomic<std::uint64_t> count{static_cast<std::uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch().count())};
  std::uint64_t mixed = (count.fetch_add(1, std::memory_order_relaxed) << 20) ^
                        static_cast<std::uint64_t>(rank);
  mixed = (mixed ^ mixed >> 30) * 0xbf58'476d'1ce4'e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d0'49bb'1331'11eb;
  const auto uid = static_cast<std::uint32_t>(mixed >> 32);
  return uid == 0 ? 1 : uid;
}

namespace {

/// Elements of a bucket, on average, when a table has as many as it was created
/// for. Few buckets then overflow.
constexpr std::uint64_t kElementsPerBucket = 2;

/// Buckets that one put formats. Larger shares are filled by copying these.
constexpr std::size_t kFormatted = structure::kScratchDataBytes / kBucketBytes;

/// Writes empty buckets: one put, then copies that double each time.
bool format_share(Scratch& scratch,
                  acp_ga_t share,
                  std::uint64_t buckets,
                  std::uint32_t uid) {
  auto* empty = reinterpret_cast<Bucket*>(scratch.data());
  const std::size_t first = std::min<std::uint64_t>(buckets, kFormatted);
  for (std::size_t i = 0; i < first; ++i) {
    empty[i] = Bucket{};
    empty[i].lock = locked_by(uid, 0);
  }
  scratch.clear();
  Chain chain(scratch);
  chain.put8(share, 0);
  const acp_ga_t at = share + kShareHeaderBytes;
  chain.put(at, scratch.data_ga(), first * kBucketBytes);
  if (!chain.run()) {
    return false;
  }
  for (std::uint64_t done = first; done < buckets;) {
    const std::uint64_t some = std::min(done, buckets - done);
    if (!structure::move_all(
            {{at + done * kBucketBytes, at, some * kBucketBytes}})) {
      return false;
    }
    done += some;
  }
  return true;
}

/// The shares of a table that is being created. They are freed unless they are
/// given away.
class Shares {
 public:
  ~Shares() {
    for (const acp_ga_t share : all_) {
      acp_free(share);
    }
  }

  Shares() = default;
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  [[nodiscard]] bool add(Scratch& scratch,
                         int rank,
                         std::uint64_t buckets,
                         std::uint32_t uid) {
    const acp_ga_t share =
        structure::allocate(kShareHeaderBytes + buckets * kBucketBytes, rank);
    if (share == ACP_GA_NULL) {
      return false;
    }
    all_.push_back(share);
    return format_share(scratch, share, buckets, uid);
  }

  /// Writes the shares' addresses to memory at `to`.
  [[nodiscard]] bool write(Scratch& scratch, acp_ga_t to) const {
    constexpr std::size_t kAtOnce = structure::kScratchDataBytes / 8;
    for (std::size_t i = 0; i < all_.size(); i += kAtOnce) {
      const std::size_t some = std::min(kAtOnce, all_.size() - i);
      std::copy_n(&all_[i], some, reinterpret_cast<acp_ga_t*>(scratch.data()));
      if (!structure::move_all({{to + i * 8, scratch.data_ga(), some * 8}})) {
        return false;
      }
    }
    return true;
  }

  void give() { all_.clear(); }

 private:
  std::vector<acp_ga_t> all_;
};

/// Checks the program's list of ranks; reports what is wrong.
bool are_ranks(const Call& call, int count, const int* ranks) {
  // The length is checked before the list is read. A rank is in the list once,
  // so a list is never longer than the job has ranks.
  if (count < 1 || count > call.site->procs()) {
    structure::fail_numbers(call, ACPX_INVALID_ARGUMENT,
                            "num_ranks is {}; it has to be 1 to {}", count,
                            call.site->procs());
    return false;
  }
  if (ranks == nullptr) {
    structure::fail_text(call, ACPX_INVALID_ARGUMENT,
                         "the list of ranks is NULL");
    return false;
  }
  std::vector<int> sorted(ranks, ranks + count);
  std::sort(sorted.begin(), sorted.end());
  if (!call.site->has_rank(sorted.front()) ||
      !call.site->has_rank(sorted.back())) {
    structure::fail_numbers(
        call, ACPX_BAD_RANK, "the list of ranks has {}; ranks are 0 to {}",
        call.site->has_rank(sorted.front()) ? sorted.back() : sorted.front(),
        call.site->procs() - 1);
    return false;
  }
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin != sorted.end()) {
    structure::fail_numbers(call, ACPX_INVALID_ARGUMENT,
                            "rank {} is in the list of ranks twice", *twin);
    return false;
  }
  return true;
}

}  // namespace

/// Order: shares, directory, control. The control's handle comes last, so no
/// other rank sees an unfinished table.
acp_ga_t create(const char* function,
                Kind kind,
                int count,
                const int* ranks,
                int num_slots,
                int rank) {
  structure::Site* site = structure::Site::of_call(function);
  if (site == nullptr) {
    return ACP_GA_NULL;
  }
  const Call call{site, function, kind, ACP_GA_NULL, ACP_GA_NULL, rank};
  if (num_slots < 1) {
    structure::fail_numbers(call, ACPX_INVALID_ARGUMENT,
                            "num_slots is {}; it has to be 1 or more",
                            num_slots);
    return ACP_GA_NULL;
  }
  if (!site->has_rank(rank)) {
    structure::fail_rank(call, rank);
    return ACP_GA_NULL;
  }
  if (!are_ranks(call, count, ranks)) {
    return ACP_GA_NULL;
  }
  const std::uint64_t buckets =
      static_cast<std::uint64_t>(num_slots - 1) / kElementsPerBucket + 1;
  const std::uint32_t uid = new_uid(site->rank());
  Scratch scratch(*site);
  Shares shares;
  for (int i = 0; i < count; ++i) {
    if (!shares.add(scratch, ranks[i], buckets, uid)) {
      return ACP_GA_NULL;
    }
  }
  structure::Block directory(static_cast<std::size_t>(count) * 8, rank);
  if (!directory.is_good() || !shares.write(scratch, directory.ga())) {
    return ACP_GA_NULL;
  }
  scratch.clear();
  const acp_ga_t handle = structure::create_control(
      scratch, function, kind, rank, 0,
      {directory.ga(), uid, static_cast<std::uint64_t>(count), buckets, 0});
  if (handle != ACP_GA_NULL) {
    shares.give();
    directory.give();
  }
  return handle;
}

}  // namespace acp::middle::table
