// The writes of a queue pair whose data are not in the peer's memory yet, for
// a network without an order of writes. Part of spoof.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

namespace acp::test {

/// Memory from which held writes are sent. A write takes its data when it is
/// posted, since the program may change the source after the acknowledgement.
class WriteSources {
 public:
  explicit WriteSources(ibv_pd& domain) : bytes_(kBytes) {
    memory_ = ibv_reg_mr(&domain, bytes_.data(), kBytes, 0);
  }

  WriteSources(const WriteSources&) = delete;
  WriteSources& operator=(const WriteSources&) = delete;

  // The registration ends with the process: queue pairs may still use it.
  ~WriteSources() = default;

  /// The place for the next `size` bytes. Places are used again after 32 MiB,
  /// twice what one connection may have under way.
  std::byte* next(std::size_t size) {
    if (next_ + size > kBytes) {
      next_ = 0;
    }
    std::byte* at = bytes_.data() + next_;
    next_ += (size + 63) & ~std::size_t{63};
    return at;
  }

  std::uint32_t lkey() const { return memory_->lkey; }

 private:
  static constexpr std::size_t kBytes = 32 << 20;

  std::vector<std::byte> bytes_;
  ibv_mr* memory_ = nullptr;
  std::size_t next_ = 0;
};

/// One thread at a time.
class HeldWrites {
 public:
  /// Changes a list of work requests: each write becomes an empty one, whose
  /// acknowledgement comes as ever. Its data follow with the next read or
  /// atomic, or by chance with an earlier request. The result lives until the
  /// next call.
  ibv_send_wr* change(ibv_pd& domain,
                      const ibv_send_wr& requests,
                      std::minstd_rand& random) {
    list_.clear();
    placing_.clear();
    for (const ibv_send_wr* each = &requests; each != nullptr;
         each = each->next) {
      if (each->opcode == IBV_WR_RDMA_WRITE) {
        hold(domain, *each, random);
        ibv_send_wr& empty = list_.emplace_back(*each);
        empty.send_flags &= ~unsigned{IBV_SEND_INLINE};
        empty.num_sge = 0;
        const std::size_t chance = held_.size() * (random() % 4) / 8;
        place(random,
              std::max(chance, held_.size() - std::min(held_.size(), kMost)));
        continue;
      }
      const bool is_proof = each->opcode == IBV_WR_RDMA_READ ||
                            each->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
                            each->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
      place(random, is_proof ? held_.size() : 0);
      list_.push_back(*each);
    }
    for (std::size_t i = 0; i < list_.size(); ++i) {
      list_[i].next = i + 1 < list_.size() ? &list_[i + 1] : nullptr;
    }
    return &list_.front();
  }

 private:
  static constexpr std::size_t kMost = 64;

  /// A part of a write whose data are not placed.
  struct Part {
    ibv_send_wr request{};
    ibv_sge piece{};
  };

  static WriteSources& sources(ibv_pd& domain) {
    static auto* all = new std::vector<std::pair<ibv_pd*, WriteSources*>>;
    for (const auto& [known, sources] : *all) {
      if (known == &domain) {
        return *sources;
      }
    }
    return *all->emplace_back(&domain, new WriteSources(domain)).second;
  }

  /// Copies the data, and divides a write at a multiple of 64 of the peer's
  /// address, so that no word is divided.
  void hold(ibv_pd& domain,
            const ibv_send_wr& request,
            std::minstd_rand& random) {
    const ibv_sge& source = *request.sg_list;
    WriteSources& memory = sources(domain);
    std::byte* copy = memory.next(source.length);
    std::memcpy(copy,
                reinterpret_cast<const void*>(  // NOLINT(*-no-int-to-ptr)
                    source.addr),
                source.length);
    const std::uint64_t begin = request.wr.rdma.remote_addr;
    const std::uint64_t middle =
        (begin + random() % source.length) & ~std::uint64_t{63};
    const auto first =
        static_cast<std::uint32_t>(middle > begin ? middle - begin : 0);
    hold_part(request, copy, 0, first, memory.lkey());
    hold_part(request, copy, first, source.length - first, memory.lkey());
  }

  void hold_part(const ibv_send_wr& request,
                 const std::byte* copy,
                 std::uint32_t done,
                 std::uint32_t size,
                 std::uint32_t lkey) {
    if (size == 0) {
      return;
    }
    Part part{.request = request};
    part.request.send_flags &=
        ~(unsigned{IBV_SEND_INLINE} | unsigned{IBV_SEND_SIGNALED});
    part.request.wr.rdma.remote_addr += done;
    part.piece.addr = reinterpret_cast<std::uintptr_t>(copy + done);
    part.piece.length = size;
    part.piece.lkey = lkey;
    held_.push_back(part);
  }

  /// Appends the data of `count` parts, chosen at random, to the list.
  void place(std::minstd_rand& random, std::size_t count) {
    std::ranges::shuffle(held_, random);
    for (; count != 0; --count) {
      Part& part = placing_.emplace_back(held_.back());
      held_.pop_back();
      part.request.sg_list = &part.piece;
      list_.push_back(part.request);
    }
  }

  std::vector<Part> held_;        ///< Not placed yet.
  std::deque<Part> placing_;      ///< Have places in list_.
  std::deque<ibv_send_wr> list_;  ///< The last result of change().
};

}  // namespace acp::test
