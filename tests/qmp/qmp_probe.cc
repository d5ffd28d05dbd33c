// A program of QMP whose first argument says what it does. qmp_job_test.cc
// looks at the end of the job and at the output.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "acp.h"
#include "qmp.h"
#include "qmp.hpp"

namespace {

[[noreturn]] void wrong(const char* what) {
  std::fprintf(stderr, "probe: %s\n", what);
  std::_Exit(99);
}

void expect(bool is_true, const char* what) {
  if (!is_true) {
    wrong(what);
  }
}

void say_numbers(const char* name, const int* numbers, int count) {
  std::string text = name;
  for (int i = 0; i < count; ++i) {
    text += ' ' + std::to_string(numbers[i]);
  }
  QMP_printf("%s", text.c_str());
}

/// Calls before init fail, and do not crash.
void outside() {
  int one = 1;
  int ten[10] = {};
  expect(QMP_is_initialized() == QMP_FALSE, "initialized");
  expect(QMP_sum_int(&one) == QMP_NOT_INITED, "QMP_sum_int");
  expect(QMP_barrier() == QMP_NOT_INITED, "QMP_barrier");
  expect(QMP_get_error_number(nullptr) == QMP_NOT_INITED, "error number");
  expect(QMP_declare_msgmem(&one, 4) == nullptr, "QMP_declare_msgmem");
  expect(QMP_declare_send_to(nullptr, 0, 0) == nullptr, "QMP_declare_send_to");
  expect(QMP_declare_multiple(nullptr, 0) == nullptr, "QMP_declare_multiple");
  expect(QMP_allocate_memory(8) == nullptr, "QMP_allocate_memory");
  expect(QMP_allocate_aligned_memory(8, 64, 0) == nullptr &&
             std::string_view(QMP_get_error_string(nullptr))
                 .starts_with("QMP_allocate_aligned_memory: "),
         "QMP_allocate_aligned_memory");
  expect(QMP_layout_grid(&one, 1) == QMP_NOT_INITED, "QMP_layout_grid");
  expect(QMP_declare_logical_topology(&one, 1) == QMP_NOT_INITED, "topology");
  expect(QMP_comm_split(nullptr, 0, 0, nullptr) == QMP_NOT_INITED, "split");
  expect(QMP_get_number_of_nodes() == 0, "nodes");
  expect(QMP_get_node_number() == -1, "node");
  expect(QMP_comm_get_default() == nullptr, "default");
  expect(QMP_start(nullptr) == QMP_NOT_INITED, "QMP_start");
  expect(QMP_wait(nullptr) == QMP_NOT_INITED, "QMP_wait");
  expect(QMP_get_logical_coordinates_from(0) == nullptr, "coordinates");
  QMP_get_logical_coordinates_from2(ten, 0);
  QMP_free_msgmem(nullptr);
  QMP_free_msghandle(nullptr);
}

void describe_machine() {
  QMP_printf("type %d nodes %d node %d jobs %d job %d",
             static_cast<int>(QMP_get_msg_passing_type()),
             QMP_get_number_of_nodes(), QMP_get_node_number(),
             QMP_get_number_of_jobs(), QMP_get_job_number());
  const int axes = QMP_get_allocated_number_of_dimensions();
  say_numbers("dims", QMP_get_allocated_dimensions(), axes);
  say_numbers("at", QMP_get_allocated_coordinates(), axes);
  say_numbers("logical", QMP_get_logical_coordinates(),
              QMP_get_logical_number_of_dimensions());
  // Messages along the allocated grid and a sum stay within this job.
  int out = QMP_get_node_number();
  int in = -1;
  if (axes > 0) {
    QMP_msgmem_t from = QMP_declare_msgmem(&out, sizeof out);
    QMP_msgmem_t to = QMP_declare_msgmem(&in, sizeof in);
    QMP_msghandle_t send = QMP_declare_send_relative(from, 0, 1, 0);
    QMP_msghandle_t receive = QMP_declare_receive_relative(to, 0, -1, 0);
    expect(QMP_start(send) == QMP_SUCCESS, "start");
    expect(QMP_start(receive) == QMP_SUCCESS, "start");
    expect(QMP_wait(receive) == QMP_SUCCESS, "wait");
    expect(QMP_wait(send) == QMP_SUCCESS, "wait");
    QMP_free_msghandle(send);
    QMP_free_msghandle(receive);
    QMP_free_msgmem(from);
    QMP_free_msgmem(to);
  }
  int sum = 1;
  expect(QMP_sum_int(&sum) == QMP_SUCCESS, "sum");
  QMP_printf("from %d sum %d", in, sum);
}

void meet_all() {
  expect(QMP_barrier() == QMP_SUCCESS, "barrier");
}

/// Calls one global operation, and checks its result.
void call(std::string_view what, QMP_comm_t comm) {
  const int nodes = QMP_comm_get_number_of_nodes(comm);
  if (what == "barrier") {
    expect(QMP_comm_barrier(comm) == QMP_SUCCESS, "barrier");
  } else if (what == "broadcast") {
    int value = QMP_comm_get_node_number(comm) == 0 ? 42 : 0;
    expect(QMP_comm_broadcast(comm, &value, sizeof value) == QMP_SUCCESS &&
               value == 42,
           "broadcast");
  } else if (what == "alltoall") {
    std::vector<int> in(static_cast<std::size_t>(nodes), -1);
    std::vector<int> out(in.size(), QMP_comm_get_node_number(comm));
    expect(QMP_comm_alltoall(comm, reinterpret_cast<char*>(in.data()),
                             reinterpret_cast<char*>(out.data()),
                             sizeof(int)) == QMP_SUCCESS &&
               in.front() == 0 && in.back() == nodes - 1,
           "alltoall");
  } else {
    std::vector<double> values(what == "sum" ? 1 : 20'000, 1.0);
    expect(QMP_comm_sum_double_array(comm, values.data(),
                                     static_cast<int>(values.size())) ==
                   QMP_SUCCESS &&
               values.back() == nodes,
           "sum");
  }
}

/// Counts the lines of a file with `text`.
int lines_with(const std::string& file, const std::string& text) {
  std::ifstream in(file);
  std::string line;
  int count = 0;
  while (std::getline(in, line)) {
    count += line.find(text) != std::string::npos ? 1 : 0;
  }
  return count;
}

/// Lets the time limit of a wait pass a few times.
void let_time_pass() {
  int number = 0;
  QMP_msgmem_t memory = QMP_declare_msgmem(&number, sizeof number);
  const int self = QMP_get_node_number();
  QMP_msghandle_t receive = QMP_declare_receive_from(memory, self, 0);
  QMP_msghandle_t send = QMP_declare_send_to(memory, self, 0);
  expect(QMP_start(receive) == QMP_SUCCESS, "start");
  for (int round = 0; round < 4; ++round) {
    expect(QMP_wait(receive) == QMP_TIMEOUT, "no time-out");
  }
  expect(QMP_start(send) == QMP_SUCCESS, "start");
  expect(QMP_wait(receive) == QMP_SUCCESS, "wait");
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  QMP_free_msgmem(memory);
}

/// Node 0 calls a global operation only after all others have said that they
/// wait for it. Each node prints into a file of its own.
void come_late(const std::string& file, std::string_view what) {
  const auto file_of = [&file](int node) {
    return file + "." + std::to_string(node);
  };
  expect(std::freopen(file_of(QMP_get_node_number()).c_str(), "w", stderr) !=
             nullptr,
         "a file");
  const int nodes = QMP_get_number_of_nodes();
  if (QMP_get_node_number() == 0) {
    for (int node = 1; node < nodes; ++node) {
      while (lines_with(file_of(node), "has waited") == 0) {
        std::this_thread::yield();
      }
    }
    let_time_pass();
  }
  call(what, QMP_comm_get_default());
  call(what, QMP_comm_get_default());
  meet_all();
  if (QMP_get_node_number() == 0) {
    for (int node = 0; node < nodes; ++node) {
      std::ifstream in(file_of(node));
      std::string line;
      while (std::getline(in, line)) {
        std::printf("%s\n", line.c_str());
      }
      (void)std::remove(file_of(node).c_str());
    }
  }
}

/// Waits without a time limit for messages that are sent after the wait may
/// have begun.
void wait_for_ever() {
  int number = QMP_get_node_number();
  QMP_msgmem_t memory = QMP_declare_msgmem(&number, sizeof number);
  const int peer = 1 - QMP_get_node_number();
  QMP_msghandle_t send = QMP_declare_send_to(memory, peer, 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(memory, peer, 0);
  if (QMP_get_node_number() == 0) {
    expect(QMP_start(send) == QMP_SUCCESS, "start");
  }
  expect(QMP_start(receive) == QMP_SUCCESS, "start");
  expect(QMP_wait(receive) == QMP_SUCCESS && number == 0, "wait");
  if (QMP_get_node_number() == 1) {
    expect(QMP_start(send) == QMP_SUCCESS, "start");
  }
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  QMP_free_msgmem(memory);
  meet_all();
}

/// The last node leaves after many broadcasts to which the others are late.
/// They get all broadcasts, but no sum after them.
void be_left_by_the_root() {
  // Static, so that it is no leak for sanitizers: a node that leaves by exit(0)
  // cannot free it.
  static QMP_comm_t turned = nullptr;
  expect(QMP_comm_split(QMP_comm_get_default(), 0, -QMP_get_node_number(),
                        &turned) == QMP_SUCCESS,
         "split");
  call("sum", turned);
  for (int round = 0; round < 40; ++round) {
    call("broadcast", turned);
  }
  if (QMP_comm_get_node_number(turned) == 0) {
    return;
  }
  double value = 1;
  expect(QMP_comm_sum_double(turned, &value) == QMP_ERROR && value == 1,
         "a sum with who has left");
  expect(QMP_sum_double(&value) == QMP_ERROR && value == 1,
         "a first sum with who has left");
  expect(QMP_comm_barrier(turned) == QMP_ERROR, "a barrier");
}

/// Node `odd` is in the barrier of the whole job, and the others are in another
/// operation. All fail, and each line names both calls. Then a barrier of all
/// nodes works.
void meet_another(const char* what, int odd) {
  QMP_comm_t all = QMP_comm_get_default();
  const auto nodes = static_cast<std::size_t>(QMP_get_number_of_nodes());
  meet_all();
  call("sum", all);
  const bool is_odd = QMP_get_node_number() == odd;
  std::vector<double> values(std::strcmp(what, "sum") == 0 ? 1 : 20'000, 1.0);
  std::vector<char> in(nodes);
  std::vector<char> out(nodes);
  const QMP_status_t status =
      is_odd ? QMP_barrier()
      : std::strcmp(what, "broadcast") == 0
          ? QMP_broadcast(values.data(), values.size())
      : std::strcmp(what, "alltoall") == 0
          ? QMP_comm_alltoall(all, in.data(), out.data(), 1)
          : QMP_sum_double_array(values.data(),
                                 static_cast<int>(values.size()));
  expect(status == QMP_BAD_MESSAGE, "a barrier beside another operation");
  const std::string text = QMP_get_error_string(nullptr);
  const char* other = std::strcmp(what, "broadcast") == 0  ? "QMP_broadcast"
                      : std::strcmp(what, "alltoall") == 0 ? "QMP_comm_alltoall"
                                                           : "QMP_sum_double";
  expect(text.find("QMP_barrier (operation 3)") != std::string::npos,
         "the name of the barrier");
  expect(text.find(other) != std::string::npos, "the name of the other call");
  meet_all();
  meet_all();
}

/// The last node has no memory for an operation that all nodes call.
void lack_memory() {
  std::vector<double> values(std::size_t{5} << 20, 1.0);
  const int length = static_cast<int>(values.size());
  const bool lacks = QMP_get_node_number() == QMP_get_number_of_nodes() - 1;
  call("sum", QMP_comm_get_default());
  if (lacks) {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages;
    const rlim_t now = pages * static_cast<rlim_t>(::getpagesize());
    const rlimit limit{now + (16 << 20), RLIM_INFINITY};
    expect(::setrlimit(RLIMIT_AS, &limit) == 0, "a limit");
  }
  expect(QMP_sum_double_array(values.data(), length) == QMP_NOMEM_ERR,
         "a sum that one node cannot do");
  expect(values.front() == 1 && values.back() == 1, "changed");
  double value = 1;
  expect(QMP_sum_double(&value) == QMP_ERROR && value == 1, "a later sum");
  meet_all();
}

/// Node 0 of a communicator with the reverse order of nodes comes late.
void wait_in_part() {
  const int last = QMP_get_number_of_nodes() - 1;
  QMP_comm_t part = nullptr;
  expect(QMP_comm_split(QMP_comm_get_default(), 0, -QMP_get_node_number(),
                        &part) == QMP_SUCCESS,
         "split");
  int number = 0;
  QMP_msgmem_t memory = QMP_declare_msgmem(&number, sizeof number);
  QMP_msghandle_t handle = nullptr;
  if (QMP_get_node_number() == 0) {
    handle = QMP_comm_declare_receive_from(part, memory, 0, 0);
    expect(QMP_start(handle) == QMP_SUCCESS, "start");
    expect(QMP_wait(handle) == QMP_TIMEOUT, "no time-out");
  }
  meet_all();
  if (QMP_get_node_number() == last) {
    handle = QMP_comm_declare_send_to(part, memory, last, 0);
    expect(QMP_start(handle) == QMP_SUCCESS, "start");
  }
  if (handle != nullptr) {
    expect(QMP_wait(handle) == QMP_SUCCESS, "wait");
    QMP_free_msghandle(handle);
  }
  QMP_free_msgmem(memory);
  meet_all();
  QMP_comm_free(part);
}

void declare_with_bad_map() {
  const int nodes = QMP_get_number_of_nodes();
  const int map = nodes;
  expect(
      QMP_declare_logical_topology_map(&nodes, 1, &map, 1) == QMP_INVALID_ARG,
      "a map");
  expect(QMP_declare_logical_topology(&nodes, 1) == QMP_SUCCESS, "no map");
}

/// Calls functions with arguments outside their ranges; the job has 2 nodes.
void give_wrong_arguments() {
  QMP_comm_t comm = QMP_comm_get_default();
  const int two[] = {2, 1};
  const int none[] = {2, 0};
  const int three = 3;
  int number = 0;
  float value = 0;
  (void)QMP_sum_float_array(&value, -1);
  (void)QMP_comm_sum_int(nullptr, &number);
  (void)QMP_sum_double_extended(nullptr);
  (void)QMP_broadcast(nullptr, 8);
  (void)QMP_binary_reduction(&number, sizeof number, nullptr);
  (void)QMP_comm_declare_logical_topology(comm, nullptr, 1);
  (void)QMP_declare_logical_topology(two, 0);
  (void)QMP_declare_logical_topology_map(two, 1, two, -1);
  expect(QMP_declare_logical_topology(two, 1) == QMP_SUCCESS, "a topology");
  (void)QMP_declare_logical_topology(two, 1);
  (void)QMP_layout_grid(two, 2);
  (void)QMP_layout_grid(none, 2);
  (void)QMP_layout_grid(&three, 1);
  QMP_get_logical_coordinates_from2(&number, 2);
  QMP_msgmem_t memory = QMP_declare_msgmem(&number, sizeof number);
  (void)QMP_declare_send_to(memory, 2, 0);
  (void)QMP_comm_declare_receive_from(comm, nullptr, 0, 0);
  (void)QMP_declare_send_relative(memory, 0, 2, 0);
  (void)QMP_declare_receive_relative(memory, 1, 1, 0);
  (void)QMP_declare_send_recv_pairs(nullptr, -1);
  (void)QMP_declare_multiple(nullptr, 2);
  (void)QMP_declare_strided_msgmem(&number, 4, -1, 4);
  void* bases[] = {&number, nullptr};
  size_t sizes[] = {4, 4};
  int counts[] = {1, 2};
  std::ptrdiff_t strides[] = {4, 4};
  (void)QMP_declare_strided_array_msgmem(bases, sizes, counts, strides, 2);
  (void)QMP_declare_indexed_msgmem(&number, counts, counts, -4, 1);
  (void)QMP_declare_indexed_msgmem(&number, counts, nullptr, 4, 1);
  (void)QMP_change_address_multiple(nullptr, bases, 1);
  QMP_msghandle_t empty = QMP_declare_multiple(nullptr, 0);
  (void)QMP_change_address(empty, &number);
  (void)QMP_clear_to_send(empty, static_cast<QMP_clear_to_send_t>(-2));
  QMP_free_msghandle(empty);
  QMP_free_msgmem(memory);
  QMP_msghandle_t missing = nullptr;
  (void)QMP_wait_all(&missing, 1);
  (void)QMP_comm_set_default(nullptr);
  (void)QMP_comm_free(comm);
}

/// Gives each of 2 nodes one site more than an int can count.
void lay_out_too_much() {
  const int lattice[] = {1 << 16, 1 << 16};
  expect(QMP_layout_grid(lattice, 2) == QMP_INVALID_TOPOLOGY, "too large");
}

/// A message handle with its memory, which it frees at its end.
class Message {
 public:
  enum class To { kSend, kReceive };

  Message(QMP_msgmem_t memory, To direction, int node)
      : memory_(memory),
        handle_(direction == To::kSend
                    ? QMP_declare_send_to(memory, node, 0)
                    : QMP_declare_receive_from(memory, node, 0)) {
    expect(handle_ != nullptr, "a handle");
  }

  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  ~Message() {
    if (handle_ != nullptr) {
      QMP_free_msghandle(handle_);
    }
    QMP_free_msgmem(memory_);
  }

  QMP_msghandle_t handle() const { return handle_; }

  /// Gives the handle to a multiple.
  QMP_msghandle_t release() { return std::exchange(handle_, nullptr); }

  QMP_status_t run() {
    expect(QMP_start(handle_) == QMP_SUCCESS, "start");
    return QMP_wait(handle_);
  }

 private:
  QMP_msgmem_t memory_;
  QMP_msghandle_t handle_;
};

constexpr std::size_t kShort = 8;
constexpr std::size_t kLong = 60'000;

/// An array, because the library reads it until the end of exit(), when
/// destructors of static objects have run.
std::array<char, 2 * kLong> g_message_bytes;

QMP_msgmem_t in_one_block(std::size_t bytes) {
  return QMP_declare_msgmem(g_message_bytes.data(), bytes);
}

QMP_msgmem_t in_two_blocks(std::size_t bytes) {
  return QMP_declare_strided_msgmem(g_message_bytes.data(), bytes / 2, 2,
                                    static_cast<std::ptrdiff_t>(kLong));
}

/// The text of a failure names direction, size, node, host and count.
void expect_departure(QMP_msghandle_t handle, const std::string& words) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  const std::string text = QMP_get_error_string(handle);
  const std::string by = " with node " +
                         std::to_string(QMP_get_number_of_nodes() - 1) +
                         " (host " + host.data() +
                         "): that node has left by exit(0) or "
                         "QMP_finalize_msg_passing";
  if (text.find(words) == std::string::npos ||
      text.find(by) == std::string::npos) {
    wrong(("not named: " + words + by + ": " + text).c_str());
  }
}

/// Sends short messages to a node until one fails, because the node has left.
void wait_until_gone(int node) {
  const double limit = QMP_time() + 40;
  Message message(in_one_block(kShort), Message::To::kSend, node);
  while (message.run() == QMP_SUCCESS) {
    expect(QMP_time() < limit, "a node that leaves is not noticed");
    std::this_thread::yield();
  }
  expect_departure(message.handle(), "had started 0 receives on this channel");
}

/// The node that leaves sends two messages to each other node. One is short.
/// The other is long, and its receive is started after the node has left.
void send_and_leave() {
  for (int node = 0; node < QMP_get_number_of_nodes() - 1; ++node) {
    Message small(in_one_block(kShort), Message::To::kSend, node);
    Message large(in_two_blocks(kLong), Message::To::kSend, node);
    expect(small.run() == QMP_SUCCESS, "a short send");
    expect(QMP_start(large.handle()) == QMP_SUCCESS, "start");
  }
}

/// The last node has left: its two messages come, and no other transfer with it
/// ends well.
void be_left_in_messages() {
  using To = Message::To;
  const int last = QMP_get_number_of_nodes() - 1;
  if (QMP_get_node_number() == last) {
    send_and_leave();
    return;
  }
  Message small(in_one_block(kShort), To::kReceive, last);
  expect(small.run() == QMP_SUCCESS, "the short message");
  wait_until_gone(last);
  Message large(in_two_blocks(kLong), To::kReceive, last);
  expect(large.run() == QMP_SUCCESS, "the long message");
  int number = 3;
  for (const std::size_t bytes : {kShort, kLong}) {
    for (QMP_msgmem_t memory : {in_one_block(bytes), in_two_blocks(bytes)}) {
      Message receive(memory, To::kReceive, last);
      expect(receive.run() == QMP_ERROR, "a receive from a node that left");
      expect(QMP_get_error_number(receive.handle()) == QMP_ERROR, "number");
      expect_departure(receive.handle(), "receive number " +
                                             std::to_string(number++) + " of " +
                                             std::to_string(bytes) + " bytes");
      expect_departure(receive.handle(), "had started 2 sends on this channel");
    }
  }
  Message send(in_one_block(kLong), To::kSend, last);
  expect(send.run() == QMP_ERROR, "a send to a node that left");
  expect_departure(send.handle(), "had started 0 receives on this channel");
  // A multiple ends when its last part has ended, and then tells of the first
  // that failed.
  const int self = QMP_get_node_number();
  Message parts[] = {{in_one_block(kLong), To::kSend, self},
                     {in_two_blocks(kLong), To::kReceive, last},
                     {in_two_blocks(kLong), To::kSend, last},
                     {in_one_block(kLong), To::kReceive, self}};
  std::array<QMP_msghandle_t, 4> handles{};
  for (std::size_t i = 0; i < handles.size(); ++i) {
    handles[i] = parts[i].release();
  }
  QMP_msghandle_t all = QMP_declare_multiple(handles.data(), 4);
  for (int round = 0; round < 2; ++round) {
    expect(QMP_start(all) == QMP_SUCCESS, "start");
    expect(QMP_wait(all) == QMP_ERROR, "a multiple with a node that left");
    expect_departure(all, "receive number ");
  }
  QMP_free_msghandle(all);
}

/// Two barriers have let the last node end its progress. So it
/// sends no long message any more, and answers nothing.
void be_left_after_barriers() {
  using To = Message::To;
  const int last = QMP_get_number_of_nodes() - 1;
  if (QMP_get_node_number() == last) {
    send_and_leave();
    return;
  }
  Message small(in_one_block(kShort), To::kReceive, last);
  expect(small.run() == QMP_SUCCESS, "the short message");
  (void)QMP_barrier();
  (void)QMP_barrier();
  Message late(in_one_block(kLong), To::kReceive, last);
  expect(late.run() == QMP_ERROR, "a long message of a node that is over");
  expect_departure(late.handle(), "receive number 2 of 60000 bytes");
  expect_departure(late.handle(), "after two barriers its end was over");
  Message send(in_one_block(kLong), To::kSend, last);
  expect(QMP_start(send.handle()) == QMP_SUCCESS, "start");
  const double limit = QMP_time() + 40;
  while (QMP_is_complete(send.handle()) == QMP_FALSE) {
    expect(QMP_time() < limit, "a node that is over is not noticed");
  }
  expect(QMP_wait(send.handle()) == QMP_ERROR, "a send to a node that is over");
  expect_departure(send.handle(), "no receive that could still end");
}

/// The last node leaves at once; the next rank, node 0, is told.
void be_left() {
  if (QMP_get_node_number() == QMP_get_number_of_nodes() - 1) {
    return;
  }
  for (int round = 0; round < 2; ++round) {
    const QMP_status_t status = QMP_barrier();
    expect(status == QMP_ERROR || QMP_get_node_number() != 0, "unnoticed");
  }
}

void wait_for_nothing(std::size_t bytes) {
  std::vector<char> buffer(bytes);
  const int peer = (QMP_get_node_number() + 1) % QMP_get_number_of_nodes();
  QMP_msgmem_t memory = QMP_declare_msgmem(buffer.data(), bytes);
  QMP_msghandle_t handle = QMP_declare_receive_from(memory, peer, 0);
  expect(QMP_start(handle) == QMP_SUCCESS, "start");
  expect(QMP_wait(handle) == QMP_TIMEOUT, "no time-out");
  expect(QMP_get_error_number(handle) == QMP_TIMEOUT, "error number");
  expect(QMP_start(handle) == QMP_INVALID_OP, "not active any more");
  // The message must not come before the time of the other node is over.
  meet_all();
  // The message is still received.
  QMP_msghandle_t send = QMP_declare_send_to(memory, peer, 0);
  expect(QMP_start(send) == QMP_SUCCESS, "start");
  expect(QMP_wait(handle) == QMP_SUCCESS, "wait");
  expect(QMP_wait(send) == QMP_SUCCESS, "wait");
  QMP_free_msghandle(send);
  QMP_free_msghandle(handle);
  QMP_free_msgmem(memory);
}

/// Sends a large message to the next node, and receives one from the node
/// before.
void pass_on(std::span<char> buffer) {
  const int nodes = QMP_get_number_of_nodes();
  const int node = QMP_get_node_number();
  std::vector<char> other(buffer.size());
  QMP_msgmem_t out = QMP_declare_msgmem(buffer.data(), buffer.size());
  QMP_msgmem_t in = QMP_declare_msgmem(other.data(), other.size());
  QMP_msghandle_t both[2] = {
      QMP_declare_send_to(out, (node + 1) % nodes, 0),
      QMP_declare_receive_from(in, (node + nodes - 1) % nodes, 0)};
  QMP_msghandle_t all = QMP_declare_multiple(both, 2);
  expect(QMP_start(all) == QMP_SUCCESS, "start");
  expect(QMP_wait(all) == QMP_SUCCESS, "wait");
  QMP_free_msghandle(all);
  QMP_free_msgmem(out);
  QMP_free_msgmem(in);
}

/// Ends with messages that no node receives, and handles that are not freed.
void leave_much() {
  static std::vector<char> buffer(100'000);
  const int peer = (QMP_get_node_number() + 1) % QMP_get_number_of_nodes();
  pass_on(buffer);
  // Static, so that memory that is not freed is no leak for sanitizers.
  static QMP_msgmem_t small = QMP_declare_msgmem(buffer.data(), 100);
  static QMP_msgmem_t large = QMP_declare_msgmem(buffer.data(), buffer.size());
  for (int i = 0; i < 50; ++i) {
    QMP_msghandle_t handle = QMP_declare_send_to(small, peer, 0);
    expect(QMP_start(handle) == QMP_SUCCESS, "start");
    QMP_free_msghandle(handle);
  }
  static QMP_msghandle_t kept = QMP_declare_send_to(large, peer, 0);
  expect(QMP_start(kept) == QMP_SUCCESS, "start");
  QMP_msghandle_t freed = QMP_declare_send_to(large, peer, 0);
  expect(QMP_start(freed) == QMP_SUCCESS, "start");
  QMP_free_msghandle(freed);
}

/// Divides a lattice for which the published division is not the best.
void lay_out() {
  const std::array<int, 2> lattice{8, 6};
  expect(QMP_layout_grid(lattice.data(), 2) == QMP_SUCCESS, "layout");
  say_numbers("divided", QMP_get_logical_dimensions(), 2);
}

/// Ends objects of qmp.hpp after finalize: exit() destroys them.
void outlive() {
  static QMP::AlignedMemory memory(100);
  static const QMP::MessageMemory message(memory);
  static QMP::SingleOperation kept;
  expect(kept.declareSend(message, 0) == QMP_SUCCESS, "declare");
  static std::array<QMP::SingleOperation, 2> parts;
  for (QMP::SingleOperation& part : parts) {
    expect(part.declareReceive(message, 0) == QMP_SUCCESS, "declare");
  }
  static const QMP::MultiOperation several(parts.data(), 2);
  expect(static_cast<bool>(several), "declare several");
}

/// Ends by exit() while node 1 receives a message that node 0 has only started.
void send_at_exit() {
  // Never destroyed: the library may read it until the end of exit().
  static char buffer[4 << 20];
  pass_on(buffer);
  static QMP_msgmem_t memory = QMP_declare_msgmem(buffer, sizeof buffer);
  static QMP_msghandle_t handle = QMP_get_node_number() == 0
                                      ? QMP_declare_send_to(memory, 1, 0)
                                      : QMP_declare_receive_from(memory, 0, 0);
  expect(QMP_start(handle) == QMP_SUCCESS, "start");
  if (QMP_get_node_number() == 1) {
    expect(QMP_wait(handle) == QMP_SUCCESS, "wait");
  }
}

/// Node 1 dies while the others wait in a sum for it.
void die_in_a_sum() {
  QMP_comm_t comm = nullptr;
  expect(QMP_comm_split(QMP_comm_get_default(), 0, 0, &comm) == QMP_SUCCESS,
         "split");
  double value = 1;
  expect(QMP_comm_sum_double(comm, &value) == QMP_SUCCESS, "sum");
  // A node that leaves a sum first knows that all have come, not that all have
  // gone. The sum fails when the end of node 1 is noticed before the end of the
  // barrier.
  (void)QMP_barrier();
  if (QMP_get_node_number() == 1) {
    (void)std::raise(SIGKILL);
  }
  const QMP_status_t status = QMP_comm_sum_double(comm, &value);
  expect(status == QMP_ERROR, "a sum without node 1");
}

/// Node 1 dies while node 0 waits for its message; the end of the job does not
/// stop node 0 at once.
void wait_for_dead() {
  if (QMP_get_node_number() == 1) {
    (void)QMP_barrier();
    (void)std::raise(SIGKILL);
  }
  (void)std::signal(SIGTERM, SIG_IGN);
  std::vector<char> buffer(1000);
  QMP_msgmem_t memory = QMP_declare_msgmem(buffer.data(), buffer.size());
  QMP_msghandle_t handle = QMP_declare_receive_from(memory, 1, 0);
  expect(QMP_start(handle) == QMP_SUCCESS, "start");
  // The barrier fails when the end of node 1 is noticed before the end of the
  // barrier.
  (void)QMP_barrier();
  expect(QMP_wait(handle) == QMP_ERROR, "a message of the dead");
  expect(QMP_get_error_number(handle) == QMP_ERROR, "error number");
  QMP_free_msghandle(handle);
  QMP_free_msgmem(memory);
}

/// Children of fork() are refused and run their exit handlers; after them the
/// nodes still have a job.
void fork_children() {
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      int one = 1;
      expect(QMP_sum_int(&one) == QMP_NOT_INITED, "a sum in a child");
      expect(QMP_barrier() == QMP_NOT_INITED, "a barrier in a child");
      expect(QMP_declare_msgmem(&one, 4) == nullptr, "memory in a child");
      if (i % 2 == 0) {
        QMP_finalize_msg_passing();
      }
      std::exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child");
    int nodes = 1;
    expect(QMP_sum_int(&nodes) == QMP_SUCCESS, "a sum beside a child");
    expect(nodes == QMP_get_number_of_nodes(), "the sum");
  }
}

}  // namespace

/// The test chooses the mode, and judges the output and the exit status. Modes
/// that need the state before or after the job act outside of the chain of
/// branches.
int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "outside") {
    outside();
    QMP_finalize_msg_passing();
    QMP_printf("before %s", "init");
  }
  if (mode == "early") {
    (void)QMP_barrier();
    QMP_printf("went on");
    return 0;
  }
  if (mode == "after_acp_init") {
    expect(acp_init(&argc, &argv) == 0, "acp_init");
  }
  expect(QMP_verbose(mode == "machine" ? 1 : 0) == 0, "QMP_verbose");
  QMP_thread_level_t provided = QMP_THREAD_SINGLE;
  const QMP_status_t status =
      QMP_init_msg_passing(&argc, &argv, QMP_THREAD_FUNNELED, &provided);
  if (status != QMP_SUCCESS) {
    if (mode == "after_acp_init") {
      expect(acp_finalize() == 0, "acp_finalize");
    }
    return 77;
  }
  expect(provided == QMP_THREAD_FUNNELED, "thread level");
  if (mode == "abort") {
    const bool is_mine = QMP_get_node_number() == 1;
    const int code = std::stoi(argv[2]);
    if (is_mine) {
      QMP_abort(code);
    }
    (void)QMP_barrier();
  } else if (mode == "abort_string") {
    char text[] = "lattice on fire";
    QMP_abort_string(7, text);
  } else if (mode == "machine") {
    describe_machine();
  } else if (mode == "print") {
    QMP_printf("number %d", 5);
    QMP_fprintf(stdout, "to a stream");
    QMP_info("known");
    QMP_error("bad");
    expect(QMP_verbose(2) == 0 && QMP_verbose(0) == 2, "verbose");
    expect(QMP_profcontrol(1) == 0 && QMP_profcontrol(0) == 1, "profcontrol");
    expect(QMP_time() > 0, "time");
    expect(QMP_version_int() == 20504, "version");
    for (int code = QMP_ERROR; code <= QMP_MAX_STATUS; ++code) {
      expect(std::strlen(QMP_error_string(static_cast<QMP_status_t>(code))) > 5,
             "error string");
    }
  } else if (mode == "timeout") {
    wait_for_nothing(static_cast<std::size_t>(std::stoi(argv[2])));
  } else if (mode == "timeout_in_part") {
    wait_in_part();
  } else if (mode == "bad_map") {
    declare_with_bad_map();
  } else if (mode == "wrong_arguments") {
    give_wrong_arguments();
  } else if (mode == "large_lattice") {
    lay_out_too_much();
  } else if (mode == "late") {
    come_late(argv[2], argv[3]);
  } else if (mode == "wait_for_ever") {
    wait_for_ever();
  } else if (mode == "be_left_by_the_root") {
    be_left_by_the_root();
  } else if (mode == "meet_another") {
    meet_another(argv[2], std::stoi(argv[3]));
  } else if (mode == "lack_memory") {
    lack_memory();
  } else if (mode == "die") {
    die_in_a_sum();
  } else if (mode == "wait_for_dead") {
    wait_for_dead();
  } else if (mode == "send_at_exit") {
    send_at_exit();
  } else if (mode == "leave") {
    leave_much();
  } else if (mode == "layout") {
    lay_out();
  } else if (mode == "outlive" || mode == "outlive_finalize") {
    outlive();
  } else if (mode == "fork") {
    fork_children();
  } else if (mode == "careless") {
    (void)QMP_change_address(nullptr, nullptr);
    QMP_printf("went on");
  } else if (mode == "be_left") {
    be_left();
  } else if (mode == "be_left_in_messages") {
    be_left_in_messages();
  } else if (mode == "be_left_after_barriers") {
    be_left_after_barriers();
  }
  if (mode == "outside") {
    QMP_finalize_msg_passing();
    QMP_finalize_msg_passing();
    outside();
    expect(QMP_init_msg_passing(nullptr, nullptr, QMP_THREAD_SINGLE, nullptr) ==
               QMP_INVALID_OP,
           "a second time");
  } else if (mode == "finalize" || mode == "leave" ||
             mode == "outlive_finalize") {
    QMP_finalize_msg_passing();
  }
  std::exit(0);
}
