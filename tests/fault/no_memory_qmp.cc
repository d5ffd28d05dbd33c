// The calls of QMP and of the LQCD interface while memory is refused at their
// K-th allocation, for K from 1 on; no_memory_test.cc runs it with two nodes.
// refused_calls.h has the rules that hold.
//   no_memory_qmp once|limit|empty
//   no_memory_qmp scu    a call of SCU begins without the reserve
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include <acp.h>
#include <lqcd.h>
#include <qmp.h>
#include <scu/sysfunc.h>

#include "fault/refused_calls.h"
#include "fault/refused_memory.h"

namespace {

using refused::attempt;
using refused::kRounds;
using refused::require;

/// The last failure of QMP stays until the next: it counts as the error of a
/// call from the moment on in which it was cleared.
QMP_status_t g_status = QMP_SUCCESS;

bool is_done(QMP_status_t status) {
  g_status = status;
  return status == QMP_SUCCESS;
}

template <typename Handle>
bool is_made(Handle handle) {
  g_status = handle != nullptr ? QMP_SUCCESS : QMP_get_error_number(nullptr);
  return handle != nullptr;
}

void test_memory() {
  static std::array<std::byte, 6400> bytes;
  for (int round = 1; round <= kRounds; ++round) {
    QMP_mem_t* memory = nullptr;
    attempt("QMP_allocate_memory", round,
            [&] { return is_made(memory = QMP_allocate_memory(100'000)); });
    QMP_free_memory(memory);
    QMP_msgmem_t block = nullptr;
    attempt("QMP_declare_msgmem", round, [&] {
      return is_made(block = QMP_declare_msgmem(bytes.data(), bytes.size()));
    });
    QMP_free_msgmem(block);
    attempt("QMP_declare_strided_msgmem", round, [&] {
      return is_made(block =
                         QMP_declare_strided_msgmem(bytes.data(), 8, 100, 64));
    });
    QMP_free_msgmem(block);
    std::vector<int> lengths(50, 1);
    std::vector<int> indices(50);
    std::iota(indices.begin(), indices.end(), 0);
    attempt("QMP_declare_indexed_msgmem", round, [&] {
      return is_made(block = QMP_declare_indexed_msgmem(
                         bytes.data(), lengths.data(), indices.data(), 16, 50));
    });
    QMP_free_msgmem(block);
  }
}

struct Exchange {
  std::vector<std::uint64_t> out;
  std::vector<std::uint64_t> in;
  QMP_msghandle_t both = nullptr;

  explicit Exchange(std::size_t words) : out(words), in(words) {}
};

/// Declares a send to the other node and a receive from it, by number or by
/// direction, and makes one handle of both.
void declare(Exchange& exchange, bool by_number, int round) {
  const int other = 1 - QMP_get_node_number();
  QMP_msgmem_t out =
      QMP_declare_msgmem(exchange.out.data(), 8 * exchange.out.size());
  QMP_msgmem_t in =
      QMP_declare_msgmem(exchange.in.data(), 8 * exchange.in.size());
  std::array<QMP_msghandle_t, 2> parts{};
  attempt("QMP_declare_send", round, [&] {
    return is_made(parts[0] = by_number
                                  ? QMP_declare_send_to(out, other, 0)
                                  : QMP_declare_send_relative(out, 0, 1, 0));
  });
  attempt("QMP_declare_receive", round, [&] {
    return is_made(parts[1] = by_number
                                  ? QMP_declare_receive_from(in, other, 0)
                                  : QMP_declare_receive_relative(in, 0, -1, 0));
  });
  attempt("QMP_declare_multiple", round, [&] {
    return is_made(exchange.both = QMP_declare_multiple(parts.data(), 2));
  });
  QMP_free_msgmem(out);
  QMP_free_msgmem(in);
}

void test_messages(std::size_t words, bool by_number) {
  Exchange exchange(words);
  for (int round = 1; round <= kRounds; ++round) {
    declare(exchange, by_number, round);
    for (const unsigned turn : {0U, 1U}) {
      exchange.out.back() = 2 * static_cast<std::uint64_t>(round) + turn;
      exchange.in.back() = 0;
      attempt("QMP_start", round,
              [&] { return is_done(QMP_start(exchange.both)); });
      attempt("QMP_wait", round,
              [&] { return is_done(QMP_wait(exchange.both)); });
      require(exchange.in.back() == exchange.out.back(), "another value",
              "message", round);
    }
    QMP_free_msghandle(exchange.both);
  }
}

void add(void* inout, void* in) {
  *static_cast<std::uint64_t*>(inout) += *static_cast<std::uint64_t*>(in);
}

/// Sums of one number, of many, of a function of the program.
void test_sums(int round) {
  int number = 1;
  attempt("QMP_sum_int", round, [&] {
    number = 1;
    return is_done(QMP_sum_int(&number));
  });
  require(number == 2, "another sum", "QMP_sum_int", round);
  std::vector<double> many;
  attempt("QMP_sum_double_array", round, [&] {
    many.assign(5000, 1.0);
    return is_done(QMP_sum_double_array(many.data(), 5000));
  });
  require(many.back() == 2.0, "another sum", "QMP_sum_double_array", round);
  std::uint64_t word = 0;
  attempt("QMP_binary_reduction", round, [&] {
    word = 3;
    return is_done(QMP_binary_reduction(&word, sizeof word, &add));
  });
  require(word == 6, "another sum", "QMP_binary_reduction", round);
}

void test_collective(int round) {
  attempt("QMP_barrier", round, [] { return is_done(QMP_barrier()); });
  std::vector<std::uint64_t> many(20'000, QMP_is_primary_node() ? 7 : 0);
  attempt("QMP_broadcast", round,
          [&] { return is_done(QMP_broadcast(many.data(), 160'000)); });
  require(many.back() == 7, "another value", "QMP_broadcast", round);
  std::array<char, 2000> out{};
  std::array<char, 2000> in{};
  out.fill(static_cast<char>('a' + QMP_get_node_number()));
  attempt("QMP_comm_alltoall", round, [&] {
    return is_done(
        QMP_comm_alltoall(QMP_comm_get_default(), in.data(), out.data(), 1000));
  });
  require(in.front() == 'a' && in.back() == 'b', "another value",
          "QMP_comm_alltoall", round);
  QMP_comm_t split = nullptr;
  attempt("QMP_comm_split", round, [&] {
    return is_done(QMP_comm_split(QMP_comm_get_default(), 0,
                                  QMP_get_node_number(), &split));
  });
  attempt("QMP_comm_barrier", round,
          [&] { return is_done(QMP_comm_barrier(split)); });
  attempt("QMP_comm_free", round,
          [&] { return is_done(QMP_comm_free(split)); });
}

/// The LQCD interface keeps its last failure too, and a start returns nothing.
/// So a failure of another kind, for a handle that is NULL, comes first.
constexpr refused::Errors kLqcdErrors{[] { (void)testCompletion(nullptr); },
                                      []() -> long { return getErrorNumber(); },
                                      QMP_NOMEM_ERR};

/// A start has succeeded when no further failure is there.
bool has_started() {
  return getErrorNumber() == QMP_INVALID_ARG;
}

/// Messages of the LQCD interface. Declarations stay until the end.
void test_lqcd() {
  static std::array<double, 1000> out;
  static std::array<double, 1000> in;
  refused::set_errors(kLqcdErrors);
  const int other = 1 - QMP_get_node_number();
  for (int round = 1; round <= kRounds; ++round) {
    void* send = nullptr;
    void* receive = nullptr;
    attempt("declareSendTo", round, [&] {
      send = declareSendTo(out.data(), sizeof out, other, round);
      return send != nullptr;
    });
    attempt("declareReceive", round, [&] {
      receive = declareReceive(in.data(), sizeof in, round);
      return receive != nullptr;
    });
    out.back() = round;
    attempt("startReceive", round, [&] {
      startReceive(receive);
      return has_started();
    });
    attempt("startSend", round, [&] {
      startSend(send);
      return has_started();
    });
    for (void* handle : {send, receive})
      attempt("waitFor", round, [&] { return waitFor(handle, -1) == 1; });
    require(in.back() == round, "another value", "LQCD message", round);
    attempt("sumDouble", round, [] { return sumDouble(1.0) == 2.0; });
  }
}

/// Functions of SCU have no failure: the job ends.
int sync_without_reserve() {
  const std::unique_ptr<char[]> own = refused::begin_without_reserve();
  SCUSync();
  refused::end();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "scu") {
    SCUCommsInit();
    return sync_without_reserve();
  }
  if (argc != 2 || !refused::read_mode(argv[1])) return 1;
  refused::set_errors({[] { g_status = QMP_SUCCESS; },
                       []() -> long { return g_status; }, QMP_NOMEM_ERR});
  if (initMachine() != 0 || QMP_get_number_of_nodes() != 2) return 1;
  const int torus = 2;
  if (QMP_declare_logical_topology(&torus, 1) != QMP_SUCCESS) return 1;
  test_memory();
  for (const bool by_number : {true, false}) {
    test_messages(10, by_number);
    test_messages(20'000, by_number);
  }
  for (int round = 1; round <= kRounds; ++round) {
    test_sums(round);
    test_collective(round);
  }
  test_lqcd();
  refused::print_counts();
  return shutdownMachine();
}
