// Tests of acp.hpp: pointers, values, atomics, orders, futures, tasks, and
// registered and allocated memory.
#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "acp/acp.hpp"
#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

struct Point {
  double x;
  std::uint32_t count;
  std::uint32_t color;
};

/// The code that a call throws; 0 if it throws nothing.
template <typename Call>
int code_of(const Call& call) {
  const spmd::StderrCapture quiet;
  try {
    call();
  } catch (const acp::error& error) {
    EXPECT(std::string(error.what()).size() > 5);
    return error.code();
  }
  return 0;
}

int right() {
  return spmd::right_of(acp::rank());
}

/// The memory of each rank, by its address.
template <typename T>
std::vector<acp::global_ptr<T>> all_of(acp::global_ptr<T> mine) {
  std::vector<acp::global_ptr<T>> all;
  for (const std::uint64_t ga : spmd::gather(mine.ga())) {
    all.emplace_back(ga);
  }
  return all;
}

template <typename T>
acp::global_ptr<T> right_of(acp::global_ptr<T> mine) {
  return all_of(mine)[static_cast<std::size_t>(right())];
}

}  // namespace

SPMD_CASE(cpp_pointer_arithmetic, "global_ptr: arithmetic, order, members") {
  const acp::registered<Point> points(10);
  const acp::global_ptr<Point> first = points.ptr();
  EXPECT((first + 3) - first == 3);
  EXPECT(first < first + 1 && first + 1 > first && first == first);
  acp::global_ptr<Point> moved = first + 5;
  moved -= 2;
  ++moved;
  --moved;
  EXPECT_EQ(moved.ga(), first.ga() + 3 * sizeof(Point));
  EXPECT_EQ((first->*&Point::color).ga(), first.ga() + 12);
  EXPECT(!acp::global_ptr<int>() && !acp::global_ptr<int>(nullptr));
  EXPECT(static_cast<bool>(first));
  EXPECT_EQ(first.rank(), acp::rank());
  EXPECT(first.local() == points.data());
  const acp::global_ptr<const Point> same = first;
  EXPECT_EQ(same.ga(), first.ga());
  EXPECT_EQ(code_of([] { (void)acp::global_ptr<int>().rank(); }),
            ACPX_BAD_ADDRESS);
  EXPECT(acp::global_ptr<int>().local() == nullptr);
}

SPMD_CASE(cpp_values, "get, put, *p, p[i]: values of 1 to 2,048 bytes") {
  acp::registered<Point> points(4);
  acp::registered<char> letters(8);
  using Large = std::array<std::uint64_t, 256>;
  acp::registered<Large> larges(1);
  const auto to = right_of(points.ptr());
  const auto text = right_of(letters.ptr());
  const auto words = right_of(larges.ptr());
  const auto me = static_cast<std::uint32_t>(acp::rank());
  acp::put(to + 1, {0.5, me, 7});
  to[2] = Point{1.5, me, 8};
  to[3] = to[2];
  text[1] = 'x';
  Large value;
  std::iota(value.begin(), value.end(), me);
  *words = value;
  EXPECT_EQ(acp::get(to + 1).x, 0.5);
  const Point back = to[3];
  EXPECT_EQ(back.color, 8U);
  EXPECT(static_cast<Large>(*words) == value);
  acp::sync();
  EXPECT_EQ(letters[1], 'x');
  EXPECT(letters[0] == 0 && letters[2] == 0);
  const int left = (acp::rank() + acp::ranks() - 1) % acp::ranks();
  EXPECT_EQ(points[1].count, static_cast<std::uint32_t>(left));
  EXPECT_EQ(larges[0][255], static_cast<std::uint64_t>(left) + 255);
  acp::sync();
}

SPMD_CASE(cpp_atomics, "atomics: of 4 and 8 bytes, and a pair in one word") {
  acp::registered<std::uint64_t> words(4);
  acp::registered<std::int32_t> halves(2);

  struct Couple {
    std::uint32_t a, b;
  };

  acp::registered<Couple> couples(1);
  const auto to = right_of(words.ptr());
  const auto half = right_of(halves.ptr());
  EXPECT_EQ(acp::fetch_add(to, 5), 0U);
  EXPECT_EQ(acp::fetch_add(to, ~std::uint64_t{0}), 5U);
  EXPECT_EQ(acp::fetch_or(to, 0xf0), 4U);
  EXPECT_EQ(acp::fetch_and(to, 0xf), 0xf4U);
  EXPECT_EQ(acp::fetch_xor(to, 0x5), 4U);
  EXPECT_EQ(acp::exchange(to, 9), 1U);
  EXPECT_EQ(acp::fetch_add(half, -3), 0);
  EXPECT_EQ(acp::get(half), -3);
  std::uint64_t expected = 8;
  EXPECT(!acp::compare_exchange(to, expected, 1));
  EXPECT_EQ(expected, 9U);
  EXPECT(acp::compare_exchange(to, expected, 1));
  const auto pair = right_of(couples.ptr());
  Couple before{0, 0};
  EXPECT(acp::compare_exchange(pair, before, Couple{3, 4}));
  EXPECT_EQ(acp::exchange(pair, Couple{5, 6}).b, 4U);
  acp::async_add(to, 10, acp::async_add(to, 1));
  auto old = acp::async_fetch_add(to, 100, acp::order::all());
  EXPECT_EQ(old.get(), 12U);
  EXPECT_EQ(code_of([&] {
              acp::fetch_add(acp::global_ptr<std::uint64_t>(to.ga() + 4), 1);
            }),
            ACPX_MISALIGNED);
  acp::sync();
  // All ranks add to the words of rank 0.
  const auto zero = all_of(words.ptr() + 3)[0];
  for (int i = 0; i < 100; ++i) {
    acp::async_add(zero, 1);
  }
  acp::wait_all();
  acp::sync();
  EXPECT_EQ(acp::get(zero), 100U * static_cast<unsigned>(acp::ranks()));
  acp::sync();
}

SPMD_CASE(cpp_futures, "future: wait, limits, orders, then, failures") {
  acp::registered<std::uint64_t> words(64);
  const auto to = right_of(words.ptr());
  const acp::future<> first = acp::async_put(to, 1);
  const acp::future<> last = first.then([&](acp::order after) {
    return acp::async_put(to + 1, 2, after).then([&](acp::order later) {
      return acp::copy(to + 2, to, 2, later);
    });
  });
  last.wait();
  EXPECT(first.ready() && last.ready());
  EXPECT(last.wait_for(std::chrono::seconds(0)));
  EXPECT_EQ(acp::get(to + 2), 1U);
  EXPECT_EQ(acp::get(to + 3), 2U);
  acp::future<std::uint64_t> value = acp::async_get(to + 1);
  acp::future<std::uint64_t> moved = std::move(value);
  EXPECT_EQ(moved.get(), 2U);
  EXPECT_EQ(moved.get(), 2U);
  { const auto dropped = acp::async_get(to); }
  acp::future<>().wait();
  EXPECT(acp::future<>().ready());
  acp::sync();
  EXPECT_EQ(code_of([] { acp::get(acp::global_ptr<int>(nullptr)); }),
            ACPX_BAD_ADDRESS);
  EXPECT_EQ(code_of([] { acp::async_put(acp::global_ptr<long>(nullptr), 1); }),
            ACPX_BAD_ADDRESS);
  // An error that only the target sees may come later.
  EXPECT(code_of([&] { acp::copy(to, to + 60, 10).wait(); }) != 0);
  acp::sync();
}

SPMD_CASE(cpp_signals,
          "put_signal, wait_word: the bytes come before the word") {
  acp::registered<std::uint64_t> words(16);
  const auto to = right_of(words.ptr());
  std::iota(words.data(), words.data() + 4, 100U);
  acp::sync();
  acp::put_signal(to + 8, words.ptr(), 4, to + 15, 3);
  EXPECT_EQ(acp::wait_word(words.ptr() + 15, 0), 3U);
  EXPECT_EQ(words[11], 103U);
  acp::wait_all();
  acp::sync();
}

namespace {

struct Node {
  acp::global_ptr<Node> next;
  std::uint64_t value = 0;
};

acp::task<std::uint64_t> sum_of(acp::global_ptr<Node> at) {
  std::uint64_t sum = 0;
  while (at) {
    const Node here = co_await acp::async_get(at);
    sum += here.value;
    at = here.next;
  }
  co_return sum;
}

acp::task<> add_two(acp::global_ptr<Node> a,
                    acp::global_ptr<Node> b,
                    std::uint64_t& sum) {
  auto first = sum_of(a);
  auto second = sum_of(b);
  sum = co_await first;
  sum += co_await second;
}

acp::task<int> fail_late(acp::global_ptr<Node> at) {
  co_await acp::async_get(at);
  throw acp::error("fail_late", ACPX_AGAIN);
}

}  // namespace

// Each list has nodes on all ranks, and 20 walks are under way at one time.
SPMD_CASE(cpp_tasks, "task: co_await, many walks of one thread, failures") {
  constexpr std::size_t kNodes = 20;
  acp::registered<Node> nodes(kNodes);
  const auto all = all_of(nodes.ptr());
  const auto me = static_cast<std::size_t>(acp::rank());
  for (std::size_t i = 0; i < kNodes; ++i) {
    const bool is_last = me + 1 == all.size();
    nodes[i] = {
        is_last ? nullptr : all[me + 1] + static_cast<std::ptrdiff_t>(i),
        i * (me + 1)};
  }
  acp::sync();
  const std::size_t factor = all.size() * (all.size() + 1) / 2;
  std::vector<acp::task<std::uint64_t>> walks;
  for (std::size_t i = 0; i < kNodes; ++i) {
    walks.push_back(sum_of(all[0] + static_cast<std::ptrdiff_t>(i)));
  }
  for (std::size_t i = 0; i < kNodes; ++i) {
    EXPECT_EQ(walks[i].get(), i * factor);
  }
  std::uint64_t sum = 0;
  add_two(all[0] + 3, all[0] + 4, sum).get();
  EXPECT_EQ(sum, 7 * factor);
  EXPECT_EQ(code_of([&] { fail_late(all[0]).get(); }), ACPX_AGAIN);
  EXPECT_EQ(code_of([] { sum_of(acp::global_ptr<Node>(8)).get(); }) != 0, true);
  { const auto dropped = sum_of(all[0]); }
  EXPECT(!acp::resume_next());
  acp::sync();
}

SPMD_CASE(cpp_memory, "registered, allocated, starter: owners and views") {
  std::vector<int> own(32);
  acp::registered<int> view{std::span(own)};
  EXPECT(view.data() == own.data() && view.size() == 32);
  acp::registered<int> moved = std::move(view);
  const auto ptr = moved.ptr();
  acp::put(ptr + 1, 5);
  EXPECT_EQ(own[1], 5);
  moved = acp::registered<int>(3);
  EXPECT_EQ(std::accumulate(moved.begin(), moved.end(), 0), 0);
  EXPECT_EQ(code_of([&] { acp::get(ptr); }), ACPX_BAD_KEY);
  EXPECT_EQ(code_of([] { acp::registered<int>(0U); }), ACPX_INVALID_ARGUMENT);
  acp::allocated<double> block(10, right());
  block.ptr()[9] = 2.5;
  EXPECT_EQ(acp::get(block.ptr() + 9), 2.5);
  EXPECT_EQ(block.ptr().rank(), right());
  EXPECT_EQ(acp::allocated<int>(4).span().size(), 4U);
  EXPECT_EQ(code_of([] { acp::allocated<int>(1, acp::ranks()); }),
            ACPX_BAD_RANK);
  acp::sync();
  const auto word = acp::starter<std::uint64_t>(right()) + 100;
  const auto before = acp::fetch_add(word, 1);
  EXPECT_EQ(acp::get(word), before + 1);
  EXPECT_EQ(code_of([] { acp::starter<int>(-1); }), ACPX_BAD_RANK);
  acp::sync();
}

SPMD_CASE(cpp_threads, "get, put: each thread has a landing of its own") {
  acp::registered<std::uint64_t> words(8);
  const auto to = right_of(words.ptr());
  std::vector<std::thread> threads;
  for (std::ptrdiff_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t n = 0; n < 200; ++n) {
        acp::put(to + i, n * 8 + static_cast<std::uint64_t>(i));
        EXPECT_EQ(acp::get(to + i), n * 8 + static_cast<std::uint64_t>(i));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  acp::sync();
}
