// Cases for every function of lqcd.h, which the hosts of a job call together.
#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "lqcd.h"
#include "support/spmd.h"

namespace {

constexpr std::array<int, 8> kSizes{0,    1,     100,     4096,
                                    4097, 65536, 100'001, 1 << 20};

/// Names of receives. No two cases use one, so that messages left over do not
/// disturb another case.
int next_name() {
  static int name = 0;
  return ++name;
}

int hosts() {
  return acp_procs();
}

/// The number of this host. The last case declares a topology, which numbers
/// the hosts anew.
int me() {
  return acp_rank();
}

std::vector<char> pattern(int from, int round, std::size_t size) {
  std::vector<char> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<char>(static_cast<std::size_t>(from * 31 + round) +
                                 i + i / 251);
  }
  return bytes;
}

/// Fills a buffer without moving it: handles know its address.
void fill(std::vector<char>& bytes, int from, int round) {
  const auto made = pattern(from, round, bytes.size());
  std::copy(made.begin(), made.end(), bytes.begin());
}

std::size_t size_of(int bytes) {
  return static_cast<std::size_t>(bytes);
}

void wait_ok(void* handle) {
  EXPECT_EQ(waitFor(handle, spmd::kPatience), 1);
}

}  // namespace

// The receive starts before the send in every second round, and after it in the
// others.
SPMD_CASE(lqcd_ring, "startSend, startReceive, waitFor: all sizes in a ring") {
  const int right = (me() + 1) % hosts();
  const int left = (me() + hosts() - 1) % hosts();
  int round = 0;
  for (const int size : kSizes) {
    const int name = next_name();
    std::vector<char> out(size_of(size));
    std::vector<char> in(size_of(size));
    void* receive = declareReceive(in.data(), size, name);
    void* send = declareSendTo(out.data(), size, right, name);
    EXPECT(receive != nullptr && send != nullptr);
    for (int again = 0; again < 4; ++again) {
      fill(out, me(), ++round);
      if (again % 2 == 0) {
        startReceive(receive);
        startSend(send);
      } else {
        startSend(send);
        startReceive(receive);
      }
      wait_ok(receive);
      EXPECT(in == pattern(left, round, size_of(size)));
      wait_ok(send);
    }
  }
}

SPMD_CASE(lqcd_short_sends, "startSend: short ones are copies, and complete") {
  const int name = next_name();
  const int right = (me() + 1) % hosts();
  const int left = (me() + hosts() - 1) % hosts();
  constexpr int kCount = 300;  // more messages than an inbox has room for
  std::vector<char> bytes(500);
  void* send = declareSendTo(bytes.data(), 500, right, name);
  for (int i = 0; i < kCount; ++i) {
    fill(bytes, me(), i);
    startSend(send);
    EXPECT_EQ(waitFor(send, 0), 1);
  }
  void* receive = declareReceive(bytes.data(), 500, name);
  for (int i = 0; i < kCount; ++i) {
    startReceive(receive);
    wait_ok(receive);
    EXPECT(bytes == pattern(left, i, 500));
  }
}

SPMD_CASE(lqcd_any_sender, "declareReceive: does not know who sends") {
  // All hosts send to host 0. Messages of one host keep their order.
  const int name = next_name();
  constexpr int kRounds = 20;
  std::array<int, 2000> out{};
  for (const int count : {2, 2000}) {
    void* send = declareSendTo(out.data(), count * 4, 0, name);
    std::array<int, 2000> in{};
    void* receive =
        me() == 0 ? declareReceive(in.data(), count * 4, name) : nullptr;
    std::vector<int> next(size_of(hosts()));
    // Short sends are complete at once, so host 0 may send before it receives.
    const bool is_short = count == 2;
    for (int round = 0; round < kRounds && (is_short || me() != 0); ++round) {
      wait_ok(send);
      out = {me(), round};
      startSend(send);
    }
    const int senders = is_short ? hosts() : hosts() - 1;
    for (int i = 0; receive != nullptr && i < kRounds * senders; ++i) {
      startReceive(receive);
      wait_ok(receive);
      EXPECT_EQ(in[1], next.at(size_of(in[0])));
      ++next.at(size_of(in[0]));
    }
    wait_ok(send);
    waitForBarrier();
  }
}

// Messages are sent in the opposite order of the receives, so only their names
// can bring them together.
SPMD_CASE(lqcd_names, "declareReceive: messages go to their name") {
  constexpr int kNames = 5;
  const int first = next_name();
  std::array<int, kNames> in{};
  std::array<int, kNames> out{};
  std::vector<void*> handles;
  for (int i = 1; i < kNames; ++i)
    (void)next_name();
  for (int i = 0; i < kNames; ++i) {
    handles.push_back(declareReceive(&in.at(size_of(i)), 4, first + i));
    startReceive(handles.back());
  }
  for (int i = kNames - 1; i >= 0; --i) {
    out.at(size_of(i)) = me() * 10 + i;
    handles.push_back(
        declareSendTo(&out.at(size_of(i)), 4, (me() + 1) % hosts(), first + i));
    startSend(handles.back());
  }
  EXPECT_EQ(waitForMultiple(handles.data(), static_cast<int>(handles.size()),
                            spmd::kPatience),
            1);
  for (int i = 0; i < kNames; ++i) {
    EXPECT_EQ(in.at(size_of(i)), (me() + hosts() - 1) % hosts() * 10 + i);
  }
}

SPMD_CASE(lqcd_one_name_twice, "declareReceive: one name twice, in order") {
  const int name = next_name();
  std::array<int, 2> in{};
  int out = 0;
  void* second = declareReceive(&in[1], 4, name);
  void* first = declareReceive(&in[0], 4, name);
  void* send = declareSendTo(&out, 4, me(), name);
  startReceive(first);
  startReceive(second);
  for (out = 7; out < 9; ++out) {
    startSend(send);
  }
  wait_ok(second);
  wait_ok(first);
  EXPECT_EQ(in[0], 7);
  EXPECT_EQ(in[1], 8);
}

SPMD_CASE(lqcd_gated, "startSend: nothing is written before the receive") {
  const int name = next_name();
  constexpr int kBytes = 50'000;
  auto out = pattern(me(), 1, kBytes);
  std::vector<char> in(kBytes, 'x');
  void* receive = declareReceive(in.data(), kBytes, name);
  void* send = declareSendTo(out.data(), kBytes, (me() + 1) % hosts(), name);
  startSend(send);
  EXPECT_EQ(waitFor(send, 20), 0);
  EXPECT_EQ(testCompletion(send), 0);
  EXPECT(in == std::vector<char>(kBytes, 'x'));
  waitForBarrier();
  startReceive(receive);
  wait_ok(receive);
  wait_ok(send);
  EXPECT(in == pattern((me() + hosts() - 1) % hosts(), 1, kBytes));
}

SPMD_CASE(lqcd_lengths, "waitFor: shorter messages fit, longer ones fail") {
  struct Sizes {
    int sent;
    int received;
  };

  for (const auto& [sent, received] :
       {Sizes{10, 5000}, Sizes{9000, 20'000}, Sizes{20, 10}, Sizes{9000, 8000},
        Sizes{9000, 100}, Sizes{5000, 0}}) {
    const int name = next_name();
    auto out = pattern(me(), sent, size_of(sent));
    std::vector<char> in(size_of(received) + 1, 'x');
    void* receive = declareReceive(in.data(), received, name);
    void* send = declareSendTo(out.data(), sent, (me() + 1) % hosts(), name);
    startReceive(receive);
    startSend(send);
    const bool fits = sent <= received;
    EXPECT_EQ(waitFor(receive, spmd::kPatience), fits ? 1 : -1);
    EXPECT(fits || getErrorNumber() == 0x100e);
    EXPECT(fits || std::string(getErrorString()).find("nothing was written") !=
                       std::string::npos);
    EXPECT_EQ(waitFor(send, spmd::kPatience), fits || sent <= 4096 ? 1 : -1);
    const int written = fits ? sent : 0;
    EXPECT(std::equal(
        in.begin(), in.begin() + written,
        pattern((me() + hosts() - 1) % hosts(), sent, size_of(written))
            .begin()));
    EXPECT(std::all_of(in.begin() + written, in.end(),
                       [](char byte) { return byte == 'x'; }));
    // The handles still work.
    startSend(send);
    startReceive(receive);
    (void)waitFor(receive, spmd::kPatience);
    (void)waitFor(send, spmd::kPatience);
  }
}

SPMD_CASE(lqcd_test_completion, "testCompletion: makes progress") {
  const int name = next_name();
  auto out = pattern(me(), 3, 30'000);
  std::vector<char> in(30'000);
  void* receive = declareReceive(in.data(), 30'000, name);
  void* send = declareSendTo(out.data(), 30'000, me(), name);
  EXPECT_EQ(testCompletion(send), 1);  // never started
  startSend(send);
  startReceive(receive);
  bool is_sent = false;
  bool is_received = false;
  while (!is_sent || !is_received) {
    is_sent = is_sent || testCompletion(send) == 1;
    is_received = is_received || testCompletion(receive) == 1;
  }
  EXPECT(in == out);
}

// The handle at the end has been refused in several ways, and must still work.
SPMD_CASE(lqcd_refused, "failures: a code and a sentence") {
  int word = 0;
  EXPECT(declareReceive(nullptr, 4, 1) == nullptr);
  EXPECT_EQ(getErrorNumber(), 0x100f);
  EXPECT(declareReceive(&word, -1, 1) == nullptr);
  EXPECT(declareSendTo(&word, 4, hosts(), 1) == nullptr);
  EXPECT_EQ(getErrorNumber(), 0x1015);
  EXPECT(declareSendTo(&word, 4, -1, 1) == nullptr);
  EXPECT(declareSendRelative(&word, 4, 1, 1) == nullptr);
  EXPECT_EQ(getErrorNumber(), 0x1011);
  const int name = next_name();
  void* receive = declareReceive(&word, 4, name);
  startSend(receive);
  EXPECT_EQ(getErrorNumber(), 0x100f);
  startReceive(receive);
  startReceive(receive);
  EXPECT_EQ(getErrorNumber(), 0x1018);
  EXPECT_EQ(waitFor(nullptr, 0), -1);
  EXPECT_EQ(waitForMultiple(nullptr, 1, 0), -1);
  EXPECT_EQ(waitForMultiple(nullptr, 0, 0), 1);
  sendBroadcast(nullptr, 5, 1);
  EXPECT_EQ(getErrorNumber(), 0x100f);
  EXPECT_EQ(waitForMultiple(&receive, 1, 5), 0);
  int nine = 9;
  void* send = declareSendTo(&nine, 4, me(), name);
  startSend(send);
  wait_ok(receive);
  EXPECT_EQ(word, 9);
}

SPMD_CASE(lqcd_broadcast, "sendBroadcast: a copy, to all others") {
  for (const int size : {0, 16, 4096, 200'000}) {
    const int name = next_name();
    const int root = size % hosts();
    std::vector<char> bytes(size_of(size));
    if (me() == root) {
      bytes = pattern(root, size, size_of(size));
      sendBroadcast(bytes.data(), size, name);
      std::fill(bytes.begin(), bytes.end(), 'x');
      continue;
    }
    void* receive = declareReceive(bytes.data(), size, name);
    startReceive(receive);
    wait_ok(receive);
    EXPECT(bytes == pattern(root, size, size_of(size)));
  }
  waitForBarrier();
}

SPMD_CASE(lqcd_global, "globalOr, sumInt, sumFloat, sumDouble, arrays") {
  const int n = hosts();
  const int sum = n * (n - 1) / 2;  // the numbers of all hosts added up
  EXPECT_EQ(globalOr(false), false);
  EXPECT_EQ(globalOr(me() == n - 1), true);
  EXPECT_EQ(sumInt(me() + 1), n * (n + 1) / 2);
  EXPECT_EQ(sumFloat(0.5F), 0.5F * static_cast<float>(n));
  EXPECT_EQ(sumDouble(me() + 0.25), sum + 0.25 * n);
  std::array<float, 3> floats{1, 2, static_cast<float>(me())};
  sumFloatArray(floats.data(), 3);
  EXPECT_EQ(floats[1], 2.0F * static_cast<float>(n));
  EXPECT_EQ(floats[2], static_cast<float>(sum));
  std::vector<double> doubles(1000, me());
  sumDoubleArray(doubles.data(), 1000);
  EXPECT(doubles == std::vector<double>(1000, sum));
  sumDoubleArray(nullptr, 5);
  EXPECT_EQ(getErrorNumber(), 0x100f);
  waitForBarrier();
}

SPMD_CASE(lqcd_while_computing,
          "messages: go their way while a host computes") {
  SPMD_NEEDS_RANKS(2);
  if (me() > 1) {
    waitForBarrier();
    return;
  }
  const int name = next_name();
  std::vector<char> bytes = pattern(0, 8, 50'000);
  if (me() == 0) {
    // Host 0 need not call anything between start and barrier.
    void* send = declareSendTo(bytes.data(), 50'000, 1, name);
    startSend(send);
    waitForBarrier();
    wait_ok(send);
    return;
  }
  std::vector<char> in(50'000);
  void* receive = declareReceive(in.data(), 50'000, name);
  startReceive(receive);
  wait_ok(receive);
  EXPECT(in == bytes);
  waitForBarrier();
}

SPMD_CASE(lqcd_topology, "declareTopology, declareSendRelative") {
  std::array<int, 3> sizes{1, 1, 1};
  switch (hosts()) {
    case 4: sizes = {2, 1, 2}; break;
    case 8: sizes = {2, 2, 2}; break;
    default: sizes = {hosts(), 1, 1}; break;
  }
  // All hosts refuse a wrong product, a number that occurs twice, and one out
  // of range.
  std::array<int, 1> wrong{hosts() + 1};
  declareTopology(wrong.data(), 1, me());
  EXPECT_EQ(getErrorNumber(), 0x1010);
  declareTopology(sizes.data(), 3, me() == 0 ? hosts() : me());
  EXPECT_EQ(getErrorNumber(), 0x1010);
  if (hosts() > 1) {
    declareTopology(sizes.data(), 3, 0);
    EXPECT_EQ(getErrorNumber(), 0x1010);
  }
  // Hosts are numbered against the ranks.
  const int number = hosts() - 1 - me();
  declareTopology(sizes.data(), 3, number);
  for (int axis = 0; axis < 3; ++axis) {
    int pitch = 1;
    for (int below = 0; below < axis; ++below)
      pitch *= sizes.at(size_of(below));
    const int size = sizes.at(size_of(axis));
    const int at = number / pitch % size;
    for (const int sign : {1, -1}) {
      const int name = 100'000 + axis * 2 + (sign > 0 ? 1 : 0);
      int in = -1;
      int out = number;
      void* receive = declareReceive(&in, 4, name);
      void* send = declareSendRelative(&out, 4, sign * (axis + 1), name);
      EXPECT(send != nullptr);
      startReceive(receive);
      startSend(send);
      wait_ok(receive);
      const int from = (at - sign + size) % size;
      EXPECT_EQ(in, number + (from - at) * pitch);
      wait_ok(send);
    }
  }
  int word = 0;
  EXPECT(declareSendRelative(&word, 4, 0, 1) == nullptr);
  EXPECT(declareSendRelative(&word, 4, 4, 1) == nullptr);
  EXPECT(declareSendRelative(&word, 4, -4, 1) == nullptr);
  EXPECT_EQ(getErrorNumber(), 0x100f);
  // Absolute numbers follow the new order now.
  int in = -1;
  int out = number;
  void* receive = declareReceive(&in, 4, 200'000);
  void* send = declareSendTo(&out, 4, (number + 1) % hosts(), 200'000);
  startReceive(receive);
  startSend(send);
  wait_ok(receive);
  EXPECT_EQ(in, (number + hosts() - 1) % hosts());
  declareTopology(sizes.data(), 3, number);
  EXPECT_EQ(getErrorNumber(), 0x100a);
}

int main(int argc, char** argv) {
  if (spmd::list_cases(argc, argv)) {
    return 0;
  }
  spmd::watch_time();
  if (initMachine() != 0) {
    return 1;
  }
  EXPECT(initMachine() != 0);  // a second time
  const int result = spmd::run_chosen(argc, argv);
  return shutdownMachine() == 0 ? result : 1;
}
