// Cases of channels under load: a million messages with checksums, all ranks to
// all, a slow receiver, a full key table, hundreds of channels.
#include <sched.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "acp/channel.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kLongest = std::size_t{4} << 20;
/// A message of at least this size begins with its checksum and its number.
constexpr std::size_t kHead = 16;

bool is_over_network() {
  const acp_ga_t other = acp_query_starter_ga(spmd::right_of(acp_rank()));
  return acp_procs() > 1 && acpx_pointer(other) == nullptr;
}

/// A random size from 0 bytes to kLongest; each power of two is equally likely.
std::size_t random_size(std::mt19937_64& random) {
  const double bits = std::uniform_real_distribution<>(-1, 22)(random);
  return bits < 0 ? 0 : static_cast<std::size_t>(std::exp2(bits));
}

/// Bytes that sender and receiver know: a window of one random block.
const Bytes& noise() {
  static const Bytes bytes = [] {
    Bytes all(kLongest + 4096);
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i + 8 <= all.size(); i += 8) {
      const std::uint64_t word = random();
      std::memcpy(&all[i], &word, 8);
    }
    return all;
  }();
  return bytes;
}

/// Makes a message: its number and noise, behind a checksum of both.
void make_message(Bytes& message, std::size_t size, std::uint64_t number) {
  message.resize(size);
  if (size != 0) {
    std::memcpy(message.data(), &noise()[number % 4096], size);
  }
  if (size >= kHead) {
    std::memcpy(&message[8], &number, 8);
    const std::uint64_t sum = XXH3_64bits(&message[8], size - 8);
    std::memcpy(message.data(), &sum, 8);
  }
}

void check_message(const Bytes& message,
                   std::size_t size,
                   std::uint64_t number) {
  bool is_good = true;
  if (size >= kHead) {
    std::uint64_t head[2] = {};
    std::memcpy(head, message.data(), sizeof head);
    is_good =
        head[1] == number && head[0] == XXH3_64bits(&message[8], size - 8);
  } else if (size != 0) {
    is_good = std::memcmp(message.data(), &noise()[number % 4096], size) == 0;
  }
  if (!is_good) {
    spmd::fail("message " + std::to_string(number) + " of " +
               std::to_string(size) + " bytes is damaged");
  }
}

/// One end of a channel, with a window of requests. Both ends draw one random
/// series: the sender sends its messages, the receiver checks them.
class Stream {
 public:
  Stream(int sender, int receiver, std::uint64_t salt, std::size_t window)
      : is_sender_(acp_rank() == sender),
        ch_(acp_create_ch(sender, receiver)),
        random_(spmd::random_of_job(salt)),
        window_(window) {
    EXPECT(ch_ != ACP_CH_NULL);
  }

  std::uint64_t posted() const { return posted_; }

  std::uint64_t bytes() const { return bytes_; }

  std::size_t under_way() const { return pending_.size(); }

  void post(std::size_t longest) {
    if (pending_.size() == window_) {
      finish();
    }
    pending_.emplace_back();
    Pending& one = pending_.back();
    one.size = std::min(random_size(random_), longest);
    one.number = posted_++;
    bytes_ += one.size;
    if (is_sender_) {
      make_message(one.message, one.size, one.number);
      one.request = acp_nbsend_ch(ch_, one.message.data(), one.size);
    } else {
      one.message.resize(one.size + 1);
      one.request = acp_nbrecv_ch(ch_, one.message.data(), one.message.size());
    }
    EXPECT(one.request != ACP_REQUEST_NULL);
  }

  void finish() {
    Pending& one = pending_.front();
    const std::size_t got = acp_wait_ch(one.request);
    if (is_sender_) {
      EXPECT_EQ(got, std::size_t{0});
    } else {
      EXPECT_EQ(got, one.size);
      check_message(one.message, one.size, one.number);
    }
    pending_.pop_front();
  }

  void end() {
    while (!pending_.empty()) {
      finish();
    }
    EXPECT_EQ(acp_free_ch(ch_), 0);
  }

 private:
  struct Pending {
    Bytes message;
    std::size_t size = 0;
    std::uint64_t number = 0;
    acp_request_t request = ACP_REQUEST_NULL;
  };

  bool is_sender_;
  acp_ch_t ch_;
  std::mt19937_64 random_;
  std::size_t window_;
  std::deque<Pending> pending_;
  std::uint64_t posted_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Resident bytes of this process that other processes share, which contain the
/// channels' rings.
std::size_t shared_bytes() {
  std::size_t pages[3] = {};
  std::ifstream file("/proc/self/statm");
  EXPECT(file >> pages[0] >> pages[1] >> pages[2]);
  return pages[2] * 4096;
}

/// Waits for a word of this rank's starter memory without a call of the
/// library.
void compute_until(std::uint64_t value) {
  auto* word = static_cast<std::uint64_t*>(
      acp_query_address(acp_query_starter_ga(acp_rank())));
  const auto limit = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(spmd::kPatience);
  while (std::atomic_ref(*word).load() != value) {
    EXPECT(std::chrono::steady_clock::now() < limit);
    sched_yield();
  }
}

/// Sets the word that compute_until() waits for.
void tell(int rank, std::uint64_t value) {
  const acpx_op_t put = {
      ACPX_PUT8, ACPX_SIGNAL, acp_query_starter_ga(rank), 0, 0, value, 0};
  acp_complete(acpx_post(&put, 1, ACP_HANDLE_NULL));
}

}  // namespace

SPMD_CASE(channels_million_messages,
          "channels: messages of all sizes over 8 channels, both ways") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() >= 2) {
    return;
  }
  const std::size_t messages = spmd::scaled(1'000'000, 1000);
  // Log-uniform sizes to 4 MiB are 275 KB on average: the volume is limited.
  const double most = is_over_network() ? 2e9 : 50e9;
  const auto limit = static_cast<std::uint64_t>(most * spmd::scale());
  std::deque<Stream> streams;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const int sender = static_cast<int>(i % 2);
    streams.emplace_back(sender, 1 - sender, i, 4);
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < messages; ++i) {
    Stream& stream = streams[i % streams.size()];
    const std::uint64_t before = stream.bytes();
    // Both ranks count the same bytes.
    stream.post(bytes < limit ? kLongest : 1024);
    bytes += stream.bytes() - before;
  }
  for (Stream& stream : streams) {
    stream.end();
  }
  if (acp_rank() == 0) {
    std::printf("   %zu messages, %.2f GB\n", messages,
                static_cast<double>(bytes) / 1e9);
  }
}

// Each rank has two channels with every other rank, one in each direction.
SPMD_CASE(channels_all_to_all,
          "channels: every rank to every rank, random sizes") {
  SPMD_NEEDS_RANKS(2);
  const int me = acp_rank();
  const int procs = acp_procs();
  std::deque<Stream> streams;
  for (int a = 0; a < procs; ++a) {
    for (int b = 0; b < procs; ++b) {
      if (a != b && (a == me || b == me)) {
        streams.emplace_back(a, b, static_cast<std::uint64_t>(a * procs + b),
                             4);
      }
    }
  }
  const std::size_t rounds = spmd::scaled(1000, 8);
  for (std::size_t i = 0; i < rounds; ++i) {
    for (Stream& stream : streams) {
      stream.post(i % 50 == 49 ? 300'000 : 3000);
    }
  }
  for (Stream& stream : streams) {
    stream.end();
  }
}

SPMD_CASE(channels_large_to_a_program_that_computes,
          "channels: a large message ends though its receiver only computes") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() >= 2) {
    return;
  }
  // Values that no earlier case has put into the word.
  constexpr std::uint64_t kTold = std::uint64_t{1} << 32;
  const std::size_t rounds = spmd::scaled(10'000, 100);
  const acp_ch_t ch = acp_create_ch(0, 1);
  Bytes message(std::size_t{1} << 20);
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    if (acp_rank() == 0) {
      make_message(message, message.size(), i);
      const acp_request_t request =
          acp_nbsend_ch(ch, message.data(), message.size());
      EXPECT_EQ(acp_wait_ch(request), std::size_t{0});
      tell(1, kTold + i);
      continue;
    }
    const acp_request_t request =
        acp_nbrecv_ch(ch, message.data(), message.size());
    compute_until(kTold + i);
    EXPECT_EQ(acp_wait_ch(request), message.size());
    check_message(message, message.size(), i);
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

SPMD_CASE(channels_freed_by_a_program_that_computes,
          "channels: the end of a full ring comes though its sender computes") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() >= 2) {
    return;
  }
  // Values that no earlier case has put into the word.
  constexpr std::uint64_t kTold = std::uint64_t{2} << 32;
  constexpr std::uint64_t kRecord =
      16;  // bytes in the ring for 8 bytes of data
  std::uint64_t ring = 0;
  EXPECT_EQ(acpx_setting("ACP_CH_BUFFER", &ring), 0);
  const std::uint64_t fitting = std::bit_floor(ring) / kRecord - 1;
  for (std::uint64_t count = fitting - 2; count <= fitting + 2; ++count) {
    const acp_ch_t ch = acp_create_ch(0, 1);
    std::vector<std::uint64_t> numbers(count + 1);
    std::vector<acp_request_t> requests;
    if (acp_rank() == 0) {
      std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
      for (std::uint64_t i = 0; i < count; ++i) {
        requests.push_back(acp_nbsend_ch(ch, &numbers[i], 8));
      }
      requests.push_back(acp_nbfree_ch(ch));
      tell(1, kTold + count);
      compute_until(kTold + count);
      EXPECT_EQ(acp_waitall_ch(requests.data(),
                               static_cast<int>(requests.size()), nullptr),
                0);
      continue;
    }
    compute_until(kTold + count);
    for (std::uint64_t i = 0; i < count; ++i) {
      EXPECT_EQ(acp_wait_ch(acp_nbrecv_ch(ch, &numbers[i], 8)), std::size_t{8});
      EXPECT_EQ(numbers[i], i);
    }
    EXPECT_FAILS(acp_wait_ch(acp_nbrecv_ch(ch, &numbers[count], 8)),
                 static_cast<std::size_t>(-1), ACPX_CLOSED);
    tell(0, kTold + count);
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
}

// Each message takes a sixteenth of the ring, and each fourth brings credit.
// The credit of the eighth waits for an answer, since all before were answered.
// The sends that follow need it.
SPMD_CASE(channels_credit_of_a_program_that_computes,
          "channels: credit comes though its receiver stops answering") {
  SPMD_NEEDS_RANKS(2);
  const int me = acp_rank();
  if (me >= 2) {
    return;
  }
  // Values that no earlier case has put into the word.
  constexpr std::uint64_t kTold = std::uint64_t{3} << 32;
  constexpr std::size_t kHeader = 8;
  std::uint64_t ring = 0;
  EXPECT_EQ(acpx_setting("ACP_CH_BUFFER", &ring), 0);
  Bytes message(std::bit_floor(ring) / 16 - kHeader);
  const std::uint64_t rounds = spmd::scaled(200, 10);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const acp_ch_t there = acp_create_ch(me, 1 - me);
    const acp_ch_t back = acp_create_ch(1 - me, me);
    const auto send = [&] {
      return acp_nbsend_ch(there, message.data(), message.size());
    };
    const auto receive = [&] {
      EXPECT_EQ(
          acp_wait_ch(acp_nbrecv_ch(back, message.data(), message.size())),
          message.size());
    };
    for (int i = 1; i <= 8; ++i) {
      if (me == 0) {
        EXPECT_EQ(acp_wait_ch(send()), std::size_t{0});
      }
      if (me == 1 || i < 8) {
        receive();
      }
      if (me == 1 && i < 8) {
        EXPECT_EQ(acp_wait_ch(send()), std::size_t{0});
      }
    }
    if (me == 0) {
      std::vector<acp_request_t> requests(15);
      std::ranges::generate(requests, send);
      EXPECT_EQ(acp_waitall_ch(requests.data(),
                               static_cast<int>(requests.size()), nullptr),
                0);
      tell(1, kTold + round);
    } else {
      compute_until(kTold + round);
      for (int i = 0; i < 15; ++i) {
        receive();
      }
    }
    EXPECT_EQ(acp_free_ch(there), 0);
    EXPECT_EQ(acp_free_ch(back), 0);
  }
}

SPMD_CASE(channels_slow_receiver,
          "channels: what nobody asked for takes a bounded memory") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() >= 2) {
    return;
  }
  constexpr std::size_t kMessages = 20'000;
  constexpr std::size_t kBytes = 1000;
  const acp_ch_t ch = acp_create_ch(0, 1);
  std::vector<Bytes> messages(kMessages, Bytes(kBytes));
  std::vector<acp_request_t> requests;
  if (acp_rank() == 0) {
    for (std::size_t i = 0; i < kMessages; ++i) {
      make_message(messages[i], kBytes, i);
      requests.push_back(acp_nbsend_ch(ch, messages[i].data(), kBytes));
    }
    requests.push_back(acp_nbsend_ch(ch, nullptr, 0));
  } else {
    const std::size_t before = shared_bytes();
    requests.push_back(acp_nbrecv_ch(ch, messages[0].data(), kBytes));
    EXPECT_EQ(acp_wait_ch(requests[0]), kBytes);
    // Nothing happens here for a while but the library's own work.
    EXPECT_EQ(acpx_wait_until([](void*) { return 0; }, nullptr, 100), 1);
    EXPECT(shared_bytes() < before + (std::size_t{1} << 20));
    for (std::size_t i = 1; i < kMessages; ++i) {
      requests.push_back(acp_nbrecv_ch(ch, messages[i].data(), kBytes));
    }
    requests.push_back(acp_nbrecv_ch(ch, nullptr, 0));
    requests.erase(requests.begin());
  }
  EXPECT_EQ(acp_waitall_ch(requests.data(), static_cast<int>(requests.size()),
                           nullptr),
            0);
  for (std::size_t i = 0; i < kMessages; ++i) {
    check_message(messages[i], kBytes, i);
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

SPMD_CASE(channels_without_keys,
          "channels: large messages need no key of the program's") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() >= 2) {
    return;
  }
  for (const int who : {0, 1, 2}) {  // sender, receiver, both are out of keys
    static std::uint64_t word = 0;
    std::vector<acp_atkey_t> keys;
    while (who == 2 || acp_rank() == who) {
      const acp_atkey_t key = acp_register_memory(&word, sizeof word, 0);
      if (key == ACP_ATKEY_NULL) {
        break;
      }
      keys.push_back(key);
    }
    acp_errno = 0;
    Stream stream(0, 1, 77 + static_cast<std::uint64_t>(who), 3);
    for (std::size_t i = 0; i < 30; ++i) {
      stream.post(kLongest);
    }
    stream.end();
    EXPECT_EQ(acp_errno, 0);
    for (const acp_atkey_t key : keys) {
      EXPECT_EQ(acp_unregister_memory(key), 0);
    }
  }
}

// A third of the channels goes the other way, so that both ranks send and
// receive.
SPMD_CASE(channels_by_the_hundred,
          "channels: hundreds of a pair, made, used and freed") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() >= 2) {
    return;
  }
  for (std::size_t round = 0; round < 3; ++round) {
    std::deque<Stream> streams;
    for (std::size_t i = 0; i < 300; ++i) {
      const int sender = static_cast<int>(i % 3 == 0);
      streams.emplace_back(sender, 1 - sender, i, 2);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      for (Stream& stream : streams) {
        stream.post(5000);
      }
    }
    for (Stream& stream : streams) {
      stream.end();
    }
  }
}

// Each rank has four threads, and each thread has a channel of its own.
SPMD_CASE(channels_with_threads,
          "channels: threads with channels of their own at the same time") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() >= 2) {
    return;
  }
  const std::size_t rounds = spmd::scaled(5000);
  std::deque<Stream> streams;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const int sender = static_cast<int>(i % 2);
    streams.emplace_back(sender, 1 - sender, 200 + i, 4);
  }
  std::vector<std::thread> threads;
  for (Stream& stream : streams) {
    threads.emplace_back([&stream, rounds] {
      for (std::size_t i = 0; i < rounds; ++i) {
        stream.post(i % 100 == 99 ? 500'000 : 2000);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (Stream& stream : streams) {
    stream.end();
  }
}

// In each round one rank, chosen at random, creates its end after the other.
SPMD_CASE(channels_create_late,
          "channels: partners come late, by turns, with messages waiting") {
  SPMD_NEEDS_RANKS(2);
  if (acp_rank() >= 2) {
    return;
  }
  auto random = spmd::random_of_job(9);
  for (std::size_t i = 0; i < spmd::scaled(500); ++i) {
    const int sender = static_cast<int>(random() % 2);
    const std::uint64_t late_rank = random() % 2;
    const std::size_t pause = random() % 200'000;
    if (acp_rank() == static_cast<int>(late_rank)) {
      for (volatile std::size_t spin = 0; spin < pause;) {
        spin = spin + 1;
      }
    }
    Stream stream(sender, 1 - sender, i, 4);
    for (std::size_t k = 0; k < random() % 6; ++k) {
      stream.post(100'000);
    }
    stream.end();
  }
}
