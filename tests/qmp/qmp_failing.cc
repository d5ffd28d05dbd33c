// Global operations whose calls do not agree fail on all nodes. All later
// operations of that communicator fail as well; those of others work.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "qmp_case.h"

using nodes::count;
using nodes::me;

namespace {

constexpr std::size_t kLong = 100'000;  // bytes: through channels, in pieces

/// A communicator of all nodes, or of the nodes of one color.
QMP_comm_t split(int color = 0) {
  QMP_comm_t comm = nullptr;
  EXPECT_OK(QMP_comm_split(QMP_comm_get_default(), color, me(), &comm));
  return comm;
}

QMP_status_t sum(QMP_comm_t comm, std::size_t bytes) {
  std::vector<double> values(bytes / sizeof(double), 1.0);
  const QMP_status_t status = QMP_comm_sum_double_array(
      comm, values.data(), static_cast<int>(values.size()));
  const double expected =
      status == QMP_SUCCESS ? QMP_comm_get_number_of_nodes(comm) : 1.0;
  EXPECT(std::all_of(values.begin(), values.end(),
                     [=](double value) { return value == expected; }));
  return status;
}

QMP_status_t sum_int(QMP_comm_t comm) {
  int value = 1;
  return QMP_comm_sum_int(comm, &value);
}

QMP_status_t sum_float(QMP_comm_t comm) {
  float value = 1;
  return QMP_comm_sum_float(comm, &value);
}

QMP_status_t broadcast(QMP_comm_t comm, std::size_t bytes) {
  std::vector<std::byte> buffer(bytes);
  const int root = 0;
  if (QMP_comm_get_node_number(comm) == root) {
    nodes::fill(buffer, root, bytes);
  }
  const QMP_status_t status =
      QMP_comm_broadcast(comm, buffer.data(), buffer.size());
  if (status == QMP_SUCCESS) {
    nodes::check(buffer, bytes, root, bytes);
  }
  return status;
}

QMP_status_t all_to_all(QMP_comm_t comm, std::size_t bytes) {
  const auto all =
      bytes * static_cast<std::size_t>(QMP_comm_get_number_of_nodes(comm));
  std::vector<char> in(all, 'i');
  std::vector<char> out(all, 'o');
  const QMP_status_t status =
      QMP_comm_alltoall(comm, in.data(), out.data(), static_cast<int>(bytes));
  EXPECT(status != QMP_SUCCESS || in == out);
  return status;
}

/// Calls one global operation. A broadcast may succeed on nodes that have done
/// their part; a reduction needs all nodes.
struct Call {
  std::function<QMP_status_t(QMP_comm_t)> run;
  bool is_broadcast = false;
};

/// The call of one node, and the call of all others.
struct Disagreement {
  Call odd;
  Call others;
};

/// Some pairs stand in both directions, because it matters which side has the
/// longer message or the broadcast.
std::vector<Disagreement> disagreements() {
  const auto sum_of = [](std::size_t bytes) -> Call {
    return {[bytes](QMP_comm_t comm) {
      return sum(comm, bytes);
    }};
  };
  const auto broadcast_of = [](std::size_t bytes) -> Call {
    return {[bytes](QMP_comm_t comm) { return broadcast(comm, bytes); }, true};
  };
  const auto all_to_all_of = [](std::size_t bytes) -> Call {
    return {[bytes](QMP_comm_t comm) {
      return all_to_all(comm, bytes);
    }};
  };
  return {{sum_of(40), sum_of(80)},
          {all_to_all_of(8), all_to_all_of(16)},
          {all_to_all_of(kLong), all_to_all_of(8)},
          {all_to_all_of(8), all_to_all_of(kLong)},
          {sum_of(8), all_to_all_of(8)},
          {all_to_all_of(8), sum_of(8)},
          {all_to_all_of(kLong), sum_of(kLong)},
          {broadcast_of(8), all_to_all_of(kLong)},
          {all_to_all_of(kLong), broadcast_of(kLong)},
          {all_to_all_of(8), {&QMP_comm_barrier}},
          {sum_of(80), sum_of(8)},
          {sum_of(8), sum_of(kLong)},
          {sum_of(kLong), sum_of(8)},
          {sum_of(kLong), sum_of(kLong / 2)},
          {{&sum_int}, {&sum_float}},
          {{&QMP_comm_barrier}, sum_of(8)},
          {broadcast_of(8), sum_of(8)},
          {broadcast_of(kLong), sum_of(kLong)},
          {sum_of(8), broadcast_of(8)},
          {sum_of(kLong), broadcast_of(kLong)},
          {broadcast_of(8), broadcast_of(16)},
          {broadcast_of(8), broadcast_of(kLong)},
          {broadcast_of(kLong), broadcast_of(8)},
          {broadcast_of(kLong), broadcast_of(kLong / 2)}};
}

void expect_works(QMP_comm_t comm) {
  EXPECT_OK(sum(comm, 8));
  EXPECT_OK(sum(comm, kLong));
  EXPECT_OK(broadcast(comm, 8));
  EXPECT_OK(broadcast(comm, kLong));
  EXPECT_OK(all_to_all(comm, 8));
  EXPECT_OK(QMP_comm_barrier(comm));
}

/// No node finishes a sum any more. Later operations fail at once.
void expect_revoked(QMP_comm_t comm) {
  EXPECT(sum(comm, 8) != QMP_SUCCESS);
  EXPECT_EQ(sum(comm, kLong), QMP_ERROR);
  EXPECT_EQ(broadcast(comm, 8), QMP_ERROR);
  EXPECT_EQ(all_to_all(comm, 8), QMP_ERROR);
  EXPECT_EQ(QMP_comm_barrier(comm), QMP_ERROR);
  QMP_comm_t part = nullptr;
  EXPECT_EQ(QMP_comm_split(comm, 0, 0, &part), QMP_ERROR);
  EXPECT_EQ(QMP_comm_free(comm), QMP_ERROR);
}

void disagree(const Disagreement& what, int odd, bool has_met) {
  QMP_comm_t comm = split();
  QMP_comm_t other = split();
  if (has_met) {
    expect_works(comm);
  }
  const Call& mine = me() == odd ? what.odd : what.others;
  const QMP_status_t status = mine.run(comm);
  EXPECT(status == QMP_BAD_MESSAGE ||
         (status == QMP_SUCCESS && mine.is_broadcast));
  expect_revoked(comm);
  expect_works(other);
  EXPECT_OK(QMP_comm_free(other));
}

}  // namespace

SPMD_CASE(qmp_calls_disagree,
          "global operations: calls that do not agree fail on all nodes, at "
          "each position, and all that follow") {
  if (count() == 1) {
    spmd::note_skip("needs 2 nodes");
    return;
  }
  const std::vector<Disagreement> all = disagreements();
  const auto cases = std::max(all.size(), static_cast<std::size_t>(count()));
  for (std::size_t i = 0; i < cases; ++i) {
    disagree(all[i % all.size()], static_cast<int>(i) % count(), i % 2 == 1);
  }
  // The default communicator has not been touched.
  expect_works(QMP_comm_get_default());
}

SPMD_CASE(qmp_calls_disagree_in_part,
          "global operations: a communicator of some nodes fails alone") {
  if (count() < 4) {
    spmd::note_skip("needs 4 nodes");
    return;
  }
  QMP_comm_t half = split(me() % 2);
  const bool is_wrong = me() == 0;
  if (me() % 2 == 0) {
    EXPECT_EQ(sum(half, is_wrong ? 8 : 16), QMP_BAD_MESSAGE);
    expect_revoked(half);
  } else {
    expect_works(half);
    EXPECT_OK(QMP_comm_free(half));
  }
  expect_works(QMP_comm_get_default());
}

SPMD_CASE(qmp_ahead_of_a_failure,
          "global operations: those before a failure succeed on all nodes, "
          "however far ahead the failing node is") {
  if (count() == 1) {
    spmd::note_skip("needs 2 nodes");
    return;
  }
  QMP_comm_t comm = split();
  EXPECT_OK(sum(comm, 8));
  // Node 0 sends without waiting, fails alone, and tells the others. Nodes that
  // are still receiving go on to the operation that fails.
  for (std::size_t round = 0; round < 40; ++round) {
    EXPECT_OK(broadcast(comm, 8 + round));
  }
  EXPECT_EQ(me() == 0 ? sum(comm, 8) : sum(comm, 16), QMP_BAD_MESSAGE);
  expect_revoked(comm);
  expect_works(QMP_comm_get_default());
}

SPMD_CASE(qmp_failure_names_both,
          "functions of different types: a line names both") {
  if (count() < 2) {
    return;
  }
  QMP_comm_t comm = split();
  double value = 1;
  EXPECT_EQ(me() == 0 ? sum_int(comm) : QMP_comm_max_double(comm, &value),
            QMP_BAD_MESSAGE);
  const std::string text = QMP_get_error_string(nullptr);
  const auto has = [&text](const char* call) {
    return text.find(call) != std::string::npos;
  };
  // The own call has the name that the program wrote. Of the other one only the
  // type and the operator are known.
  const bool names_both =
      me() == 0
          ? has("QMP_comm_sum_int, 4 bytes") && has("QMP_max_double, 8 bytes")
          : has("QMP_comm_max_double, 8 bytes") && has("QMP_sum_int, 4 bytes");
  double found = names_both ? 1 : 0;
  EXPECT_OK(QMP_sum_double(&found));
  EXPECT(found >= 1);
  expect_revoked(comm);
}
