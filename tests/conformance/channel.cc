// Tests of acp/channel.h, function by function: effects, results, and the
// arguments that it refuses.
#include "acp/channel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

constexpr std::size_t kFailed = SIZE_MAX;

bool is_even() {
  return acp_rank() % 2 == 0;
}

/// The partner of this rank: 0 and 1, 2 and 3, ... are pairs. -1: this rank has
/// none.
int partner() {
  const int other = is_even() ? acp_rank() + 1 : acp_rank() - 1;
  return other < acp_procs() ? other : -1;
}

/// Creates this rank's end of a channel from the even rank of the pair to the
/// odd one.
acp_ch_t create_with_partner() {
  const int even = acp_rank() / 2 * 2;
  const acp_ch_t ch = acp_create_ch(even, even + 1);
  EXPECT(ch != ACP_CH_NULL);
  return ch;
}

void send(acp_ch_t ch, const void* bytes, std::size_t size) {
  const acp_request_t request =
      acp_nbsend_ch(ch, const_cast<void*>(bytes), size);
  EXPECT(request != ACP_REQUEST_NULL);
  EXPECT_EQ(acp_wait_ch(request), std::size_t{0});
}

std::size_t receive(acp_ch_t ch, void* bytes, std::size_t size) {
  const acp_request_t request = acp_nbrecv_ch(ch, bytes, size);
  EXPECT(request != ACP_REQUEST_NULL);
  return acp_wait_ch(request);
}

void send_number(acp_ch_t ch, std::uint64_t number) {
  send(ch, &number, sizeof number);
}

std::uint64_t receive_number(acp_ch_t ch) {
  std::uint64_t number = 0;
  EXPECT_EQ(receive(ch, &number, sizeof number), sizeof number);
  return number;
}

std::vector<std::byte> pattern(std::size_t size, std::uint64_t salt) {
  std::vector<std::byte> bytes(size);
  spmd::fill_pattern(bytes, salt);
  return bytes;
}

/// Leaves the case when a rank has no partner.
#define NEEDS_PAIRS()                        \
  if (acp_procs() % 2 != 0) {                \
    spmd::note_skip("needs pairs of ranks"); \
    return;                                  \
  }                                          \
  static_cast<void>(0)

/// Sizes around each limit of the protocol.
std::vector<std::size_t> sizes() {
  return {0,     1,     7,      8,      9,      63,     64,      100,
          4096,  10000, 16375,  16376,  16377,  16384,  32768,   65520,
          65535, 65536, 100000, 131072, 262144, 300001, 1 << 20, 5000000};
}

}  // namespace

SPMD_CASE(acp_create_ch_refuses, "acp_create_ch: refuses wrong ranks") {
  const int me = acp_rank();
  const int procs = acp_procs();
  EXPECT_FAILS(acp_create_ch(me, me), ACP_CH_NULL, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_create_ch(me, procs), ACP_CH_NULL, ACPX_BAD_RANK);
  EXPECT_FAILS(acp_create_ch(-1, me), ACP_CH_NULL, ACPX_BAD_RANK);
  if (procs >= 3) {
    EXPECT_FAILS(acp_create_ch((me + 1) % procs, (me + 2) % procs), ACP_CH_NULL,
                 ACPX_INVALID_ARGUMENT);
  }
}

// Either end goes first, with a barrier in between. So the first end has
// created its channel and posted its message before the other end exists.
SPMD_CASE(acp_create_ch_does_not_wait,
          "acp_create_ch: returns before the other rank has called it") {
  NEEDS_PAIRS();
  for (const bool even_first : {true, false}) {
    for (const std::size_t size : {8, 5000, 300'000}) {
      acp_ch_t ch = ACP_CH_NULL;
      acp_request_t request = ACP_REQUEST_NULL;
      auto bytes = is_even() ? pattern(size, 5) : std::vector<std::byte>(size);
      const auto start = [&] {
        ch = create_with_partner();
        request = is_even() ? acp_nbsend_ch(ch, bytes.data(), size)
                            : acp_nbrecv_ch(ch, bytes.data(), size);
        EXPECT(request != ACP_REQUEST_NULL);
      };
      if (is_even() == even_first) {
        start();
      }
      acp_sync();
      if (is_even() != even_first) {
        start();
      }
      EXPECT(acp_wait_ch(request) != kFailed);
      spmd::expect_pattern(bytes, 5);
      EXPECT_EQ(acp_free_ch(ch), 0);
    }
  }
}

// The sender uses the channels backwards, so that a channel that met another
// one's partner would bring a wrong number.
SPMD_CASE(acp_create_ch_matches_in_order,
          "acp_create_ch: several channels of a pair meet in order") {
  NEEDS_PAIRS();
  constexpr std::size_t kChannels = 20;
  std::vector<acp_ch_t> channels;
  for (std::size_t i = 0; i < kChannels; ++i) {
    channels.push_back(create_with_partner());
  }
  std::vector<std::uint64_t> numbers(kChannels, 0);
  std::vector<acp_request_t> requests;
  for (std::size_t i = 0; i < kChannels; ++i) {
    const std::size_t k = is_even() ? kChannels - 1 - i : i;
    if (is_even()) {
      numbers[k] = 100 + k;
    }
    requests.push_back(is_even() ? acp_nbsend_ch(channels[k], &numbers[k], 8)
                                 : acp_nbrecv_ch(channels[k], &numbers[k], 8));
  }
  EXPECT_EQ(
      acp_waitall_ch(requests.data(), static_cast<int>(kChannels), nullptr), 0);
  for (std::size_t i = 0; i < kChannels; ++i) {
    EXPECT_EQ(numbers[i], 100 + i);
    EXPECT_EQ(acp_free_ch(channels[i]), 0);
  }
}

// The sender waits in the barrier, so the first wait cannot find the message.
SPMD_CASE(acpx_wait_ch_timeout_looks,
          "acpx_wait_ch_timeout: a request goes on when the time is over") {
  NEEDS_PAIRS();
  const acp_ch_t ch = create_with_partner();
  std::uint64_t number = is_even() ? 7 : 0;
  acp_request_t request = ACP_REQUEST_NULL;
  std::size_t size = 99;
  if (!is_even()) {
    request = acp_nbrecv_ch(ch, &number, sizeof number);
    EXPECT_EQ(acpx_wait_ch_timeout(request, 0, &size), 1);
    EXPECT_EQ(acpx_wait_ch_timeout(request, 20, &size), 1);
    EXPECT_EQ(size, std::size_t{99});
  }
  acp_sync();
  if (is_even()) {
    request = acp_nbsend_ch(ch, &number, sizeof number);
  }
  EXPECT_EQ(acpx_wait_ch_timeout(request, spmd::kPatience, &size), 0);
  EXPECT_EQ(size, is_even() ? std::size_t{0} : sizeof number);
  EXPECT_EQ(number, std::uint64_t{7});
  EXPECT_FAILS(acpx_wait_ch_timeout(request, 0, &size), -1,
               ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(acp_free_ch(ch), 0);
}

SPMD_CASE(acp_nbsend_ch_sizes, "acp_nbsend_ch: messages of all sizes") {
  NEEDS_PAIRS();
  const acp_ch_t ch = create_with_partner();
  for (const std::size_t size : sizes()) {
    if (is_even()) {
      const auto bytes = pattern(size, size);
      send(ch, bytes.data(), size);
    } else {
      std::vector<std::byte> bytes(size + 64, std::byte{0x5a});
      EXPECT_EQ(receive(ch, bytes.data(), size + 32), size);
      spmd::expect_pattern(std::span(bytes).first(size), size);
      EXPECT(std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(size),
                         bytes.end(),
                         [](std::byte b) { return b == std::byte{0x5a}; }));
    }
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// The requests outnumber every window, and the newest is waited for first. So
// acp_wait_ch has to complete all that come before.
SPMD_CASE(acp_nbsend_ch_any_number,
          "acp_nbsend_ch: any number may be posted, and waited for backwards") {
  NEEDS_PAIRS();
  const acp_ch_t ch = create_with_partner();
  const std::size_t count = spmd::scaled(50'000);
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  if (!is_even()) {
    std::fill(numbers.begin(), numbers.end(), 0);
  }
  std::vector<acp_request_t> requests;
  for (std::uint64_t& number : numbers) {
    requests.push_back(is_even() ? acp_nbsend_ch(ch, &number, 8)
                                 : acp_nbrecv_ch(ch, &number, 8));
    EXPECT(requests.back() != ACP_REQUEST_NULL);
  }
  std::reverse(requests.begin(), requests.end());
  std::vector<std::size_t> got(count);
  EXPECT_EQ(
      acp_waitall_ch(requests.data(), static_cast<int>(count), got.data()), 0);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(numbers[i], i + 1);
    EXPECT_EQ(got[i], std::size_t{is_even() ? 0U : 8U});
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

SPMD_CASE(acp_nbrecv_ch_discards,
          "acp_nbrecv_ch: a short buffer loses the end of the message") {
  NEEDS_PAIRS();
  const acp_ch_t ch = create_with_partner();
  for (const std::size_t size : sizes()) {
    for (const std::size_t room : {std::size_t{0}, size / 2, size}) {
      if (is_even()) {
        const auto bytes = pattern(size, size);
        send(ch, bytes.data(), size);
      } else {
        std::vector<std::byte> bytes(size + 16, std::byte{0x5a});
        EXPECT_EQ(receive(ch, bytes.data(), room), room);
        spmd::expect_pattern(std::span(bytes).first(room), size);
        EXPECT(bytes[room] == std::byte{0x5a});
      }
    }
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// The arguments that need no channel come first, because a rank without a
// partner ends there. Of two requests one is waited for already, and only the
// other may succeed.
SPMD_CASE(acp_wait_ch_refuses,
          "acp_wait_ch: a request is waited for once, and has to exist") {
  EXPECT_FAILS(acp_wait_ch(ACP_REQUEST_NULL), kFailed, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_wait_ch(reinterpret_cast<acp_request_t>(&is_even)), kFailed,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_wait_ch(reinterpret_cast<acp_request_t>(UINTPTR_MAX)),
               kFailed, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_waitall_ch(nullptr, 1, nullptr), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_waitall_ch(nullptr, -1, nullptr), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(acp_waitall_ch(nullptr, 0, nullptr), 0);
  if (partner() < 0) {
    return;
  }
  const acp_ch_t ch = create_with_partner();
  std::uint64_t number = 5;
  acp_request_t requests[2] = {};
  for (acp_request_t& request : requests) {
    request = is_even() ? acp_nbsend_ch(ch, &number, 8)
                        : acp_nbrecv_ch(ch, &number, 8);
  }
  EXPECT(acp_wait_ch(requests[0]) != kFailed);
  EXPECT_FAILS(acp_wait_ch(requests[0]), kFailed, ACPX_INVALID_ARGUMENT);
  std::size_t got[2] = {};
  EXPECT_FAILS(acp_waitall_ch(requests, 2, got), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(got[0], kFailed);
  EXPECT(got[1] != kFailed);
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// Each call is refused on a channel handle of NULL, in the wrong direction, and
// on a channel that is being freed.
SPMD_CASE(acp_nbsend_ch_refuses,
          "acp_nbsend_ch, acp_nbrecv_ch: wrong direction, dead channel, NULL") {
  std::uint64_t number = 0;
  EXPECT_FAILS(acp_nbsend_ch(ACP_CH_NULL, &number, 8), ACP_REQUEST_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_nbrecv_ch(reinterpret_cast<acp_ch_t>(&is_even), &number, 8),
               ACP_REQUEST_NULL, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_nbfree_ch(ACP_CH_NULL), ACP_REQUEST_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_free_ch(ACP_CH_NULL), -1, ACPX_INVALID_ARGUMENT);
  NEEDS_PAIRS();
  const acp_ch_t ch = create_with_partner();
  if (is_even()) {
    EXPECT_FAILS(acp_nbrecv_ch(ch, &number, 8), ACP_REQUEST_NULL,
                 ACPX_INVALID_ARGUMENT);
    EXPECT_FAILS(acp_nbsend_ch(ch, nullptr, 8), ACP_REQUEST_NULL,
                 ACPX_INVALID_ARGUMENT);
  } else {
    EXPECT_FAILS(acp_nbsend_ch(ch, &number, 8), ACP_REQUEST_NULL,
                 ACPX_INVALID_ARGUMENT);
    EXPECT_FAILS(acp_nbrecv_ch(ch, nullptr, 8), ACP_REQUEST_NULL,
                 ACPX_INVALID_ARGUMENT);
  }
  const acp_request_t freed = acp_nbfree_ch(ch);
  EXPECT(freed != ACP_REQUEST_NULL);
  EXPECT_FAILS(acp_nbsend_ch(ch, &number, 8), ACP_REQUEST_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_nbrecv_ch(ch, &number, 8), ACP_REQUEST_NULL,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acp_nbfree_ch(ch), ACP_REQUEST_NULL, ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(acp_wait_ch(freed), std::size_t{0});
  EXPECT_FAILS(acp_wait_ch(freed), kFailed, ACPX_INVALID_ARGUMENT);
}

// The sizes go each way that a message can take. The channel is freed before
// its requests are waited for.
SPMD_CASE(acp_free_ch_completes,
          "acp_free_ch: completes what was sent before; requests outlive it") {
  NEEDS_PAIRS();
  for (const std::size_t size : {8, 5000, 70000, 1 << 20}) {
    constexpr std::size_t kMessages = 30;
    const acp_ch_t ch = create_with_partner();
    std::vector<std::vector<std::byte>> messages;
    std::vector<acp_request_t> requests;
    for (std::size_t i = 0; i < kMessages; ++i) {
      messages.push_back(is_even() ? pattern(size, i)
                                   : std::vector<std::byte>(size));
      requests.push_back(is_even()
                             ? acp_nbsend_ch(ch, messages[i].data(), size)
                             : acp_nbrecv_ch(ch, messages[i].data(), size));
      EXPECT(requests.back() != ACP_REQUEST_NULL);
    }
    EXPECT_EQ(acp_free_ch(ch), 0);
    EXPECT_EQ(acp_waitall_ch(requests.data(), kMessages, nullptr), 0);
    for (std::size_t i = 0; i < kMessages; ++i) {
      spmd::expect_pattern(messages[i], i);
    }
  }
}

SPMD_CASE(acp_free_ch_of_sender_ends_receives,
          "acp_free_ch: receives that no message comes for fail, closed") {
  NEEDS_PAIRS();
  const acp_ch_t ch = create_with_partner();
  if (is_even()) {
    send_number(ch, 1);
    EXPECT_EQ(acp_free_ch(ch), 0);
  } else {
    EXPECT_EQ(receive_number(ch), 1U);
    std::uint64_t number = 0;
    EXPECT_FAILS(acp_wait_ch(acp_nbrecv_ch(ch, &number, 8)), kFailed,
                 ACPX_CLOSED);
    EXPECT_FAILS(acp_wait_ch(acp_nbrecv_ch(ch, &number, 8)), kFailed,
                 ACPX_CLOSED);
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
}

SPMD_CASE(acp_free_ch_of_receiver_drops,
          "acp_free_ch: a receiver's drops what it has not received") {
  NEEDS_PAIRS();
  for (const std::size_t size : {8, 20000, 200000}) {
    const acp_ch_t ch = create_with_partner();
    if (is_even()) {
      const auto bytes = pattern(size, 3);
      for (int i = 0; i < 40; ++i) {
        send(ch, bytes.data(), size);
      }
      EXPECT_EQ(acp_free_ch(ch), 0);
    } else {
      std::vector<std::byte> bytes(size);
      EXPECT_EQ(receive(ch, bytes.data(), size), size);
      EXPECT_EQ(acp_free_ch(ch), 0);
    }
  }
}

SPMD_CASE(acp_free_ch_does_not_wait_for_free,
          "acp_free_ch: needs the other's library, not its free") {
  NEEDS_PAIRS();
  for (const bool sender_frees : {true, false}) {
    const acp_ch_t ch = create_with_partner();
    if (is_even()) {
      send_number(ch, 9);
    } else {
      EXPECT_EQ(receive_number(ch), 9U);
    }
    if (is_even() == sender_frees) {
      EXPECT_EQ(acp_free_ch(ch), 0);
    }
    acp_sync();  // the partner has not freed its end yet
    if (is_even() != sender_frees) {
      EXPECT_EQ(acp_free_ch(ch), 0);
    }
  }
  acp_sync();
}

SPMD_CASE(acp_free_ch_before_the_other_creates,
          "acp_free_ch: ends that were freed early meet their partners") {
  NEEDS_PAIRS();
  // The receiver frees its end before the sender has one.
  if (!is_even()) {
    EXPECT_EQ(acp_free_ch(create_with_partner()), 0);
  }
  acp_sync();
  if (is_even()) {
    const acp_ch_t ch = create_with_partner();
    send_number(ch, 1);  // dropped
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
  acp_sync();
  // Now the sender frees its end first.
  if (is_even()) {
    EXPECT_EQ(acp_free_ch(create_with_partner()), 0);
  }
  acp_sync();
  if (!is_even()) {
    const acp_ch_t ch = create_with_partner();
    std::uint64_t number = 0;
    EXPECT_FAILS(acp_wait_ch(acp_nbrecv_ch(ch, &number, 8)), kFailed,
                 ACPX_CLOSED);
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
  // The next two ends are connected with each other again.
  const acp_ch_t ch = create_with_partner();
  if (is_even()) {
    send_number(ch, 77);
  } else {
    EXPECT_EQ(receive_number(ch), 77U);
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

SPMD_CASE(acp_nbsend_ch_while_computing,
          "acp_nbsend_ch: messages move while both programs compute") {
  NEEDS_PAIRS();
  constexpr std::size_t kBytes = 3'000'000;
  const acp_ch_t ch = create_with_partner();
  auto bytes = is_even() ? pattern(kBytes, 11) : std::vector<std::byte>(kBytes);
  const acp_request_t request = is_even()
                                    ? acp_nbsend_ch(ch, bytes.data(), kBytes)
                                    : acp_nbrecv_ch(ch, bytes.data(), kBytes);
  EXPECT(request != ACP_REQUEST_NULL);
#ifndef __SANITIZE_THREAD__  // it takes a look at memory in use for a race
  if (!is_even()) {
    // This makes no call of the library, so the progress thread has to do the
    // work.
    const auto* last =
        reinterpret_cast<const volatile unsigned char*>(&bytes[kBytes - 1]);
    const auto wanted =
        static_cast<unsigned char>(spmd::pattern_byte(11, kBytes - 1));
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (*last != wanted && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
    EXPECT(*last == wanted);
  }
#endif
  EXPECT(acp_wait_ch(request) != kFailed);
  if (!is_even()) {
    spmd::expect_pattern(bytes, 11);
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

SPMD_CASE(acp_nbsend_ch_bursts,
          "acp_nbsend_ch: each of a burst comes while the sender computes") {
  NEEDS_PAIRS();
  constexpr std::size_t kMost = 12;
  const spmd::Block seen(spmd::Memory::kLibrary, 2 * sizeof(std::uint64_t));
  const acp_ch_t ch = create_with_partner();
  std::uint64_t sent = 0;
  for (std::size_t round = 1; round <= spmd::scaled(2000) + kMost; ++round) {
    const std::size_t burst = round % kMost + 1;
    const std::uint64_t last = sent + burst;
    if (!is_even()) {
      while (sent < last) {
        EXPECT_EQ(receive_number(ch), ++sent);
      }
      EXPECT_DONE(
          acp_swap8(seen.mine(8), seen.at(partner()), last, ACP_HANDLE_NULL));
      continue;
    }
    while (sent < last) {
      send_number(ch, ++sent);
    }
    if (round % 3 == 0) {  // a pass that may take the replies
      (void)acp_inquire(ACP_HANDLE_ALL);
    }
    // No call of the library from here: its progress thread sends the rest.
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (seen.word(0).load() != last &&
           std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
    EXPECT_EQ(seen.word(0).load(), last);
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
  EXPECT_EQ(acp_sync(), 0);
}

// Each number tells its sender, its receiver and the round.
SPMD_CASE(acp_create_ch_all_to_all,
          "acp_create_ch: every rank to every other at the same time") {
  const int procs = acp_procs();
  const int me = acp_rank();
  std::vector<acp_ch_t> out(procs);
  std::vector<acp_ch_t> in(procs);
  for (int i = 0; i < procs; ++i) {
    if (i != me) {
      out[i] = acp_create_ch(me, i);
      in[i] = acp_create_ch(i, me);
      EXPECT(out[i] != ACP_CH_NULL);
      EXPECT(in[i] != ACP_CH_NULL);
    }
  }
  for (std::uint64_t round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> sent(procs);
    std::vector<std::uint64_t> got(procs);
    std::vector<acp_request_t> requests;
    for (int i = 0; i < procs; ++i) {
      if (i != me) {
        sent[i] = round * 10'000 + static_cast<std::uint64_t>(me * 100 + i);
        requests.push_back(acp_nbrecv_ch(in[i], &got[i], 8));
        requests.push_back(acp_nbsend_ch(out[i], &sent[i], 8));
      }
    }
    EXPECT_EQ(acp_waitall_ch(requests.data(), static_cast<int>(requests.size()),
                             nullptr),
              0);
    for (int i = 0; i < procs; ++i) {
      if (i != me) {
        EXPECT_EQ(got[i],
                  round * 10'000 + static_cast<std::uint64_t>(i * 100 + me));
      }
    }
  }
  for (int i = 0; i < procs; ++i) {
    if (i != me) {
      EXPECT_EQ(acp_free_ch(out[i]), 0);
      EXPECT_EQ(acp_free_ch(in[i]), 0);
    }
  }
}

SPMD_CASE(acp_create_ch_again_and_again,
          "acp_create_ch: memory and handles come back after a free") {
  NEEDS_PAIRS();
  for (std::size_t i = 0; i < spmd::scaled(2000); ++i) {
    const acp_ch_t ch = create_with_partner();
    if (is_even()) {
      send_number(ch, i);
    } else {
      EXPECT_EQ(receive_number(ch), i);
    }
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
}

// The order of the messages is open with several senders. So the receivers
// count how often each number came.
SPMD_CASE(acp_nbsend_ch_by_threads,
          "acp_nbsend_ch: several threads share a channel") {
  NEEDS_PAIRS();
  constexpr std::size_t kThreads = 3;
  const std::size_t each = spmd::scaled(20'000);
  const acp_ch_t ch = create_with_partner();
  std::vector<std::atomic<int>> seen(kThreads * each);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < each; ++i) {
        if (is_even()) {
          send_number(ch, t * each + i);
        } else {
          const std::uint64_t number = receive_number(ch);
          EXPECT(number < seen.size());
          ++seen[number];
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (!is_even()) {
    for (const std::atomic<int>& count : seen) {
      EXPECT_EQ(count.load(), 1);
    }
  }
  EXPECT_EQ(acp_free_ch(ch), 0);
}

// A request is pending when the ranks are renumbered. Its channel has another
// number afterwards, and is dead.
SPMD_CASE(acp_reset_ends_channels,
          "acp_reset: ends all channels; the next ones work") {
  const int me = acp_rank();
  const int procs = acp_procs();
  std::uint64_t number = 3;
  acp_ch_t old = ACP_CH_NULL;
  acp_request_t pending = ACP_REQUEST_NULL;
  if (partner() >= 0) {
    old = create_with_partner();
    pending = is_even() ? acp_nbsend_ch(old, &number, 8)
                        : acp_nbrecv_ch(old, &number, 8);
  }
  EXPECT_EQ(acp_reset((me + 1) % procs), 0);
  if (old != ACP_CH_NULL) {
    EXPECT_FAILS(acp_wait_ch(pending), kFailed, ACPX_INVALID_ARGUMENT);
    EXPECT_FAILS(acp_nbfree_ch(old), ACP_REQUEST_NULL, ACPX_INVALID_ARGUMENT);
  }
  if (partner() >= 0) {
    const acp_ch_t ch = create_with_partner();
    if (is_even()) {
      send_number(ch, 99);
    } else {
      EXPECT_EQ(receive_number(ch), 99U);
    }
    EXPECT_EQ(acp_free_ch(ch), 0);
  }
  EXPECT_EQ(acp_reset(me), 0);
}

// This case is the last one: acp_finalize follows.
SPMD_CASE(acp_finalize_ends_channels,
          "acp_finalize: completes what was sent, leaves nothing") {
  NEEDS_PAIRS();
  constexpr std::size_t kBytes = 1 << 20;
  static std::array<std::vector<std::byte>, 4> messages;
  static std::vector<acp_request_t> requests;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    messages[i].resize(kBytes);
    const acp_ch_t ch = create_with_partner();
    requests.push_back(is_even() ? acp_nbsend_ch(ch, messages[i].data(), kBytes)
                                 : acp_nbrecv_ch(ch, messages[i].data(), 1000));
    if (i % 2 == 0) {
      EXPECT(acp_nbfree_ch(ch) != ACP_REQUEST_NULL);
    }
  }
  // These ends are never connected.
  if (is_even()) {
    const acp_ch_t lonely = create_with_partner();
    requests.push_back(acp_nbsend_ch(lonely, messages[0].data(), 100));
  } else {
    EXPECT(acp_create_ch(acp_rank(), partner()) != ACP_CH_NULL);
  }
}
