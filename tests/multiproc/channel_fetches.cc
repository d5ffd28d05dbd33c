// Cases of large messages that the receiver fetches, or that both ends copy on
// one host, although the sender's program has unmapped their memory. That is
// the program's error, and both requests have to fail. Rank 0 sends to rank 1.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "acp/channel.h"
#include "multiproc/large_messages.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

constexpr std::size_t kPage = 4096;
/// Messages of a channel that the receiver fetches at the same time.
constexpr std::size_t kFetches = 8;

/// A device, and UCX, may still reach memory that the program has unmapped.
bool finds_unmapped_memory() {
  const char* net = std::getenv("ACP_NET");
  return !is_over_network() ||
         (net != nullptr && std::string_view(net) == "udp");
}

/// Pages of a message that the sender hides.
struct Hole {
  std::size_t at;
  std::size_t bytes;
};

/// A message of `size` bytes, or the receive for it, with pages of its own.
class Message {
 public:
  Message(std::size_t size, std::uint64_t salt)
      : bytes_(static_cast<std::byte*>(::mmap(nullptr,
                                              size,
                                              PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS,
                                              -1,
                                              0)),
               size),
        salt_(salt) {
    EXPECT(bytes_.data() != MAP_FAILED);
    if (is_sender()) {
      spmd::fill_pattern(bytes_, salt);
    }
  }

  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  ~Message() { EXPECT_EQ(::munmap(bytes_.data(), bytes_.size()), 0); }

  void post(acp_ch_t ch) {
    request_ = is_sender() ? acp_nbsend_ch(ch, bytes_.data(), bytes_.size())
                           : acp_nbrecv_ch(ch, bytes_.data(), bytes_.size());
    EXPECT(request_ != ACP_REQUEST_NULL);
  }

  /// Makes pages as good as unmapped for the library. The process gets no
  /// other memory there.
  void hide(const Hole& hole) const {
    EXPECT_EQ(::mprotect(bytes_.data() + hole.at, hole.bytes, PROT_NONE), 0);
  }

  void expect_arrival() const {
    EXPECT_EQ(acp_wait_ch(request_), is_sender() ? 0 : bytes_.size());
    if (!is_sender()) {
      spmd::expect_pattern(bytes_, salt_);
    }
  }

  void expect_failure() const {
    EXPECT_FAILS(acp_wait_ch(request_), kFailed, ACPX_BAD_ADDRESS);
  }

 private:
  std::span<std::byte> bytes_;
  std::uint64_t salt_;
  acp_request_t request_ = ACP_REQUEST_NULL;
};

/// A channel whose ends have met. So the sender registers each large message in
/// the call that posts it, and hides no memory that is not registered yet.
acp_ch_t create() {
  const acp_ch_t ch = acp_create_ch(0, 1);
  EXPECT(ch != ACP_CH_NULL);
  Message first(8, 0);
  first.post(ch);
  first.expect_arrival();
  return ch;
}

/// Posts all messages, of which those with a bit in `bad` lose their memory
/// before a receive is there. So the receiver has read each offer, and fetches.
void post_all(acp_ch_t ch,
              std::deque<Message>& all,
              std::uint64_t bad,
              const Hole& hole) {
  if (is_sender()) {
    for (Message& one : all) {
      one.post(ch);
    }
  }
  let_all_come();
  for (std::size_t i = 0; is_sender() && i < all.size(); ++i) {
    if ((bad >> i & 1) != 0) {
      all[i].hide(hole);
    }
  }
  EXPECT_EQ(acp_sync(), 0);
  if (!is_sender()) {
    for (Message& one : all) {
      one.post(ch);
    }
  }
}

void expect_all(const std::deque<Message>& all, std::uint64_t bad) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((bad >> i & 1) != 0) {
      all[i].expect_failure();
    } else {
      all[i].expect_arrival();
    }
  }
}

void exchange(acp_ch_t ch,
              std::size_t count,
              std::size_t size,
              std::uint64_t bad,
              const Hole& hole) {
  std::deque<Message> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace_back(size, 100 * size + i);
  }
  post_all(ch, all, bad, hole);
  expect_all(all, bad);
}

void expect_channel_works() {
  const acp_ch_t ch = create();
  exchange(ch, kFetches, 2 * kLarge, 0, {});
  EXPECT_EQ(acp_free_ch(ch), 0);
}

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

/// Takes all keys of this rank until its destructor.
class AllKeys {
 public:
  AllKeys() {
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

  AllKeys(const AllKeys&) = delete;
  AllKeys& operator=(const AllKeys&) = delete;

  ~AllKeys() {
    for (const acp_atkey_t key : keys_) {
      EXPECT_EQ(acp_unregister_memory(key), 0);
    }
  }

 private:
  std::vector<acp_atkey_t> keys_;
};

}  // namespace

SPMD_CASE(fetches_of_unmapped_memory,
          "channels: a message whose memory is unmapped fails at both ends") {
  if (!finds_unmapped_memory()) {
    spmd::note_skip("needs a network whose owner executes accesses");
    return;
  }
  for (const std::size_t size : {kLarge, 16 * kLarge}) {
    for (const Hole& hole :
         {Hole{0, size}, Hole{0, kPage}, Hole{size / 2, kPage},
          Hole{size - kPage, kPage}}) {
      for (const std::uint64_t bad : {0x01U, 0x80U, 0x5aU, 0xffU}) {
        const acp_ch_t ch = create();
        exchange(ch, kFetches, size, bad, hole);
        EXPECT_EQ(acp_free_ch(ch), 0);
      }
    }
    // Every end closes, although the failures were not collected.
    EXPECT_EQ(acp_reset(acp_rank()), 0);
  }
  expect_channel_works();
  collect_failures();
}

// The words in which the ends count failures are used again and again.
SPMD_CASE(fetches_that_fail_often,
          "channels: each of many failures is told for its own message") {
  if (!finds_unmapped_memory()) {
    spmd::note_skip("needs a network whose owner executes accesses");
    return;
  }
  auto random = spmd::random_of_job();
  const acp_ch_t ch = create();
  for (std::size_t round = 0; round < 20; ++round) {
    exchange(ch, 1 + random() % (2 * kFetches), kLarge, random(), {0, kLarge});
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
  collect_failures();
}

SPMD_CASE(fetches_before_a_free,
          "channels: a send fails although the receiver is freed at once") {
  if (!finds_unmapped_memory()) {
    spmd::note_skip("needs a network whose owner executes accesses");
    return;
  }
  for (int round = 0; round < 20; ++round) {
    const acp_ch_t ch = create();
    std::deque<Message> all;
    all.emplace_back(kLarge, 1);
    all.emplace_back(kLarge, 2);
    post_all(ch, all, 0b10, {0, kLarge});
    EXPECT_EQ(acp_free_ch(ch), 0);
    expect_all(all, 0b10);
  }
  collect_failures();
}

// A failure of the program comes first, and is not one of the channel.
SPMD_CASE(
    fetches_beside_a_failure,
    "channels: messages arrive after an operation of the program failed") {
  std::vector<std::byte> bytes(kPage);
  const acp_atkey_t key = acp_register_memory(bytes.data(), kPage, 0);
  const std::vector<std::uint64_t> all =
      spmd::gather(acp_query_ga(key, bytes.data()));
  EXPECT_EQ(acp_unregister_memory(key), 0);
  EXPECT_EQ(acp_sync(), 0);
  (void)acp_copy(all[static_cast<std::size_t>(1 - acp_rank())],
                 acp_query_starter_ga(acp_rank()), 8, ACP_HANDLE_NULL);
  acp_errno = 0;
  expect_channel_works();
  collect_failures();
}

// The fetch with its proof is one operation, the count for the sender another.
SPMD_CASE(fetches_count, "channels: a fetch takes two operations") {
  if (!is_over_network() || std::getenv("ACP_UDP_FAULTS") != nullptr) {
    spmd::note_skip("needs a network that brings each offer at once");
    return;
  }
  const acp_ch_t ch = create();
  for (std::uint64_t i = 0; i < 10; ++i) {
    Message one(4 * kLarge, i);
    if (is_sender()) {
      one.post(ch);
    }
    let_all_come();
    if (is_sender()) {
      one.expect_arrival();
      EXPECT_EQ(acp_sync(), 0);
      continue;
    }
    const std::uint64_t before = count_operations();
    one.post(ch);
    one.expect_arrival();
    EXPECT_EQ(acp_sync(), 0);  // the sender knows
    EXPECT_EQ(count_operations() - before, std::uint64_t{3});
  }
  EXPECT_EQ(acp_sync(), 0);  // no end is closed while the other rank counts
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// This case is the last one: after a refusal a rank asks for no key for a
// while.
SPMD_CASE(fetches_without_keys,
          "channels: a message that is fetched through the block fails") {
  if (!finds_unmapped_memory()) {
    spmd::note_skip("needs a network whose owner executes accesses");
    return;
  }
  for (const Hole& hole :
       {Hole{0, kPage}, Hole{10 * kPage, kPage}, Hole{kLarge - kPage, kPage}}) {
    const acp_ch_t ch = create();
    std::deque<Message> all;
    for (std::size_t i = 0; i < 4; ++i) {
      all.emplace_back(kLarge, i);
    }
    // The sender takes its keys first: only the receiver has none.
    if (is_sender()) {
      post_all(ch, all, 0b0101, hole);
    } else {
      const AllKeys keys;
      post_all(ch, all, 0b0101, hole);
    }
    expect_all(all, 0b0101);
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
  collect_failures();
}
