// Cases of large messages whose receives are granted: each order in which
// receives, messages and ends can come, and failures in the middle. Rank 0
// sends to rank 1. On one host there are no grants, and the same has to hold.
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "acp/channel.h"
#include "multiproc/large_messages.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

/// Grants of one channel at the same time.
constexpr std::size_t kGrants = 4;

/// Whether a device, or UCX, accesses memory without its owner. The pages of a
/// message then stay until its key is given back, whatever the program unmaps.
bool keeps_pages() {
  const char* net = std::getenv("ACP_NET");
  return net != nullptr &&
         (std::string_view(net) == "ucx" || std::string_view(net) == "verbs");
}

/// Pages of this process alone, which can be unmapped at any time.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_((bytes + 4095) / 4096 * 4096),
        data_(static_cast<std::byte*>(::mmap(nullptr,
                                             bytes_,
                                             PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS,
                                             -1,
                                             0))) {
    EXPECT(data_ != MAP_FAILED);
  }

  Pages(Pages&& other) noexcept : bytes_(other.bytes_), data_(other.data_) {
    other.data_ = nullptr;
  }

  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  ~Pages() {
    if (data_ != nullptr) {
      unmap();
    }
  }

  std::byte* data() const { return data_; }

  std::span<std::byte> first(std::size_t bytes) const { return {data_, bytes}; }

  void fill(int value) const { std::memset(data_, value, bytes_); }

  bool is_filled(int value) const {
    return std::all_of(data_, data_ + bytes_, [value](std::byte b) {
      return b == static_cast<std::byte>(value);
    });
  }

  void unmap() {
    EXPECT_EQ(::munmap(data_, bytes_), 0);
    data_ = nullptr;
  }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

acp_ch_t create(int sender = 0, int receiver = 1) {
  const acp_ch_t ch = acp_create_ch(sender, receiver);
  EXPECT(ch != ACP_CH_NULL);
  return ch;
}

acp_request_t post(acp_ch_t ch, std::span<std::byte> bytes) {
  const acp_request_t request =
      is_sender() ? acp_nbsend_ch(ch, bytes.data(), bytes.size())
                  : acp_nbrecv_ch(ch, bytes.data(), bytes.size());
  EXPECT(request != ACP_REQUEST_NULL);
  return request;
}

/// A message or receive of `size` bytes under way, with memory of its own. The
/// sender's has the pattern of `salt`.
struct Message {
  Message(acp_ch_t ch, std::size_t size, std::uint64_t pattern)
      : salt(pattern), pages(std::max<std::size_t>(size, 1)) {
    if (is_sender()) {
      spmd::fill_pattern(pages.first(size), salt);
    } else {
      pages.fill(0x5a);
    }
    request = post(ch, pages.first(size));
  }

  /// `expected` bytes have arrived, and none behind them.
  void finish(std::size_t expected) {
    const std::size_t got = acp_wait_ch(request);
    if (is_sender()) {
      EXPECT_EQ(got, std::size_t{0});
      pages.fill(0xee);  // it belongs to the program again
      return;
    }
    EXPECT_EQ(got, expected);
    spmd::expect_pattern(pages.first(expected), salt);
    EXPECT(pages.data()[expected] == std::byte{0x5a});
  }

  std::uint64_t salt;
  Pages pages;
  acp_request_t request = ACP_REQUEST_NULL;
};

/// A page behind the message shows bytes that come too far.
Message start(acp_ch_t ch,
              std::size_t size,
              std::uint64_t salt,
              std::size_t room) {
  return {ch, is_sender() ? size : room, salt};
}

/// After one large message the receiver expects further ones, and grants.
void teach(acp_ch_t ch) {
  Message one = start(ch, kLarge, 1, kLarge + 1);
  one.finish(kLarge);
}

/// A channel of this pair works from its creation to its end.
void expect_channel_works() {
  const acp_ch_t ch = create();
  for (std::uint64_t i = 0; i < 2 * kGrants; ++i) {
    Message one = start(ch, kLarge + i, 900 + i, 2 * kLarge);
    one.finish(kLarge + i);
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

/// Computes for a random while, at most about a millisecond.
void compute(std::mt19937_64& random) {
  const std::uint64_t turns = random() % 300'000;
  for (volatile std::uint64_t spin = 0; spin < turns;) {
    spin = spin + 1;
  }
}

/// A word of library memory on each rank, for threads that make no call of the
/// library while they wait.
class Words {
 public:
  void tell(std::uint64_t value) const {
    const acpx_op_t put = {
        ACPX_PUT8, ACPX_SIGNAL, block_.at(1 - acp_rank()), 0, 0, value, 0};
    EXPECT_DONE(acpx_post(&put, 1, ACP_HANDLE_NULL));
  }

  void compute_until(std::uint64_t value) const {
    const auto limit = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(spmd::kPatience);
    while (block_.word(0).load() != value) {
      EXPECT(std::chrono::steady_clock::now() < limit);
      sched_yield();
    }
  }

 private:
  spmd::Block block_{spmd::Memory::kLibrary, sizeof(std::uint64_t)};
};

/// Number of operations that this rank has queued. The copy that finds it out
/// is one of them. Over a network only.
std::uint64_t count_operations() {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_handle_t handle =
      acp_copy(acp_query_starter_ga(1 - acp_rank()), mine, 8, ACP_HANDLE_NULL);
  EXPECT(handle != ACP_HANDLE_NULL);
  EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), 0);
  return handle;
}

/// The sender issues two operations for a message that it puts, the offer and
/// the put. For a message that the receiver fetches it would issue one.
void expect_grants_are_used(acp_ch_t ch) {
  if (!is_over_network()) {
    return;
  }
  const Words words;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    if (is_sender()) {
      words.compute_until(i);
      const std::uint64_t before = count_operations();
      Message one = start(ch, 2 * kLarge, i, 0);
      one.finish(2 * kLarge);
      EXPECT_EQ(count_operations() - before, std::uint64_t{3});
      continue;
    }
    const std::uint64_t before = count_operations();
    Message one = start(ch, 0, i, 2 * kLarge + 1);
    EXPECT_EQ(count_operations() - before, std::uint64_t{2});  // the grant
    words.tell(i);
    one.finish(2 * kLarge);
  }
  EXPECT_EQ(acp_sync(), 0);  // no end is closed while the other rank counts
}

/// Takes all keys of this rank, and gives them back.
class AllKeys {
 public:
  void take() {
    static std::uint64_t word = 0;
    while (true) {
      const acp_atkey_t key = acp_register_memory(&word, sizeof word, 0);
      if (key == ACP_ATKEY_NULL) {
        break;
      }
      keys_.push_back(key);
    }
    acp_errno = 0;
  }

  void give_back() {
    for (const acp_atkey_t key : keys_) {
      EXPECT_EQ(acp_unregister_memory(key), 0);
    }
    keys_.clear();
  }

  std::size_t count() const { return keys_.size(); }

 private:
  std::vector<acp_atkey_t> keys_;
};

}  // namespace

// The receives have room for one byte more than their messages, so a granted
// message ends before its memory does.
SPMD_CASE(grants_receive_first, "grants: receives wait before messages come") {
  const acp_ch_t ch = create();
  teach(ch);
  for (std::size_t round = 0; round < 5; ++round) {
    std::deque<Message> all;
    if (!is_sender()) {
      for (std::uint64_t i = 0; i < 11; ++i) {
        all.push_back(start(ch, 0, i, kLarge + 5000 * i + 1));
      }
    }
    let_all_come();
    if (is_sender()) {
      for (std::uint64_t i = 0; i < 11; ++i) {
        all.push_back(start(ch, kLarge + 5000 * i, i, 0));
      }
    }
    for (std::uint64_t i = 0; i < 11; ++i) {
      all[i].finish(kLarge + 5000 * i);
    }
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// The messages are started before the barrier, so the receiver finds offers
// when its receives come.
SPMD_CASE(grants_send_first, "grants: messages wait before receives come") {
  const acp_ch_t ch = create();
  teach(ch);
  for (std::size_t round = 0; round < 5; ++round) {
    std::deque<Message> all;
    if (is_sender()) {
      for (std::uint64_t i = 0; i < 11; ++i) {
        all.push_back(start(ch, kLarge + 5000 * i, i, 0));
      }
    }
    let_all_come();
    if (!is_sender()) {
      for (std::uint64_t i = 0; i < 11; ++i) {
        all.push_back(start(ch, 0, i, kLarge + 5000 * i + 1));
      }
    }
    for (std::uint64_t i = 0; i < 11; ++i) {
      all[i].finish(kLarge + 5000 * i);
    }
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// Each rank computes for a random time before each post, so that grants and
// offers cross in every way.
SPMD_CASE(grants_crossing, "grants: receives and messages come at one time") {
  const acp_ch_t ch = create();
  auto random = spmd::random_of_rank();
  auto sizes = spmd::random_of_job();
  std::deque<Message> all;
  std::deque<std::size_t> expected;
  const std::size_t window = 1 + kGrants;
  for (std::uint64_t i = 0; i < spmd::scaled(3000); ++i) {
    const std::size_t size =
        sizes() % 8 == 0 ? sizes() % kLarge : kLarge + sizes() % 5000;
    compute(random);
    all.push_back(start(ch, size, i, 2 * kLarge));
    expected.push_back(size);
    // The windows of the two ranks have different sizes all the time.
    while (all.size() > random() % window) {
      all.front().finish(expected.front());
      all.pop_front();
      expected.pop_front();
    }
  }
  while (!all.empty()) {
    all.front().finish(expected.front());
    all.pop_front();
    expected.pop_front();
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

SPMD_CASE(grants_not_used,
          "grants: a granted receive takes a small message, or none") {
  const acp_ch_t ch = create();
  std::uint64_t salt = 0;
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{0}, kLarge - 1, std::size_t{16376}}) {
    for (const bool receive_first : {true, false}) {
      teach(ch);
      // All entries of grants are in use, and the next messages are large.
      std::deque<Message> all;
      const auto start_all = [&] {
        for (std::size_t i = 0; i < 3 * kGrants; ++i) {
          all.push_back(
              start(ch, i < kGrants ? size : 3 * kLarge, salt + i, 4 * kLarge));
        }
      };
      if (is_sender() != receive_first) {
        start_all();
      }
      let_all_come();
      if (is_sender() == receive_first) {
        start_all();
      }
      for (std::size_t i = 0; i < 3 * kGrants; ++i) {
        all[i].finish(i < kGrants ? size : 3 * kLarge);
      }
      salt += 3 * kGrants;
    }
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// Receives are shorter than their messages, longer, and too short for a grant.
SPMD_CASE(grants_thousand_receives,
          "grants: a thousand receives ahead, of all sizes around 64 KiB") {
  constexpr std::size_t kCount = 1000;
  auto random = spmd::random_of_job();
  const std::array<std::size_t, 8> sizes = {
      0,      100,        20'000,        kLarge - 1,
      kLarge, kLarge + 1, kLarge + 4096, 2 * kLarge};
  const acp_ch_t ch = create();
  std::vector<std::size_t> messages(kCount);
  std::vector<std::size_t> rooms(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    messages[i] = sizes[random() % sizes.size()];
    // Most of the large receives get large messages, so there are grants.
    rooms[i] = random() % 3 == 0 ? sizes[random() % sizes.size()]
                                 : messages[i] + random() % 2;
  }
  std::deque<Message> all;
  const auto start_all = [&] {
    for (std::size_t i = 0; i < kCount; ++i) {
      all.push_back(start(ch, messages[i], i, rooms[i]));
    }
  };
  if (!is_sender()) {
    start_all();
  }
  EXPECT_EQ(acp_sync(), 0);
  if (is_sender()) {
    start_all();
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::size_t expected = std::min(messages[i], rooms[i]);
    if (is_sender()) {
      all[i].finish(expected);
      continue;
    }
    EXPECT_EQ(acp_wait_ch(all[i].request), expected);
    spmd::expect_pattern(all[i].pages.first(expected), i);
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// The sender leaves after so many messages that some receives have grants
// without a message. Their memory is then changed and unmapped, and no rank may
// write there.
SPMD_CASE(grants_sender_freed,
          "grants: memory of receives that fail belongs to the program") {
  for (std::size_t sent = 0; sent < 2 * kGrants; sent += 3) {
    const acp_ch_t ch = create();
    teach(ch);
    std::deque<Message> all;
    if (!is_sender()) {
      for (std::size_t i = 0; i < 3 * kGrants; ++i) {
        all.push_back(start(ch, 0, i, 2 * kLarge));
      }
    }
    let_all_come();
    if (is_sender()) {
      for (std::size_t i = 0; i < sent; ++i) {
        all.push_back(start(ch, kLarge + i, i, 0));
      }
      EXPECT_EQ(acp_free_ch(ch), 0);
      for (std::size_t i = 0; i < sent; ++i) {
        all[i].finish(0);
      }
      let_all_come();
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i < sent) {
        all[i].finish(kLarge + i);
        continue;
      }
      EXPECT_FAILS(acp_wait_ch(all[i].request), kFailed, ACPX_CLOSED);
      EXPECT(all[i].pages.is_filled(0x5a));
      all[i].pages.fill(0xa5);
    }
    all[sent].pages.unmap();
    let_all_come();
    for (std::size_t i = sent + 1; i < all.size(); ++i) {
      EXPECT(all[i].pages.is_filled(0xa5));
    }
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
}

SPMD_CASE(grants_receiver_freed,
          "grants: a receiver's free completes its granted receives") {
  for (const std::size_t more : {0, 1, 6}) {  // messages that are dropped
    const acp_ch_t ch = create();
    teach(ch);
    std::deque<Message> all;
    const std::size_t received = kGrants + 2;
    if (!is_sender()) {
      for (std::size_t i = 0; i < received; ++i) {
        all.push_back(start(ch, 0, i, 2 * kLarge));
      }
    }
    let_all_come();
    if (!is_sender()) {
      const acp_request_t freed = acp_nbfree_ch(ch);
      EXPECT(freed != ACP_REQUEST_NULL);
      for (Message& one : all) {
        one.finish(kLarge + one.salt);
      }
      EXPECT_EQ(acp_wait_ch(freed), std::size_t{0});
      continue;
    }
    for (std::size_t i = 0; i < received + more; ++i) {
      all.push_back(start(ch, kLarge + i, i, 0));
    }
    for (Message& one : all) {
      one.finish(0);
    }
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
}

// Both ends are freed at random moments, with messages and receives under way.
SPMD_CASE(grants_freed_at_any_time, "grants: ends are freed at any time") {
  auto random = spmd::random_of_rank();
  auto common = spmd::random_of_job();
  for (std::size_t round = 0; round < spmd::scaled(300, 20); ++round) {
    const acp_ch_t ch = create();
    const std::size_t sent = common() % 10;
    const std::size_t received = common() % 10;
    std::deque<Message> all;
    for (std::size_t i = 0; i < (is_sender() ? sent : received); ++i) {
      compute(random);
      all.push_back(start(ch, kLarge + i, i, 2 * kLarge));
    }
    compute(random);
    const acp_request_t freed = acp_nbfree_ch(ch);
    EXPECT(freed != ACP_REQUEST_NULL);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_sender() || i < sent) {
        all[i].finish(kLarge + i);
        continue;
      }
      EXPECT_FAILS(acp_wait_ch(all[i].request), kFailed, ACPX_CLOSED);
      all[i].pages.unmap();
    }
    EXPECT_EQ(acp_wait_ch(freed), std::size_t{0});
  }
}

SPMD_CASE(grants_reset, "grants: acp_reset ends granted receives") {
  for (const std::size_t sent : {std::size_t{0}, std::size_t{2}}) {
    const acp_ch_t ch = create();
    teach(ch);
    std::deque<Message> all;
    if (!is_sender()) {
      for (std::size_t i = 0; i < 3 * kGrants; ++i) {
        all.push_back(start(ch, 0, i, 2 * kLarge));
      }
    }
    let_all_come();
    if (is_sender()) {
      for (std::size_t i = 0; i < sent; ++i) {
        all.push_back(start(ch, kLarge, i, 0));
      }
    }
    EXPECT_EQ(acp_reset(acp_rank()), 0);
    if (!is_sender()) {
      for (std::size_t i = 0; i < sent; ++i) {
        spmd::expect_pattern(all[i].pages.first(kLarge), i);
      }
      for (std::size_t i = sent; i < all.size(); ++i) {
        EXPECT(all[i].pages.is_filled(0x5a));
      }
      all.back().pages.unmap();
    }
    AllKeys keys;  // none is left behind
    keys.take();
    static std::size_t before = 0;
    EXPECT(before == 0 || keys.count() == before);
    before = keys.count();
    keys.give_back();
    expect_channel_works();
  }
}

// A program unmaps memory too early, which is its error. The requests fail, and
// everything else goes on.
SPMD_CASE(grants_to_unmapped_memory,
          "grants: a message for memory that is unmapped fails at both ends") {
  if (!is_over_network() || keeps_pages()) {
    spmd::note_skip("needs a network whose owner executes accesses");
    return;
  }
  for (const std::size_t size : {kLarge, 16 * kLarge}) {
    for (std::size_t bad = 0; bad < kGrants; ++bad) {
      const acp_ch_t ch = create();
      teach(ch);
      std::deque<Message> all;
      if (!is_sender()) {
        for (std::size_t i = 0; i < 2 * kGrants; ++i) {
          all.push_back(start(ch, 0, i, size + 1));
        }
      }
      let_all_come();  // the first receives are granted
      if (!is_sender()) {
        all[bad].pages.unmap();
      }
      let_all_come();
      if (is_sender()) {
        for (std::size_t i = 0; i < 2 * kGrants; ++i) {
          all.push_back(start(ch, size, i, 0));
        }
      }
      for (std::size_t i = 0; i < 2 * kGrants; ++i) {
        if (i == bad) {
          EXPECT_FAILS(acp_wait_ch(all[i].request), kFailed, ACPX_BAD_ADDRESS);
        } else {
          all[i].finish(size);
        }
      }
      EXPECT_EQ(acp_free_ch(ch), 0);
    }
    // Every end closes, although the failures were not collected.
    EXPECT_EQ(acp_reset(acp_rank()), 0);
  }
  expect_channel_works();
  collect_failures();
}

// A failed operation of the program has nothing to do with the channel.
SPMD_CASE(grants_beside_a_failure,
          "channels: ends close although an operation of the program failed") {
  const acp_ch_t ch = create();
  teach(ch);
  Pages pages(4096);
  const acp_atkey_t key = acp_register_memory(pages.data(), 4096, 0);
  const acp_ga_t mine = acp_query_ga(key, pages.data());
  const std::vector<std::uint64_t> all = spmd::gather(mine);
  EXPECT_EQ(acp_unregister_memory(key), 0);
  EXPECT_EQ(acp_sync(), 0);
  // The key is dead; nothing collects the failure.
  (void)acp_copy(all[1 - acp_rank()], acp_query_starter_ga(acp_rank()), 8,
                 ACP_HANDLE_NULL);
  acp_errno = 0;
  Message one = start(ch, kLarge, 5, kLarge + 1);
  one.finish(kLarge);
  EXPECT_EQ(acp_free_ch(ch), 0);
  EXPECT_EQ(acp_reset(acp_rank()), 0);
  expect_channel_works();
  collect_failures();
}

// Every channel wants grants, and there are not enough keys for all. Messages
// without a grant have to arrive as well.
SPMD_CASE(grants_many_channels,
          "grants: more channels than keys, in both directions") {
  constexpr std::size_t kChannels = 24;
  std::vector<acp_ch_t> out;
  std::vector<acp_ch_t> in;
  for (std::size_t i = 0; i < kChannels; ++i) {
    out.push_back(create(acp_rank(), 1 - acp_rank()));
    in.push_back(create(1 - acp_rank(), acp_rank()));
  }
  std::deque<Pages> received;
  std::deque<Pages> sent;
  for (std::size_t round = 0; round < 4; ++round) {
    std::vector<acp_request_t> requests;
    for (std::size_t i = 0; i < 3 * kChannels; ++i) {
      received.emplace_back(2 * kLarge);
      requests.push_back(
          acp_nbrecv_ch(in[i % kChannels], received.back().data(), 2 * kLarge));
    }
    for (std::size_t i = 0; i < 3 * kChannels; ++i) {
      sent.emplace_back(2 * kLarge);
      spmd::fill_pattern(sent.back().first(kLarge + i),
                         i + 100 * static_cast<std::uint64_t>(acp_rank()));
      requests.push_back(
          acp_nbsend_ch(out[i % kChannels], sent.back().data(), kLarge + i));
    }
    EXPECT_EQ(acp_waitall_ch(requests.data(), static_cast<int>(requests.size()),
                             nullptr),
              0);
    for (std::size_t i = 0; i < 3 * kChannels; ++i) {
      spmd::expect_pattern(
          received[i].first(kLarge + i),
          i + 100 * static_cast<std::uint64_t>(1 - acp_rank()));
    }
    received.clear();
    sent.clear();
  }
  for (std::size_t i = 0; i < kChannels; ++i) {
    EXPECT_EQ(acp_free_ch(out[i]), 0);
    EXPECT_EQ(acp_free_ch(in[i]), 0);
  }
}

// The threads of both ends take turns in an order that is open. So each message
// has its number as its first bytes, and the receiver counts that each number
// comes once.
SPMD_CASE(grants_by_threads, "grants: several threads share a channel") {
  constexpr std::size_t kThreads = 3;
  const std::size_t each = spmd::scaled(500, 50);
  const acp_ch_t ch = create();
  std::vector<std::atomic<int>> seen(kThreads * each);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::byte> bytes(2 * kLarge);
      for (std::size_t i = 0; i < each; ++i) {
        std::uint64_t number = t * each + i;
        const std::size_t size = kLarge + number;
        if (is_sender()) {
          spmd::fill_pattern(std::span(bytes).first(size), number);
          std::memcpy(bytes.data(), &number, sizeof number);
          EXPECT_EQ(acp_wait_ch(post(ch, std::span(bytes).first(size))),
                    std::size_t{0});
          continue;
        }
        const std::size_t got = acp_wait_ch(post(ch, bytes));
        std::memcpy(&number, bytes.data(), sizeof number);
        EXPECT(number < seen.size());
        EXPECT_EQ(got, kLarge + number);
        EXPECT(bytes[got - 1] == spmd::pattern_byte(number, got - 1));
        ++seen[number];
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::atomic<int>& count : seen) {
    EXPECT_EQ(count.load(), is_sender() ? 0 : 1);
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// One program makes no call of the library; its progress thread does the work.
SPMD_CASE(grants_to_programs_that_compute,
          "grants: messages move while one program only computes") {
  const Words words;
  const acp_ch_t ch = create();
  teach(ch);
  for (std::uint64_t i = 0; i < spmd::scaled(1000, 100); ++i) {
    const bool sender_computes = i % 2 == 0;
    std::deque<Message> all;
    for (std::size_t k = 0; k < 1 + i % 6; ++k) {
      all.push_back(start(ch, kLarge + k, i + k, 2 * kLarge));
    }
    const bool computes = is_sender() == sender_computes;
    if (computes) {
      words.compute_until(i + 1);
    }
    for (std::size_t k = 0; k < all.size(); ++k) {
      all[k].finish(kLarge + k);
    }
    words.tell(i + 1);
    if (!computes) {
      words.compute_until(i + 1);
    }
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(grants_are_used,
          "grants: the sender puts a message whose receive waits") {
  if (!is_over_network()) {
    spmd::note_skip("needs a network");
    return;
  }
  const acp_ch_t ch = create();
  teach(ch);
  expect_grants_are_used(ch);
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// One rank after the other, and then both, have no key while messages go on.
SPMD_CASE(grants_without_keys,
          "grants: keys end in the middle, and come back") {
  const acp_ch_t ch = create();
  std::uint64_t salt = 0;
  const auto some = [&] {
    std::deque<Message> all;
    for (std::size_t i = 0; i < 10; ++i) {
      all.push_back(start(ch, 2 * kLarge + i, salt + i, 3 * kLarge));
    }
    for (std::size_t i = 0; i < 10; ++i) {
      all[i].finish(2 * kLarge + i);
    }
    salt += 10;
  };
  for (const int who : {0, 1, 2}) {
    teach(ch);
    // Receives that are granted while there are keys.
    std::deque<Message> granted;
    if (!is_sender()) {
      for (std::size_t i = 0; i < 2 * kGrants; ++i) {
        granted.push_back(start(ch, 0, 500 + i, 3 * kLarge));
      }
    }
    let_all_come();
    AllKeys keys;
    if (who == 2 || who == acp_rank()) {
      keys.take();
      EXPECT(keys.count() > 0);
    }
    EXPECT_EQ(acp_sync(), 0);
    if (is_sender()) {
      for (std::size_t i = 0; i < 2 * kGrants; ++i) {
        granted.push_back(start(ch, 2 * kLarge, 500 + i, 0));
      }
    }
    for (Message& one : granted) {
      one.finish(2 * kLarge);
    }
    some();
    keys.give_back();
    some();
  }
  // After a refusal a rank asks for no key for a while.
  for (std::size_t i = 0; i < 110; ++i) {
    some();
  }
  expect_grants_are_used(ch);
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// This case is the last one: acp_finalize follows.
SPMD_CASE(grants_finalize, "grants: acp_finalize ends granted receives") {
  static std::deque<Message> all;
  const acp_ch_t ch = create();
  teach(ch);
  if (!is_sender()) {
    for (std::size_t i = 0; i < 3 * kGrants; ++i) {
      all.push_back(start(ch, 0, i, 2 * kLarge));
    }
  }
  let_all_come();
  if (is_sender()) {
    for (std::size_t i = 0; i < 3; ++i) {
      all.push_back(start(ch, kLarge, i, 0));
    }
  }
}
