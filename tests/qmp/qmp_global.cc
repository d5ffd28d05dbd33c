// QMP_barrier, QMP_broadcast, all reductions, and QMP_comm_split with its
// relatives.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "qmp_case.h"

using nodes::count;
using nodes::me;

namespace {

/// A value of a node with many bits; each call returns the same one.
double number_of(int node, int salt) {
  std::uint64_t bits = static_cast<std::uint64_t>(node) * 1000 +
                       static_cast<std::uint64_t>(salt) + 1;
  const auto next = [&bits] {
    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9U + 0x9e3779b97f4a7c15U;
    return bits ^ bits >> 32;
  };
  next();
  return std::ldexp(static_cast<double>(next() >> 11),
                    static_cast<int>(next() % 80) - 90) *
         (next() % 2 == 0 ? 1 : -1);
}

/// The tree of docs/qmp.md, evaluated on one node.
template <typename T>
T tree_sum(std::vector<T> values) {
  std::size_t power = 1;
  while (2 * power <= values.size())
    power *= 2;
  const std::size_t pairs = values.size() - power;
  std::vector<T> blocks;
  for (std::size_t i = 0; i < pairs; ++i) {
    blocks.push_back(values[2 * i] + values[2 * i + 1]);
  }
  blocks.insert(blocks.end(),
                values.begin() + static_cast<std::ptrdiff_t>(2 * pairs),
                values.end());
  for (; blocks.size() > 1;) {
    std::vector<T> next;
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
      next.push_back(blocks[i] + blocks[i + 1]);
    }
    blocks = next;
  }
  return blocks[0];
}

template <typename T>
std::vector<T> everybodys(int salt) {
  std::vector<T> all;
  for (int node = 0; node < count(); ++node) {
    all.push_back(static_cast<T>(number_of(node, salt)));
  }
  return all;
}

template <typename T>
void expect_same_bits(const T& a, const T& b) {
  // Only ten bytes of a long double have a meaning.
  const std::size_t bytes = std::is_same_v<T, long double> ? 10 : sizeof(T);
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  EXPECT(std::memcmp(&a, &b, bytes) == 0);
}

struct Text {
  std::array<char, 64> bytes;
};

/// Concatenation: associative, not commutative.
void join(void* inout, void* in) {
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(inout) % 64, 0U);
  auto& mine = *static_cast<Text*>(inout);
  const auto& theirs = *static_cast<Text*>(in);
  std::strcat(mine.bytes.data(), theirs.bytes.data());
}

}  // namespace

SPMD_CASE(qmp_sum_int, "QMP_sum_int, QMP_sum_uint64_t: exact, and wrap") {
  int value = me() + 1;
  EXPECT_OK(QMP_sum_int(&value));
  EXPECT_EQ(value, count() * (count() + 1) / 2);
  std::uint64_t large = me() == 0 ? UINT64_MAX : 0;
  large += me() == count() - 1 ? 5 : 0;
  EXPECT_OK(QMP_sum_uint64_t(&large));
  EXPECT_EQ(large, 4U);
  int largest = std::numeric_limits<int>::max();
  EXPECT_OK(QMP_sum_int(&largest));
  EXPECT_EQ(static_cast<unsigned>(largest),
            static_cast<unsigned>(count()) * 0x7fffffffU);
}

SPMD_CASE(qmp_sum_double,
          "sums: the bits of the documented tree, on every node, each time") {
  for (int salt = 0; salt < static_cast<int>(spmd::scaled(300, 30)); ++salt) {
    auto d = number_of(me(), salt);
    auto f = static_cast<float>(d);
    auto l = static_cast<long double>(d);
    double x = d;
    EXPECT_OK(QMP_sum_double(&d));
    EXPECT_OK(QMP_sum_float(&f));
    EXPECT_OK(QMP_sum_long_double(&l));
    EXPECT_OK(QMP_sum_double_extended(&x));
    expect_same_bits(d, tree_sum(everybodys<double>(salt)));
    expect_same_bits(f, tree_sum(everybodys<float>(salt)));
    expect_same_bits(l, tree_sum(everybodys<long double>(salt)));
    expect_same_bits(
        x, static_cast<double>(tree_sum(everybodys<long double>(salt))));
  }
}

// The lengths lie on both sides of each limit between ways. The result has to
// be the sum of the tree, to the last bit.
SPMD_CASE(qmp_sum_double_array,
          "sums of arrays: empty, around the limits of each way, long") {
  for (const int length : {0, 1, 3, 7, 8, 512, 513, 2048, 2049, 20'000}) {
    const auto n = static_cast<std::size_t>(length);
    std::vector<double> d(n);
    std::vector<float> f(n);
    std::vector<long double> l(n);
    for (std::size_t i = 0; i < n; ++i) {
      d[i] = number_of(me(), static_cast<int>(i % 100));
      f[i] = static_cast<float>(d[i]);
      l[i] = d[i];
    }
    std::vector<double> x = d;
    EXPECT_OK(QMP_sum_double_array(d.data(), length));
    EXPECT_OK(QMP_sum_float_array(f.data(), length));
    EXPECT_OK(QMP_sum_long_double_array(l.data(), length));
    EXPECT_OK(QMP_sum_double_extended_array(x.data(), length));
    for (std::size_t i = 0; i<n; i += n> 1000 ? 37 : 1) {
      const int salt = static_cast<int>(i % 100);
      expect_same_bits(d[i], tree_sum(everybodys<double>(salt)));
      expect_same_bits(f[i], tree_sum(everybodys<float>(salt)));
      expect_same_bits(l[i], tree_sum(everybodys<long double>(salt)));
      expect_same_bits(
          x[i], static_cast<double>(tree_sum(everybodys<long double>(salt))));
    }
  }
  EXPECT_EQ(QMP_sum_double_array(nullptr, 3), QMP_INVALID_ARG);
  double one = 1;
  EXPECT_EQ(QMP_sum_double_array(&one, -1), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_sum_double(nullptr), QMP_INVALID_ARG);
}

// Every node gives another value, so that each result is the value of the first
// or of the last node. A NaN comes from each node in turn.
SPMD_CASE(qmp_max_double, "maxima and minima, of ints too; a NaN wins") {
  double d = me() - 3.5;
  float f = static_cast<float>(me()) * -2;
  int i = 10 - me();
  EXPECT_OK(QMP_max_double(&d));
  EXPECT_OK(QMP_max_float(&f));
  EXPECT_OK(QMP_max_int(&i));
  EXPECT_EQ(d, count() - 4.5);
  EXPECT_EQ(f, 0.0F);
  EXPECT_EQ(i, 10);
  d = me() - 3.5;
  f = static_cast<float>(me()) * -2;
  i = 10 - me();
  EXPECT_OK(QMP_min_double(&d));
  EXPECT_OK(QMP_min_float(&f));
  EXPECT_OK(QMP_min_int(&i));
  EXPECT_EQ(d, -3.5);
  EXPECT_EQ(f, static_cast<float>(count() - 1) * -2);
  EXPECT_EQ(i, 11 - count());
  for (int who = 0; who < count(); ++who) {
    double nan = me() == who ? std::nan("") : 1.0;
    EXPECT_OK(QMP_max_double(&nan));
    EXPECT(std::isnan(nan));
    nan = me() == who ? std::nan("") : 1.0;
    EXPECT_OK(QMP_min_double(&nan));
    EXPECT(std::isnan(nan));
  }
}

SPMD_CASE(qmp_xor_ulong, "QMP_xor_ulong") {
  unsigned long value = 1UL << me();
  EXPECT_OK(QMP_xor_ulong(&value));
  EXPECT_EQ(value, (1UL << count()) - 1);
}

SPMD_CASE(qmp_binary_reduction,
          "QMP_binary_reduction: in the order of nodes, whole buffers") {
  Text text{};
  text.bytes[0] = static_cast<char>('a' + me());
  EXPECT_OK(QMP_binary_reduction(&text, sizeof text, &join));
  std::string expected;
  for (int node = 0; node < count(); ++node) {
    expected += static_cast<char>('a' + node);
  }
  EXPECT_EQ(std::string(text.bytes.data()), expected);
  EXPECT_EQ(QMP_binary_reduction(&text, sizeof text, nullptr), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_binary_reduction(nullptr, 8, &join), QMP_INVALID_ARG);
}

SPMD_CASE(qmp_broadcast, "QMP_broadcast: from node 0, all sizes, in a row") {
  for (const std::size_t size : {0, 1, 56, 57, 4096, 4097, 300'000}) {
    for (std::size_t round = 0; round < 40; ++round) {
      std::vector<std::byte> bytes(size);
      if (me() == 0) {
        nodes::fill(bytes, 0, round);
      }
      EXPECT_OK(QMP_broadcast(bytes.data(), size));
      nodes::check(bytes, size, 0, round);
    }
  }
  EXPECT_EQ(QMP_broadcast(nullptr, 1), QMP_INVALID_ARG);
}

/// Block i of node j, in a round that no other has.
std::byte block_byte(int from, int to, std::size_t at, int round) {
  return static_cast<std::byte>(from * 7 + to * 29 + round * 3 + at * 5);
}

/// Bytes behind and before the blocks must stay as they are.
void transpose(QMP_comm_t comm, std::size_t bytes, int round) {
  constexpr std::size_t kEdge = 8;
  constexpr auto kUntouched = std::byte{0xa5};
  const int here = QMP_comm_get_node_number(comm);
  const int nodes_there = QMP_comm_get_number_of_nodes(comm);
  const std::size_t all = bytes * static_cast<std::size_t>(nodes_there);
  std::vector<std::byte> in(all + 2 * kEdge, kUntouched);
  std::vector<std::byte> out(all + 1);
  for (std::size_t i = 0; i < all; ++i) {
    out[i] = block_byte(here, static_cast<int>(i / bytes), i % bytes, round);
  }
  const std::vector<std::byte> before = out;
  EXPECT_OK(QMP_comm_alltoall(comm, reinterpret_cast<char*>(in.data() + kEdge),
                              reinterpret_cast<char*>(out.data()),
                              static_cast<int>(bytes)));
  EXPECT(out == before);
  std::vector<std::byte> expected(in.size(), kUntouched);
  for (std::size_t i = 0; i < all; ++i) {
    expected[kEdge + i] =
        block_byte(static_cast<int>(i / bytes), here, i % bytes, round);
  }
  EXPECT(in == expected);
}

SPMD_CASE(qmp_comm_alltoall,
          "QMP_comm_alltoall: all sizes, in a row, among other operations") {
  QMP_comm_t all = QMP_comm_get_default();
  QMP_comm_t reversed = nullptr;
  QMP_comm_t parity = nullptr;
  EXPECT_OK(QMP_comm_split(all, 0, -me(), &reversed));
  EXPECT_OK(QMP_comm_split(all, me() % 2, 0, &parity));
  for (const std::size_t size : {0, 1, 4, 57, 4072, 4073, 20'000}) {
    for (int round = 0; round < 12; ++round) {
      transpose(all, size, round);
      transpose(round % 2 == 0 ? reversed : parity, size, round);
      if (round % 3 == 0) {
        int one = 1;
        EXPECT_OK(QMP_sum_int(&one));
        EXPECT_EQ(one, count());
        EXPECT_OK(QMP_broadcast(&one, sizeof one));
      }
    }
  }
  transpose(all, 300'000, 1);
  EXPECT_OK(QMP_comm_free(reversed));
  EXPECT_OK(QMP_comm_free(parity));
}

SPMD_CASE(qmp_comm_alltoall_refuses,
          "QMP_comm_alltoall: NULL, a negative count, buffers that overlap") {
  QMP_comm_t all = QMP_comm_get_default();
  std::vector<char> bytes(16 * static_cast<std::size_t>(count()));
  char* in = bytes.data();
  char* out = in + bytes.size() / 2;
  EXPECT_EQ(QMP_comm_alltoall(nullptr, in, out, 8), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_alltoall(all, nullptr, out, 8), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_alltoall(all, in, nullptr, 8), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_alltoall(all, in, out, -1), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_alltoall(all, in, in, 8), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_alltoall(all, in, out - 1, 8), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_alltoall(all, out - 1, in, 8), QMP_INVALID_ARG);
  EXPECT_OK(QMP_comm_alltoall(all, in, out, 8));
  EXPECT_OK(QMP_comm_alltoall(all, nullptr, nullptr, 0));
}

SPMD_CASE(qmp_barrier, "QMP_barrier: nobody leaves before all have come") {
  // A message sent before a barrier is still received after it.
  for (int round = 0; round < static_cast<int>(spmd::scaled(500, 50));
       ++round) {
    int arrived = 1;
    EXPECT_OK(QMP_barrier());
    EXPECT_OK(QMP_sum_int(&arrived));
    EXPECT_EQ(arrived, count());
  }
  EXPECT_EQ(QMP_comm_barrier(nullptr), QMP_INVALID_ARG);
}

SPMD_CASE(qmp_comm_split, "QMP_comm_split: colors, keys, overlap, messages") {
  QMP_comm_t all = QMP_comm_get_default();
  QMP_comm_t parity = nullptr;
  QMP_comm_t reversed = nullptr;
  EXPECT_OK(QMP_comm_split(all, me() % 2, 7, &parity));
  EXPECT_OK(QMP_comm_split(all, 3, -me(), &reversed));
  EXPECT_EQ(QMP_comm_get_number_of_nodes(parity), (count() + 1 - me() % 2) / 2);
  EXPECT_EQ(QMP_comm_get_node_number(parity), me() / 2);
  EXPECT_EQ(QMP_comm_get_number_of_colors(parity), std::min(count(), 2));
  EXPECT_EQ(QMP_comm_get_color(parity), me() % 2);
  EXPECT_EQ(QMP_comm_get_key(parity), 7);
  EXPECT_EQ(QMP_comm_get_node_number(reversed), count() - 1 - me());
  EXPECT_EQ(QMP_comm_is_primary_node(reversed),
            me() == count() - 1 ? QMP_TRUE : QMP_FALSE);

  int sum = me();
  int expected = 0;
  for (int node = me() % 2; node < count(); node += 2)
    expected += node;
  EXPECT_OK(QMP_comm_sum_int(parity, &sum));
  EXPECT_EQ(sum, expected);
  EXPECT_OK(QMP_comm_barrier(parity));
  int from = me();
  EXPECT_OK(QMP_comm_broadcast(reversed, &from, sizeof from));
  EXPECT_EQ(from, count() - 1);
  Text text{};
  text.bytes[0] = static_cast<char>('a' + me());
  EXPECT_OK(QMP_comm_binary_reduction(reversed, &text, sizeof text, &join));
  EXPECT_EQ(text.bytes[0], static_cast<char>('a' + count() - 1));

  // Messages of one pair of nodes in three communicators do not mix.
  std::array<int, 3> out{me() * 10, me() * 10 + 1, me() * 10 + 2};
  std::array<int, 3> in{-1, -1, -1};
  const std::array<QMP_comm_t, 3> comms{all, parity, reversed};
  std::array<QMP_msghandle_t, 6> handles{};
  std::array<int, 3> sources{};
  for (std::size_t i = 0; i < 3; ++i) {
    const int nodes_there = QMP_comm_get_number_of_nodes(comms[i]);
    const int here = QMP_comm_get_node_number(comms[i]);
    QMP_msgmem_t from_memory = QMP_declare_msgmem(&out[i], sizeof(int));
    QMP_msgmem_t to_memory = QMP_declare_msgmem(&in[i], sizeof(int));
    handles[i] = QMP_comm_declare_send_to(comms[i], from_memory,
                                          (here + 1) % nodes_there, 0);
    sources[i] = (here + nodes_there - 1) % nodes_there;
    handles[3 + i] =
        QMP_comm_declare_receive_from(comms[i], to_memory, sources[i], 0);
    QMP_free_msgmem(from_memory);
    QMP_free_msgmem(to_memory);
  }
  for (const std::size_t i : {2, 0, 1, 4, 5, 3}) {
    EXPECT_OK(QMP_start(handles[i]));
  }
  EXPECT_OK(QMP_wait_all(handles.data(), 6));
  EXPECT_EQ(in[0], sources[0] * 10);
  EXPECT_EQ(in[1], (sources[1] * 2 + me() % 2) * 10 + 1);
  EXPECT_EQ(in[2], (count() - 1 - sources[2]) * 10 + 2);
  for (QMP_msghandle_t each : handles)
    QMP_free_msghandle(each);

  EXPECT_OK(QMP_comm_free(parity));
  EXPECT_OK(QMP_comm_free(reversed));
  EXPECT_EQ(QMP_comm_free(all), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_free(nullptr), QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_split(nullptr, 0, 0, &parity), QMP_INVALID_ARG);
}

SPMD_CASE(qmp_comm_free, "QMP_comm_free: made and freed many times, in use") {
  for (std::size_t round = 0; round < spmd::scaled(300, 30); ++round) {
    QMP_comm_t comm = nullptr;
    EXPECT_OK(QMP_comm_split(QMP_comm_get_default(), me() / 2,
                             static_cast<int>(round), &comm));
    double value = 1;
    for (int i = 0; i < 20; ++i) {
      EXPECT_OK(QMP_comm_sum_double(comm, &value));
      value /= QMP_comm_get_number_of_nodes(comm);
    }
    EXPECT_EQ(value, 1.0);
    EXPECT_OK(QMP_comm_free(comm));
  }
}

SPMD_CASE(qmp_comm_set_default, "QMP_comm_set_default: and back by free") {
  QMP_comm_t comm = nullptr;
  EXPECT_OK(QMP_comm_split(QMP_comm_get_default(), me(), 0, &comm));
  EXPECT_OK(QMP_comm_set_default(comm));
  EXPECT_EQ(QMP_get_number_of_nodes(), 1);
  int one = 1;
  EXPECT_OK(QMP_sum_int(&one));
  EXPECT_EQ(one, 1);
  EXPECT_OK(QMP_comm_free(comm));
  EXPECT(QMP_comm_get_default() == QMP_comm_get_job());
  EXPECT_EQ(QMP_get_number_of_nodes(), acp_procs());
  EXPECT_EQ(QMP_comm_set_default(nullptr), QMP_INVALID_ARG);
}

SPMD_CASE(qmp_get_hidden_comm, "QMP_get_hidden_comm: there is none") {
  void* hidden = nullptr;
  EXPECT_EQ(QMP_get_hidden_comm(QMP_comm_get_default(), &hidden),
            QMP_NOTSUPPORTED);
}
