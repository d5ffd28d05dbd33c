// QMP_THREAD_MULTIPLE: several threads with handles or memory of their own, and
// progress while the program computes.
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "qmp_case.h"

using nodes::left;
using nodes::me;
using nodes::right;
using Way = Message::Way;

namespace {

constexpr std::size_t kThreads = 4;

/// Each thread has a communicator, so that it alone orders its starts.
class Comms {
 public:
  Comms() {
    for (QMP_comm_t& each : all_) {
      EXPECT_OK(QMP_comm_split(QMP_comm_get_default(), 0, me(), &each));
    }
  }

  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;

  ~Comms() {
    for (QMP_comm_t each : all_) {
      EXPECT_OK(QMP_comm_free(each));
    }
  }

  QMP_comm_t at(std::size_t thread) const { return all_[thread]; }

 private:
  std::array<QMP_comm_t, kThreads> all_{};
};

/// Each thread has a communicator of its own, and its pattern has its number.
/// So a message that reached another thread shows.
void talk(QMP_comm_t comm, std::size_t thread, std::size_t rounds) {
  const auto tag = [thread](int node) {
    return node * 10 + static_cast<int>(thread);
  };
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t size = round % 3 == 0 ? 9000 + thread : 40 * thread;
    std::vector<std::byte> out(size);
    std::vector<std::byte> in(size);
    nodes::fill(out, tag(me()), round);
    QMP_msgmem_t from = QMP_declare_msgmem(out.data(), size);
    QMP_msgmem_t to = QMP_declare_msgmem(in.data(), size);
    QMP_msghandle_t send = QMP_comm_declare_send_to(comm, from, right(), 0);
    QMP_msghandle_t receive =
        QMP_comm_declare_receive_from(comm, to, left(), 0);
    EXPECT_OK(QMP_start(send));
    EXPECT_OK(QMP_start(receive));
    if (round % 2 == 0) {
      while (QMP_is_complete(receive) == QMP_FALSE) {
      }
    }
    EXPECT_OK(QMP_wait(receive));
    EXPECT_OK(QMP_wait(send));
    nodes::check(in, size, tag(left()), round);
    QMP_free_msghandle(send);
    QMP_free_msghandle(receive);
    QMP_free_msgmem(from);
    QMP_free_msgmem(to);
    int sum = 1;
    EXPECT_OK(QMP_comm_sum_int(comm, &sum));
    EXPECT_EQ(sum, nodes::count());
  }
}

}  // namespace

SPMD_CASE(qmp_thread_multiple,
          "QMP_THREAD_MULTIPLE: messages and sums of several threads") {
  const Comms comms;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back(
        [&comms, i] { talk(comms.at(i), i, spmd::scaled(300, 20)); });
  }
  for (std::thread& each : threads)
    each.join();
}

// Each start asks whether peers can store into the blocks, while a new slab may
// move the list of slabs. ThreadSanitizer sees an access without an order.
SPMD_CASE(qmp_slabs_beside_messages,
          "QMP_allocate_memory: new slabs beside strided messages") {
  constexpr std::size_t kBlock = 1000;
  constexpr int kBlocks = 8;
  constexpr std::size_t kRoom = kBlock * 2 * kBlocks;
  QMP_mem_t* memory = QMP_allocate_memory(kRoom);
  auto* in = static_cast<std::byte*>(QMP_get_memory_pointer(memory));
  EXPECT(in != nullptr);
  std::vector<std::byte> out(kBlock * kBlocks);
  QMP_msgmem_t from = QMP_declare_msgmem(out.data(), out.size());
  QMP_msgmem_t to = QMP_declare_strided_msgmem(in, kBlock, kBlocks, 2 * kBlock);
  QMP_msghandle_t send = QMP_declare_send_to(from, me(), 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(to, me(), 0);
  const auto exchange = [&](std::size_t round) {
    nodes::fill(out, me(), round);
    EXPECT_OK(QMP_start(receive));
    EXPECT_OK(QMP_start(send));
    EXPECT_OK(QMP_wait(receive));
    EXPECT_OK(QMP_wait(send));
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT(in[i / kBlock * 2 * kBlock + i % kBlock] == out[i]);
    }
  };
  exchange(0);  // The global address of the blocks is known from here on.

  std::atomic<bool> is_over = false;
  // Relaxed, so that it brings no order between the two threads.
  std::atomic<std::size_t> rounds = 0;
  std::thread allocating([&] {
    // Larger than the module memory, so each of them is a slab.
    constexpr std::size_t kSlab = std::size_t{32} << 20;
    std::array<QMP_mem_t*, 10> slabs{};
    for (QMP_mem_t*& each : slabs) {
      each = QMP_allocate_memory(kSlab);
      EXPECT(each != nullptr);
      const std::size_t before = rounds.load(std::memory_order_relaxed);
      while (rounds.load(std::memory_order_relaxed) < before + 2) {
        std::this_thread::yield();
      }
    }
    for (QMP_mem_t* each : slabs) {
      QMP_free_memory(each);
    }
    is_over = true;
  });
  while (!is_over) {
    exchange(rounds.fetch_add(1, std::memory_order_relaxed) + 1);
  }
  allocating.join();
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  QMP_free_msgmem(from);
  QMP_free_msgmem(to);
  QMP_free_memory(memory);
}

SPMD_CASE(qmp_progress_while_computing,
          "a gated send goes out while its program computes") {
  SPMD_NEEDS_RANKS(2);
  std::vector<std::byte> bytes(50'000);
  std::byte ready{};
  if (me() == 0) {
    nodes::fill(bytes, 0, 1);
    const Message send(Way::kSend, bytes.data(), bytes.size(), 1);
    send.start();
    // Node 1 starts its receive now, and uses only acp.h to tell that it has
    // the message.
    const acp_ga_t word = acp_query_starter_ga(0);
    const Message tell(Way::kSend, &ready, 1, 1);
    tell.start();
    const auto* there =
        static_cast<const std::uint64_t*>(acp_query_address(word));
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::atomic_ref(*const_cast<std::uint64_t*>(there))
               .load(std::memory_order_acquire) == 0) {
      EXPECT(std::chrono::steady_clock::now() < limit);
    }
    send.wait();
    tell.wait();
  } else if (me() == 1) {
    const Message receive(Way::kReceive, bytes.data(), bytes.size(), 0);
    const Message told(Way::kReceive, &ready, 1, 0);
    // The large message was started first.
    receive.start();
    told.start();
    receive.wait();
    told.wait();
    nodes::check(bytes, bytes.size(), 0, 1);
    EXPECT_DONE(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                                acp_query_starter_ga(0), 1, ACP_HANDLE_NULL));
  }
}
