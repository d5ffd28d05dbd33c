// Counts the datagrams of the start of a multiple: QMP_declare_multiple,
// QMP_start, QMP_clear_to_send. docs/qmp.md, "States".
#include <vector>

#include "datagram_counter.h"
#include "qmp_case.h"

using nodes::left;
using nodes::me;
using nodes::right;

namespace {

constexpr std::size_t kParts = 8;
constexpr std::size_t kRounds = 100;

/// kParts messages to the right, and kParts from the left.
class Parts {
 public:
  explicit Parts(std::size_t size)
      : out_(kParts, std::vector<std::byte>(size)), in_(out_) {
    for (std::size_t i = 0; i < kParts; ++i) {
      memories_.push_back(QMP_declare_msgmem(out_[i].data(), size));
      sends_.push_back(QMP_declare_send_to(memories_.back(), right(), 0));
      memories_.push_back(QMP_declare_msgmem(in_[i].data(), size));
      receives_.push_back(
          QMP_declare_receive_from(memories_.back(), left(), 0));
    }
    receive = QMP_declare_multiple(receives_.data(), kParts);
    send = QMP_declare_multiple(sends_.data(), kParts);
  }

  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  ~Parts() {
    QMP_free_msghandle(receive);
    QMP_free_msghandle(send);
    for (QMP_msgmem_t memory : memories_) {
      QMP_free_msgmem(memory);
    }
  }

  void fill(std::size_t round) {
    for (std::size_t i = 0; i < kParts; ++i) {
      nodes::fill(out_[i], me(), round + i);
    }
  }

  void check(std::size_t round) const {
    for (std::size_t i = 0; i < kParts; ++i) {
      nodes::check(in_[i], in_[i].size(), left(), round + i);
    }
  }

  QMP_msghandle_t receive = nullptr;
  QMP_msghandle_t send = nullptr;

 private:
  std::vector<std::vector<std::byte>> out_;
  std::vector<std::vector<std::byte>> in_;
  std::vector<QMP_msgmem_t> memories_;
  std::vector<QMP_msghandle_t> sends_;
  std::vector<QMP_msghandle_t> receives_;
};

/// The most datagrams of a start on average: one to the neighbour, and one to
/// the other neighbour for what was owed. There may be none, when the progress
/// thread was faster, or more, when a datagram was taken for lost.
constexpr int kMost = 3;

/// Exchanges all messages, and counts during the start of `counted`. The first
/// round connects the peers.
void exchange(Parts& parts, QMP_msghandle_t counted) {
  int total = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    parts.fill(round);
    EXPECT_OK(QMP_barrier());
    for (QMP_msghandle_t each : {parts.receive, parts.send}) {
      (void)datagram_counter::take();
      EXPECT_OK(QMP_start(each));
      const int sent = datagram_counter::take();
      if (each == counted && round > 0) {
        total += sent;
      }
    }
    EXPECT_OK(QMP_wait(parts.receive));
    EXPECT_OK(QMP_wait(parts.send));
    parts.check(round);
  }
  EXPECT(total > 0);
  EXPECT(total < kMost * static_cast<int>(kRounds));
}

}  // namespace

SPMD_CASE(qmp_flights_eager, "short messages of a multiple leave together") {
  Parts parts(64);
  exchange(parts, parts.send);
}

SPMD_CASE(qmp_flights_grants, "grants of a multiple leave together") {
  Parts parts(8192);
  exchange(parts, parts.receive);
}
