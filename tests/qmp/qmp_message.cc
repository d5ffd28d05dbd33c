// QMP_declare_send_to, QMP_declare_receive_from, QMP_start, QMP_wait,
// QMP_wait_all, QMP_is_complete, QMP_free_msghandle, QMP_free_msgmem,
// QMP_change_address, QMP_clear_to_send, QMP_declare_multiple.
#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <thread>

#include "qmp_case.h"

using nodes::check;
using nodes::fill;
using nodes::left;
using nodes::me;
using nodes::right;
using Way = Message::Way;

namespace {

/// Sizes around the limits of eager messages, and beyond.
constexpr std::array<std::size_t, 12> kSizes{
    0, 1, 8, 56, 57, 100, 4095, 4096, 4097, 65536, 100'001, 1 << 20};

/// Looks at bytes that another process may be writing: the case that calls it
/// has to.
__attribute__((no_sanitize("thread"))) bool looks_equal(
    const std::vector<std::byte>& bytes,
    const std::vector<std::byte>& expected) {
  const volatile std::byte* at = bytes.data();
  for (const std::byte byte : expected) {
    if (*at++ != byte) {
      return false;
    }
  }
  return true;
}

enum class Order { kSendFirst, kReceiveFirst };

void ring(std::size_t size, std::size_t round, Order order) {
  std::vector<std::byte> out(size);
  std::vector<std::byte> in(size);
  fill(out, me(), round);
  const Message send(Way::kSend, out.data(), size, right());
  const Message receive(Way::kReceive, in.data(), size, left());
  if (order == Order::kSendFirst) {
    send.start();
    receive.start();
    receive.wait();
    send.wait();
  } else {
    receive.start();
    send.start();
    send.wait();
    receive.wait();
  }
  check(in, size, left(), round);
}

}  // namespace

SPMD_CASE(qmp_start_ring, "QMP_start: sizes around all limits, in a ring") {
  std::size_t round = 0;
  for (const std::size_t size : kSizes) {
    ring(size, ++round, Order::kSendFirst);
    ring(size, ++round, Order::kReceiveFirst);
  }
}

SPMD_CASE(qmp_start_again, "QMP_start: one pair of handles, many times") {
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{3000}, std::size_t{20'000}}) {
    std::vector<std::byte> out(size);
    std::vector<std::byte> in(size);
    const Message send(Way::kSend, out.data(), size, right());
    const Message receive(Way::kReceive, in.data(), size, left());
    for (std::size_t round = 0; round < spmd::scaled(2000, 100); ++round) {
      receive.start();
      fill(out, me(), round);
      send.start();
      receive.wait();
      check(in, size, left(), round);
      send.wait();
    }
  }
}

SPMD_CASE(qmp_wait_sends_first,
          "QMP_wait: all short sends complete before any receive starts") {
  constexpr std::size_t kCount = 100;
  constexpr std::size_t kSize = 500;
  std::vector<std::byte> out(kSize);
  for (std::size_t i = 0; i < kCount; ++i) {
    fill(out, me(), i);
    const Message send(Way::kSend, out.data(), kSize, right());
    send.start();
    send.wait();
  }
  std::vector<std::byte> in(kSize);
  const Message receive(Way::kReceive, in.data(), kSize, left());
  for (std::size_t i = 0; i < kCount; ++i) {
    receive.start();
    receive.wait();
    check(in, kSize, left(), i);
  }
}

// Declarations, and the order of the waits, are shuffled on each node, and the
// sizes mix eager and gated messages. Only the starts are in order.
SPMD_CASE(qmp_start_order,
          "QMP_start: messages match in the order of starts, not of "
          "declarations or sizes") {
  constexpr std::size_t kCount = 40;
  auto random = spmd::random_of_job();
  std::vector<std::size_t> sizes(kCount);
  for (auto& size : sizes) {
    size = random() % 2 == 0 ? random() % 200 : 4000 + random() % 9000;
  }
  std::vector<std::size_t> declared(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    declared[i] = i;
  std::vector<std::vector<std::byte>> out(kCount);
  std::vector<std::vector<std::byte>> in(kCount);
  std::vector<std::unique_ptr<Message>> sends(kCount);
  std::vector<std::unique_ptr<Message>> receives(kCount);
  std::shuffle(declared.begin(), declared.end(), spmd::random_of_rank());
  for (const std::size_t i : declared) {
    out[i].resize(sizes[i]);
    in[i].resize(sizes[i]);
    fill(out[i], me(), i);
    sends[i] =
        std::make_unique<Message>(Way::kSend, out[i].data(), sizes[i], right());
    receives[i] = std::make_unique<Message>(Way::kReceive, in[i].data(),
                                            sizes[i], left());
  }
  for (std::size_t i = 0; i < kCount; ++i)
    sends[i]->start();
  for (std::size_t i = 0; i < kCount; ++i)
    receives[i]->start();
  std::shuffle(declared.begin(), declared.end(), spmd::random_of_rank(1));
  for (const std::size_t i : declared) {
    receives[i]->wait();
    check(in[i], sizes[i], left(), i);
  }
  for (const std::size_t i : declared)
    sends[i]->wait();
}

SPMD_CASE(qmp_send_to_self, "QMP_declare_send_to: to oneself") {
  for (const std::size_t size : kSizes) {
    std::vector<std::byte> out(size);
    std::vector<std::byte> in(size);
    fill(out, me(), size);
    const Message send(Way::kSend, out.data(), size, me());
    const Message receive(Way::kReceive, in.data(), size, me());
    send.start();
    receive.start();
    send.wait();
    receive.wait();
    check(in, size, me(), size);
  }
}

// Every node sends to every node, also to itself, and all messages are started
// before the first wait.
SPMD_CASE(qmp_start_all_to_all, "QMP_start: everybody with everybody") {
  const auto count = static_cast<std::size_t>(nodes::count());
  for (const std::size_t size : {std::size_t{40}, std::size_t{10'000}}) {
    std::vector<std::vector<std::byte>> out(count);
    std::vector<std::vector<std::byte>> in(count);
    std::vector<std::unique_ptr<Message>> messages;
    std::vector<QMP_msghandle_t> handles;
    for (std::size_t node = 0; node < count; ++node) {
      const int peer = static_cast<int>(node);
      out[node].resize(size);
      in[node].resize(size);
      fill(out[node], me() * 100 + peer, size);
      messages.push_back(
          std::make_unique<Message>(Way::kSend, out[node].data(), size, peer));
      messages.push_back(std::make_unique<Message>(
          Way::kReceive, in[node].data(), size, peer));
    }
    for (const auto& message : messages) {
      message->start();
      handles.push_back(message->get());
    }
    EXPECT_OK(QMP_wait_all(handles.data(), static_cast<int>(handles.size())));
    for (std::size_t node = 0; node < count; ++node) {
      check(in[node], size, static_cast<int>(node) * 100 + me(), size);
    }
  }
}

SPMD_CASE(qmp_start_snapshot,
          "QMP_start: a short send may be overwritten at once") {
  std::vector<std::byte> bytes(4096);
  std::vector<std::byte> in(4096);
  const Message send(Way::kSend, bytes.data(), bytes.size(), right());
  const Message receive(Way::kReceive, in.data(), in.size(), left());
  for (std::size_t round = 0; round < 50; ++round) {
    fill(bytes, me(), round);
    send.start();
    fill(bytes, me() + 1, round + 1);
    send.wait();
  }
  for (std::size_t round = 0; round < 50; ++round) {
    receive.start();
    receive.wait();
    check(in, in.size(), left(), round);
  }
}

SPMD_CASE(qmp_wait_shorter, "QMP_wait: a message shorter than its receive") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{10},
                                 std::size_t{5000}, std::size_t{70'000}}) {
    std::vector<std::byte> out(size);
    std::vector<std::byte> in(100'000);
    fill(out, me(), size);
    fill(in, 77, 0);
    const Message send(Way::kSend, out.data(), size, right());
    const Message receive(Way::kReceive, in.data(), in.size(), left());
    send.start();
    receive.start();
    receive.wait();
    send.wait();
    check(in, size, left(), size);
    for (std::size_t i = size; i < in.size(); ++i) {
      EXPECT(in[i] == nodes::pattern(77, 0, i));
    }
  }
}

SPMD_CASE(qmp_wait_longer,
          "QMP_wait: a message longer than its receive is QMP_BAD_MESSAGE, "
          "and nothing is written") {
  struct Sizes {
    std::size_t sent;
    std::size_t received;
  };

  for (const auto& [sent, received] :
       {Sizes{20, 10}, Sizes{4096, 4095}, Sizes{5000, 100},
        Sizes{100'000, 5000}, Sizes{5000, 0}}) {
    std::vector<std::byte> out(sent);
    std::vector<std::byte> in(sent + 8);
    fill(in, 5, 5);
    const Message send(Way::kSend, out.data(), sent, right());
    const Message receive(Way::kReceive, in.data(), received, left());
    receive.start();
    send.start();
    EXPECT_EQ(QMP_wait(receive.get()), QMP_BAD_MESSAGE);
    EXPECT_EQ(QMP_get_error_number(receive.get()), QMP_BAD_MESSAGE);
    EXPECT(std::string(QMP_get_error_string(receive.get())).size() > 20);
    EXPECT_EQ(QMP_wait(send.get()),
              sent > 4096 ? QMP_BAD_MESSAGE : QMP_SUCCESS);
    check(in, in.size(), 5, 5);
    // The channel still works.
    ring(300, 3, Order::kSendFirst);
    ring(30'000, 4, Order::kSendFirst);
  }
}

SPMD_CASE(qmp_wait_idle, "QMP_wait: idle handles are complete") {
  std::byte byte{};
  const Message send(Way::kSend, &byte, 1, right());
  send.wait();
  EXPECT_EQ(QMP_is_complete(send.get()), QMP_TRUE);
  EXPECT_OK(QMP_wait_all(nullptr, 0));
}

SPMD_CASE(qmp_start_active, "QMP_start: of an active handle is refused") {
  std::vector<std::byte> in(9000);
  std::vector<std::byte> out(9000);
  fill(out, me(), 1);
  const Message receive(Way::kReceive, in.data(), in.size(), left());
  receive.start();
  EXPECT_EQ(QMP_start(receive.get()), QMP_INVALID_OP);
  EXPECT_EQ(QMP_get_error_number(receive.get()), QMP_INVALID_OP);
  QMP_msghandle_t part = receive.get();
  EXPECT_NULL(QMP_declare_multiple(&part, 1), QMP_INVALID_OP);
  EXPECT_EQ(QMP_change_address(receive.get(), out.data()), QMP_INVALID_OP);
  EXPECT_EQ(QMP_clear_to_send(receive.get(), QMP_CTS_READY), QMP_INVALID_OP);
  EXPECT_OK(QMP_barrier());
  const Message send(Way::kSend, out.data(), out.size(), right());
  send.start();
  receive.wait();
  send.wait();
  check(in, in.size(), left(), 1);
}

SPMD_CASE(qmp_is_complete_polled, "QMP_is_complete: makes progress") {
  for (const std::size_t size : {std::size_t{10}, std::size_t{50'000}}) {
    std::vector<std::byte> out(size);
    std::vector<std::byte> in(size);
    fill(out, me(), size);
    const Message send(Way::kSend, out.data(), size, right());
    const Message receive(Way::kReceive, in.data(), size, left());
    send.start();
    receive.start();
    while (QMP_is_complete(receive.get()) == QMP_FALSE ||
           QMP_is_complete(send.get()) == QMP_FALSE) {
    }
    check(in, size, left(), size);
    receive.wait();
    send.wait();
  }
}

SPMD_CASE(qmp_free_msgmem_first, "QMP_free_msgmem: before the handle") {
  std::vector<std::byte> out(30'000);
  std::vector<std::byte> in(30'000);
  fill(out, me(), 9);
  QMP_msgmem_t from = QMP_declare_msgmem(out.data(), out.size());
  QMP_msgmem_t to = QMP_declare_msgmem(in.data(), in.size());
  QMP_msghandle_t send = QMP_declare_send_to(from, right(), 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(to, left(), 0);
  QMP_free_msgmem(from);
  QMP_free_msgmem(to);
  EXPECT_OK(QMP_start(send));
  EXPECT_OK(QMP_start(receive));
  EXPECT_OK(QMP_wait(receive));
  EXPECT_OK(QMP_wait(send));
  check(in, in.size(), left(), 9);
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
}

SPMD_CASE(qmp_free_msghandle_active,
          "QMP_free_msghandle: an active transfer still takes place") {
  for (const std::size_t size : {std::size_t{100}, std::size_t{30'000}}) {
    std::vector<std::byte> out(size);
    std::vector<std::byte> first(size);
    std::vector<std::byte> second(size);
    fill(out, me(), 1);
    {
      const Message receive(Way::kReceive, first.data(), size, left());
      receive.start();
    }
    {
      const Message send(Way::kSend, out.data(), size, right());
      send.start();
    }
    std::vector<std::byte> more(size);
    fill(more, me(), 2);
    const Message receive(Way::kReceive, second.data(), size, left());
    const Message send(Way::kSend, more.data(), size, right());
    receive.start();
    send.start();
    receive.wait();
    send.wait();
    check(second, size, left(), 2);
    // The freed ones came before on these channels, but each message takes its
    // own time.
    std::vector<std::byte> expected(size);
    fill(expected, left(), 1);
    const auto limit = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(spmd::kPatience);
    while (!looks_equal(first, expected)) {
      EXPECT(std::chrono::steady_clock::now() < limit);
      std::this_thread::yield();
    }
    EXPECT_OK(QMP_barrier());
  }
}

// The address changes between two exchanges, and the first memory must keep the
// bytes of the first exchange.
SPMD_CASE(qmp_change_address, "QMP_change_address: the next start uses it") {
  for (const std::size_t size : {std::size_t{64}, std::size_t{20'000}}) {
    std::vector<std::byte> a(size);
    std::vector<std::byte> b(size);
    std::vector<std::byte> in(size);
    std::vector<std::byte> other(size);
    fill(a, me(), 1);
    fill(b, me(), 2);
    const Message send(Way::kSend, a.data(), size, right());
    const Message receive(Way::kReceive, in.data(), size, left());
    const auto exchange = [&] {
      send.start();
      receive.start();
      receive.wait();
      send.wait();
    };
    exchange();
    check(in, size, left(), 1);
    EXPECT_OK(QMP_change_address(send.get(), b.data()));
    EXPECT_OK(QMP_change_address(receive.get(), other.data()));
    exchange();
    check(in, size, left(), 1);
    check(other, size, left(), 2);
  }
  std::byte byte{};
  const Message send(Way::kSend, &byte, 1, right());
  EXPECT_EQ(QMP_change_address(send.get(), nullptr), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_change_address(nullptr, &byte), QMP_INVALID_ARG);
}

// The hint comes before the start of the receive. The message must wait for
// that start.
SPMD_CASE(qmp_clear_to_send,
          "QMP_clear_to_send: a receive that is ready "
          "early takes the message") {
  for (const std::size_t size : {std::size_t{64}, std::size_t{20'000}}) {
    std::vector<std::byte> out(size);
    std::vector<std::byte> in(size);
    const Message send(Way::kSend, out.data(), size, right());
    const Message receive(Way::kReceive, in.data(), size, left());
    EXPECT_OK(QMP_clear_to_send(receive.get(), QMP_CTS_DISABLED));
    EXPECT_OK(QMP_clear_to_send(send.get(), QMP_CTS_READY));
    for (std::size_t round = 0; round < 20; ++round) {
      EXPECT_OK(QMP_clear_to_send(receive.get(), QMP_CTS_READY));
      fill(out, me(), round);
      send.start();
      receive.start();
      receive.wait();
      check(in, size, left(), round);
      send.wait();
    }
  }
}

namespace {

/// A receive from the left for which QMP_clear_to_send was called.
QMP_msghandle_t ready_receive(std::vector<std::byte>& into) {
  QMP_msgmem_t memory = QMP_declare_msgmem(into.data(), into.size());
  QMP_msghandle_t handle = QMP_declare_receive_from(memory, left(), 0);
  QMP_free_msgmem(memory);
  EXPECT_OK(QMP_clear_to_send(handle, QMP_CTS_READY));
  return handle;
}

}  // namespace

SPMD_CASE(qmp_clear_to_send_hint,
          "QMP_clear_to_send: what the program does after it is as without") {
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{3000}, std::size_t{20'000}}) {
    std::vector<std::byte> out(size);
    std::vector<std::byte> first(size);
    std::vector<std::byte> second(size);
    const std::vector<std::byte> untouched(size);
    std::size_t round = 0;
    const auto exchange = [&](std::initializer_list<QMP_msghandle_t> receives,
                              std::size_t messages) {
      EXPECT_OK(QMP_barrier());
      for (QMP_msghandle_t each : receives) {
        EXPECT_OK(QMP_start(each));
      }
      for (std::size_t i = 0; i < messages; ++i) {
        fill(out, me(), ++round);
        const Message send(Way::kSend, out.data(), size, right());
        send.start();
        send.wait();
      }
      for (QMP_msghandle_t each : receives) {
        EXPECT_OK(QMP_wait(each));
        QMP_free_msghandle(each);
      }
    };
    // After it is freed the next receive takes the next message.
    QMP_free_msghandle(ready_receive(first));
    exchange({ready_receive(second)}, 1);
    EXPECT(first == untouched);
    check(second, size, left(), round);
    // After a change of address the message goes to the new address.
    second = untouched;
    QMP_msghandle_t moved = ready_receive(first);
    EXPECT_OK(QMP_change_address(moved, second.data()));
    exchange({moved}, 1);
    EXPECT(first == untouched);
    check(second, size, left(), round);
    // Two such receives match in the order in which they are started.
    exchange({ready_receive(second), ready_receive(first)}, 2);
    check(second, size, left(), round - 1);
    check(first, size, left(), round);
    // The hint is withdrawn; and then the parts of a multiple.
    QMP_msghandle_t not_ready = ready_receive(first);
    EXPECT_OK(QMP_clear_to_send(not_ready, QMP_CTS_NOT_READY));
    QMP_free_msghandle(not_ready);
    QMP_msghandle_t parts[2] = {ready_receive(first), ready_receive(second)};
    QMP_msghandle_t both = QMP_declare_multiple(parts, 2);
    EXPECT(both != nullptr);
    exchange({both}, 2);
    check(first, size, left(), round - 1);
    check(second, size, left(), round);
  }
}

// All sends and all receives are in one multiple, which has another multiple as
// a part. So one start and one wait do all of them in each round.
SPMD_CASE(qmp_declare_multiple,
          "QMP_declare_multiple: nested, in declared order, many times") {
  constexpr std::size_t kCount = 6;
  const std::array<std::size_t, kCount> sizes{10, 9000, 0, 4096, 70'000, 300};
  std::array<std::vector<std::byte>, kCount> out;
  std::array<std::vector<std::byte>, kCount> in;
  std::array<QMP_msghandle_t, kCount> sends{};
  std::array<QMP_msghandle_t, kCount> receives{};
  for (std::size_t i = 0; i < kCount; ++i) {
    out[i].resize(sizes[i]);
    in[i].resize(sizes[i]);
    QMP_msgmem_t from = QMP_declare_msgmem(out[i].data(), sizes[i]);
    QMP_msgmem_t to = QMP_declare_msgmem(in[i].data(), sizes[i]);
    sends[i] = QMP_declare_send_to(from, right(), 0);
    receives[i] = QMP_declare_receive_from(to, left(), 0);
    QMP_free_msgmem(from);
    QMP_free_msgmem(to);
  }
  QMP_msghandle_t inner = QMP_declare_multiple(&sends[1], 3);
  std::array<QMP_msghandle_t, 5> parts{
      sends[0], inner, sends[4], sends[5],
      QMP_declare_multiple(receives.data(), kCount)};
  QMP_msghandle_t all = QMP_declare_multiple(parts.data(), 5);
  EXPECT(all != nullptr);
  for (std::size_t round = 0; round < spmd::scaled(200, 20); ++round) {
    for (std::size_t i = 0; i < kCount; ++i) {
      fill(out[i], me() + static_cast<int>(i), round);
    }
    EXPECT_OK(QMP_start(all));
    EXPECT_OK(QMP_wait(all));
    for (std::size_t i = 0; i < kCount; ++i) {
      check(in[i], sizes[i], left() + static_cast<int>(i), round);
    }
  }
  QMP_free_msghandle(all);
  QMP_msghandle_t none = QMP_declare_multiple(nullptr, 0);
  EXPECT(none != nullptr);
  EXPECT_OK(QMP_start(none));
  EXPECT_OK(QMP_wait(none));
  QMP_free_msghandle(none);
}

// Both parts are declared with one buffer, and get two. The bytes that arrive
// show that each part has its own.
SPMD_CASE(qmp_change_address_multiple,
          "QMP_change_address_multiple: each part moves") {
  std::array<std::vector<std::byte>, 4> data;
  for (auto& each : data)
    each.resize(12'000);
  const auto send = [&](std::size_t i) {
    QMP_msgmem_t memory = QMP_declare_msgmem(data[i].data(), data[i].size());
    QMP_msghandle_t handle = QMP_declare_send_to(memory, right(), 0);
    QMP_free_msgmem(memory);
    return handle;
  };
  std::array<QMP_msghandle_t, 2> parts{send(0), send(0)};
  QMP_msghandle_t all = QMP_declare_multiple(parts.data(), 2);
  std::array<void*, 2> addresses{data[0].data(), data[1].data()};
  EXPECT_OK(QMP_change_address_multiple(all, addresses.data(), 2));
  EXPECT_EQ(QMP_change_address_multiple(all, addresses.data(), 1),
            QMP_INVALID_ARG);
  fill(data[0], me(), 1);
  fill(data[1], me(), 2);
  EXPECT_OK(QMP_start(all));
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) {
    const Message receive(Way::kReceive, data[i].data(), data[i].size(),
                          left());
    receive.start();
    receive.wait();
    check(data[i], data[i].size(), left(), i - 1);
  }
  EXPECT_OK(QMP_wait(all));
  QMP_free_msghandle(all);
}

// A declaration that is refused leaves nothing to free, and a later start of
// NULL is refused as well.
SPMD_CASE(qmp_declare_refused, "declarations: bad arguments give NULL") {
  std::byte byte{};
  QMP_msgmem_t memory = QMP_declare_msgmem(&byte, 1);
  EXPECT_NULL(QMP_declare_send_to(nullptr, 0, 0), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_send_to(memory, -1, 0), QMP_NODE_OUTRANGE);
  EXPECT_NULL(QMP_declare_receive_from(memory, nodes::count(), 0),
              QMP_NODE_OUTRANGE);
  EXPECT_NULL(QMP_declare_send_relative(memory, 0, 1, 0), QMP_NONEIGHBOR_INFO);
  EXPECT_NULL(QMP_declare_receive_relative(memory, 0, 2, 0), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_comm_declare_send_to(nullptr, memory, 0, 0), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_msgmem(nullptr, 5), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_multiple(nullptr, 1), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_multiple(nullptr, -1), QMP_INVALID_ARG);
  QMP_msghandle_t handle = QMP_declare_send_to(memory, 0, 0);
  std::array<QMP_msghandle_t, 2> twice{handle, handle};
  EXPECT_NULL(QMP_declare_multiple(twice.data(), 2), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_start(nullptr), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_wait(nullptr), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_is_complete(nullptr), QMP_FALSE);
  EXPECT(std::string(QMP_get_error_string(nullptr)).find("QMP_is_complete") !=
         std::string::npos);
  QMP_free_msghandle(handle);
  QMP_free_msghandle(nullptr);
  QMP_free_msgmem(memory);
  QMP_free_msgmem(nullptr);
}

/// Every function with a message handle that was freed.
void expect_refused(QMP_msghandle_t freed) {
  std::byte byte{};
  void* address = &byte;
  EXPECT_EQ(QMP_start(freed), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_wait(freed), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_wait_all(&freed, 1), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_is_complete(freed), QMP_FALSE);
  EXPECT_EQ(QMP_clear_to_send(freed, QMP_CTS_READY), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_change_address(freed, address), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_change_address_multiple(freed, &address, 1), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_multiple(&freed, 1), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_get_error_number(freed), QMP_INVALID_ARG);
  EXPECT(std::string(QMP_get_error_string(freed)).find("freed before") !=
         std::string::npos);
  QMP_free_msghandle(freed);
  EXPECT_EQ(QMP_get_error_number(nullptr), QMP_INVALID_ARG);
  EXPECT(std::string(QMP_get_error_string(nullptr))
             .find("QMP_free_msghandle: the handle was freed before") !=
         std::string::npos);
}

// The library uses the memory of freed handles again, for others: these must
// not be taken for the freed ones.
SPMD_CASE(qmp_freed_handles, "freed handles: each function refuses them") {
  std::byte out{1};
  std::byte in{2};
  QMP_msgmem_t from = QMP_declare_msgmem(&out, 1);
  QMP_msgmem_t to = QMP_declare_msgmem(&in, 1);
  QMP_msghandle_t freed = QMP_declare_send_to(from, right(), 0);
  QMP_free_msghandle(freed);
  expect_refused(freed);
  QMP_msghandle_t send = QMP_declare_send_to(from, right(), 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(to, left(), 0);
  expect_refused(freed);
  QMP_msghandle_t parts[2] = {send, receive};
  QMP_msghandle_t both = QMP_declare_multiple(parts, 2);
  expect_refused(send);
  expect_refused(receive);
  EXPECT_OK(QMP_start(both));
  EXPECT_OK(QMP_wait(both));
  EXPECT(in == out);
  QMP_free_msghandle(both);
  expect_refused(both);
  QMP_free_msgmem(from);
  QMP_free_msgmem(from);
  EXPECT_EQ(QMP_get_error_number(nullptr), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_send_to(from, right(), 0), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_receive_relative(from, 0, 1, 0), QMP_INVALID_ARG);
  QMP_msgmem_t again = QMP_declare_msgmem(&out, 1);
  EXPECT_NULL(QMP_declare_send_to(from, right(), 0), QMP_INVALID_ARG);
  QMP_free_msgmem(again);
  QMP_free_msgmem(to);
}

SPMD_CASE(qmp_freed_memory, "freed memory: each function refuses it") {
  QMP_mem_t* memory = QMP_allocate_memory(100);
  EXPECT(QMP_get_memory_pointer(memory) != nullptr);
  QMP_free_memory(memory);
  EXPECT_NULL(QMP_get_memory_pointer(memory), QMP_INVALID_ARG);
  QMP_mem_t* another = QMP_allocate_memory(100);
  EXPECT_NULL(QMP_get_memory_pointer(memory), QMP_INVALID_ARG);
  QMP_free_memory(memory);
  EXPECT_EQ(QMP_get_error_number(nullptr), QMP_INVALID_ARG);
  EXPECT(QMP_get_memory_pointer(another) != nullptr);
  QMP_free_memory(another);
}

SPMD_CASE(qmp_freed_comm, "a freed communicator: each function refuses it") {
  QMP_comm_t comm = nullptr;
  QMP_comm_t part = nullptr;
  EXPECT_OK(QMP_comm_split(QMP_comm_get_default(), 0, me(), &comm));
  EXPECT_OK(QMP_comm_free(comm));
  double value = 1;
  const int nodes = nodes::count();
  std::byte byte{};
  QMP_msgmem_t memory = QMP_declare_msgmem(&byte, 1);
  EXPECT_EQ(QMP_comm_free(comm), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_sum_double(comm, &value), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_barrier(comm), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_split(comm, 0, 0, &part), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_set_default(comm), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_declare_logical_topology(comm, &nodes, 1),
            QMP_INVALID_ARG);
  EXPECT_NULL(QMP_comm_declare_send_to(comm, memory, 0, 0), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_get_number_of_nodes(comm), 0);
  EXPECT_EQ(QMP_comm_get_node_number(comm), -1);
  EXPECT(QMP_comm_get_logical_dimensions(comm) == nullptr);
  QMP_free_msgmem(memory);
}

SPMD_CASE(qmp_one_shot, "declare, start, wait, free, many times") {
  std::array<std::uint64_t, 2> words{};
  for (std::size_t round = 0; round < spmd::scaled(5000, 200); ++round) {
    words[0] = round;
    const Message send(Way::kSend, words.data(), 8, right());
    const Message receive(Way::kReceive, &words[1], 8, left());
    send.start();
    receive.start();
    receive.wait();
    send.wait();
    EXPECT_EQ(words[1], round);
  }
}
