// The logical topology: its declaration, questions about it, and relative sends
// and receives. Each case has communicators of its own, since a topology is
// declared once.
#include <array>
#include <cstdlib>
#include <numeric>

#include "qmp_case.h"

using nodes::me;

namespace {

/// All nodes, in their order.
class Copy {
 public:
  Copy() { EXPECT_OK(QMP_comm_split(QMP_comm_get_default(), 0, 0, &comm_)); }

  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  ~Copy() { EXPECT_OK(QMP_comm_free(comm_)); }

  QMP_comm_t get() const { return comm_; }

 private:
  QMP_comm_t comm_ = nullptr;
};

/// All ways to write `nodes` as a product of `axes` sizes.
void products(int nodes,
              std::size_t axes,
              std::vector<int>& begun,
              std::vector<std::vector<int>>& all) {
  if (begun.size() + 1 == axes) {
    begun.push_back(nodes);
    all.push_back(begun);
    begun.pop_back();
    return;
  }
  for (int size = 1; size <= nodes; ++size) {
    if (nodes % size == 0) {
      begun.push_back(size);
      products(nodes / size, axes, begun, all);
      begun.pop_back();
    }
  }
}

std::vector<std::vector<int>> tori() {
  std::vector<std::vector<int>> all;
  for (std::size_t axes = 1; axes <= 5; ++axes) {
    std::vector<std::vector<int>> some;
    std::vector<int> begun;
    products(nodes::count(), axes, begun, some);
    // Only the first and last few nodes of each dimension.
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (i < 2 || i + 2 >= some.size()) {
        all.push_back(some[i]);
      }
    }
  }
  return all;
}

/// Sends in both directions along all axes at once, with different sizes, for
/// several rounds.
void exchange_with_neighbours(QMP_comm_t comm, const std::vector<int>& dims) {
  const auto axes = dims.size();
  const int* here = QMP_comm_get_logical_coordinates(comm);
  const auto tag = [](int node, std::size_t axis, int sign) {
    return node * 16 + static_cast<int>(axis) * 2 + (sign > 0 ? 1 : 0);
  };
  std::vector<std::vector<std::byte>> in;
  std::vector<std::vector<std::byte>> out;
  std::vector<int> sources;
  std::vector<QMP_msghandle_t> handles;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    for (const int sign : {1, -1}) {
      const std::size_t size = axis % 2 == 0 ? 100 : 9000;
      std::vector<int> there(here, here + axes);
      there[axis] += sign;
      const int source = QMP_comm_get_node_number_from(comm, there.data());
      in.emplace_back(size);
      out.emplace_back(size);
      nodes::fill(out.back(), tag(me(), axis, sign), axis);
      QMP_msgmem_t from = QMP_declare_msgmem(out.back().data(), size);
      QMP_msgmem_t to = QMP_declare_msgmem(in.back().data(), size);
      const int a = static_cast<int>(axis);
      handles.push_back(QMP_comm_declare_send_relative(comm, from, a, sign, 0));
      handles.push_back(
          QMP_comm_declare_receive_relative(comm, to, a, sign, 0));
      EXPECT(handles.back() != nullptr);
      QMP_free_msgmem(from);
      QMP_free_msgmem(to);
      // The message travels against the sign of the receive.
      sources.push_back(tag(source, axis, -sign));
    }
  }
  const std::size_t count = in.size();
  QMP_msghandle_t all =
      QMP_declare_multiple(handles.data(), static_cast<int>(handles.size()));
  for (int round = 0; round < 3; ++round) {
    EXPECT_OK(QMP_start(all));
    EXPECT_OK(QMP_wait(all));
    for (std::size_t i = 0; i < count; ++i) {
      nodes::check(in[i], in[i].size(), sources[i], i / 2);
      std::fill(in[i].begin(), in[i].end(), std::byte{});
    }
  }
  QMP_free_msghandle(all);
}

}  // namespace

SPMD_CASE(qmp_declare_send_relative,
          "relative messages: tori of 1 to 5 dimensions, sizes 1 and 2 too") {
  for (const std::vector<int>& dims : tori()) {
    const Copy copy;
    EXPECT_OK(QMP_comm_declare_logical_topology(copy.get(), dims.data(),
                                                static_cast<int>(dims.size())));
    exchange_with_neighbours(copy.get(), dims);
  }
}

// The functions are called before a declaration, by wrong ones, and after a
// good one. Then numbers and coordinates have to agree for every node.
SPMD_CASE(qmp_declare_logical_topology,
          "topology: numbers run fastest along axis 0; declared once") {
  const Copy copy;
  const int count = nodes::count();
  const int half = count % 2 == 0 ? 2 : 1;
  const std::array<int, 3> dims{half, count / half, 1};
  const std::array<int, 3> wrong{half, count / half, 2};
  EXPECT_EQ(QMP_comm_logical_topology_is_declared(copy.get()), QMP_FALSE);
  EXPECT(QMP_comm_get_logical_dimensions(copy.get()) == nullptr);
  EXPECT_EQ(QMP_comm_get_logical_number_of_dimensions(copy.get()), 0);
  EXPECT_EQ(QMP_comm_declare_logical_topology(copy.get(), wrong.data(), 3),
            QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_declare_logical_topology(copy.get(), nullptr, 3),
            QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_declare_logical_topology(copy.get(), dims.data(), 0),
            QMP_INVALID_ARG);
  EXPECT_EQ(QMP_comm_get_node_number_from(copy.get(), dims.data()), -1);
  EXPECT_EQ(QMP_get_error_number(nullptr), QMP_NONEIGHBOR_INFO);
  EXPECT_NULL(QMP_comm_get_logical_coordinates_from(copy.get(), 0),
              QMP_NONEIGHBOR_INFO);
  EXPECT_OK(QMP_comm_declare_logical_topology(copy.get(), dims.data(), 3));
  EXPECT_EQ(QMP_comm_declare_logical_topology(copy.get(), dims.data(), 3),
            QMP_TOPOLOGY_EXISTS);
  EXPECT_EQ(QMP_comm_logical_topology_is_declared(copy.get()), QMP_TRUE);
  EXPECT_EQ(QMP_comm_get_logical_number_of_dimensions(copy.get()), 3);
  const int* here = QMP_comm_get_logical_coordinates(copy.get());
  EXPECT_EQ(here[0] + dims[0] * here[1], me());
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(QMP_comm_get_logical_dimensions(copy.get())[axis],
              dims[static_cast<std::size_t>(axis)]);
  }
  for (int node = 0; node < count; ++node) {
    int* coordinates = QMP_comm_get_logical_coordinates_from(copy.get(), node);
    std::array<int, 3> again{};
    QMP_comm_get_logical_coordinates_from2(copy.get(), again.data(), node);
    EXPECT_EQ(coordinates[0], node % dims[0]);
    EXPECT_EQ(coordinates[1], node / dims[0]);
    EXPECT_EQ(again[1], coordinates[1]);
    EXPECT_EQ(QMP_comm_get_node_number_from(copy.get(), coordinates), node);
    std::free(coordinates);
  }
  EXPECT_NULL(QMP_comm_get_logical_coordinates_from(copy.get(), count),
              QMP_NODE_OUTRANGE);
  std::byte byte{};
  QMP_msgmem_t memory = QMP_declare_msgmem(&byte, 1);
  EXPECT_NULL(QMP_comm_declare_send_relative(copy.get(), memory, 3, 1, 0),
              QMP_INVALID_ARG);
  EXPECT_NULL(QMP_comm_declare_send_relative(copy.get(), memory, 0, 0, 0),
              QMP_INVALID_ARG);
  QMP_free_msgmem(memory);
}

SPMD_CASE(qmp_declare_logical_topology_map,
          "topology with a map: numbers run fastest along its first axis") {
  const int count = nodes::count();
  const int half = count % 2 == 0 ? 2 : 1;
  const std::array<int, 2> dims{half, count / half};
  const std::array<int, 2> map{1, 0};
  const std::array<int, 2> no_map{1, 1};
  const Copy copy;
  EXPECT_EQ(QMP_comm_declare_logical_topology_map(copy.get(), dims.data(), 2,
                                                  no_map.data(), 2),
            QMP_INVALID_ARG);
  EXPECT_OK(QMP_comm_declare_logical_topology_map(copy.get(), dims.data(), 2,
                                                  map.data(), 2));
  const int* here = QMP_comm_get_logical_coordinates(copy.get());
  EXPECT_EQ(here[1] + dims[1] * here[0], me());
  exchange_with_neighbours(copy.get(), {dims.begin(), dims.end()});
}

// The refusals come first, because a topology stays once it is declared. The
// same lattice may be laid out again afterwards.
SPMD_CASE(qmp_layout_grid, "QMP_layout_grid: declares the default topology") {
  const std::array<int, 4> lattice{16, 16, 16, 48};
  const std::array<int, 2> odd{7, 11};
  if (nodes::count() > 1) {
    EXPECT_EQ(QMP_layout_grid(odd.data(), 2), QMP_INVALID_TOPOLOGY);
    EXPECT_EQ(QMP_logical_topology_is_declared(), QMP_FALSE);
  }
  EXPECT_EQ(QMP_layout_grid(nullptr, 2), QMP_INVALID_ARG);
  EXPECT(QMP_get_subgrid_dimensions() == nullptr);
  EXPECT_EQ(QMP_get_number_of_subgrid_sites(), 0);
  EXPECT_OK(QMP_layout_grid(lattice.data(), 4));
  EXPECT_EQ(QMP_logical_topology_is_declared(), QMP_TRUE);
  int nodes_product = 1;
  int sites = 1;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    nodes_product *= QMP_get_logical_dimensions()[axis];
    sites *= QMP_get_subgrid_dimensions()[axis];
    EXPECT_EQ(
        QMP_get_subgrid_dimensions()[axis] * QMP_get_logical_dimensions()[axis],
        lattice[axis]);
  }
  EXPECT_EQ(nodes_product, nodes::count());
  EXPECT_EQ(QMP_get_number_of_subgrid_sites(), sites);
  const int* dims = QMP_get_logical_dimensions();
  EXPECT_EQ(QMP_declare_logical_topology(dims, 4), QMP_TOPOLOGY_EXISTS);
  EXPECT_OK(QMP_layout_grid(lattice.data(), 4));
  exchange_with_neighbours(QMP_comm_get_default(), {dims, dims + 4});
}

SPMD_CASE(qmp_get_machine, "the machine: a switch") {
  EXPECT_EQ(QMP_get_msg_passing_type(), QMP_SWITCH);
  EXPECT_EQ(QMP_get_allocated_number_of_dimensions(), 0);
  EXPECT(QMP_get_allocated_dimensions() == nullptr);
  EXPECT(QMP_get_allocated_coordinates() == nullptr);
  EXPECT_EQ(QMP_get_number_of_jobs(), 1);
  EXPECT_EQ(QMP_get_job_number(), 0);
  EXPECT(QMP_get_job_geometry() == nullptr);
  EXPECT_EQ(QMP_get_number_of_nodes(), acp_procs());
  EXPECT_EQ(QMP_get_node_number(), acp_rank());
  EXPECT_EQ(QMP_is_primary_node(), acp_rank() == 0 ? QMP_TRUE : QMP_FALSE);
  EXPECT_EQ(QMP_io_node(me()), me());
  EXPECT_EQ(QMP_master_io_node(), 0);
  EXPECT_EQ(QMP_is_initialized(), QMP_TRUE);
  EXPECT_EQ(QMP_init_msg_passing(nullptr, nullptr, QMP_THREAD_SINGLE, nullptr),
            QMP_INVALID_OP);
}
