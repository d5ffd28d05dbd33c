// qmp.hpp: every object and function of the C++ binding.
#include <array>
#include <cstring>
#include <type_traits>

#include "qmp.hpp"
#include "qmp_case.h"

using nodes::left;
using nodes::me;
using nodes::right;

static_assert(!std::is_copy_constructible_v<QMP::AlignedMemory>);
static_assert(!std::is_copy_constructible_v<QMP::MessageMemory>);
static_assert(!std::is_copy_constructible_v<QMP::SingleOperation>);
static_assert(std::is_nothrow_move_constructible_v<QMP::SingleOperation>);
static_assert(std::is_nothrow_move_assignable_v<QMP::MultiOperation>);
// A Result is true on success in a condition, becomes QMP_SUCCESS as a status,
// and is never a number.
static_assert(QMP::Result(QMP_SUCCESS));
static_assert(!QMP::Result(QMP_INVALID_ARG));
static_assert(QMP::Result(QMP_SUCCESS) == QMP_SUCCESS);
static_assert(QMP_ERROR != QMP::Result(QMP_SUCCESS));
static_assert(std::is_convertible_v<QMP::Result, QMP_status_t>);
static_assert(std::is_constructible_v<bool, QMP::Result>);
static_assert(!std::is_convertible_v<QMP::Result, bool>);
static_assert(!std::is_convertible_v<QMP::Result, int>);
static_assert(!std::is_convertible_v<QMP::Result, unsigned>);

// The two sizes go eager and gated. A moved object has to start the operation
// that the old object declared.
SPMD_CASE(qmp_hpp_operations, "SingleOperation: with nodes, any size") {
  for (const std::size_t size : {std::size_t{8}, std::size_t{30'000}}) {
    QMP::AlignedMemory out(size, 128);
    QMP::AlignedMemory in(size);
    EXPECT(out && in);
    EXPECT_EQ(out.size(), size);
    std::vector<std::byte> bytes(size);
    nodes::fill(bytes, me(), size);
    std::memcpy(out.getBuffer(), bytes.data(), size);
    QMP::SingleOperation send;
    QMP::SingleOperation receive;
    EXPECT(!send);
    {
      const QMP::MessageMemory from(out);
      const QMP::MessageMemory to(in);
      EXPECT_OK(send.declareSend(from, right()));
      EXPECT_OK(receive.declareReceive(to, QMP::Node(left()), 1));
    }
    QMP::SingleOperation moved(std::move(send));
    EXPECT_OK(moved.start());
    EXPECT_OK(receive.start());
    while (!receive.isComplete()) {
    }
    const std::array<QMP::MessageOperation*, 2> all{&moved, &receive};
    EXPECT_OK(QMP::MessageOperation::waitAll(all.data(), 2));
    std::memcpy(bytes.data(), in.getBuffer(), size);
    nodes::check(bytes, size, left(), size);
  }
}

// A strided block goes to both neighbours at once. It arrives once in
// contiguous memory and once by an indexed one. The multiple operation takes
// the handles of its parts.
SPMD_CASE(qmp_hpp_multiple, "MultiOperation: neighbours, strided memory") {
  const int dims = QMP::getNumberOfNodes();
  EXPECT(QMP::declareLogicalTopology(&dims, 1));
  EXPECT(!QMP::declareLogicalTopology(&dims, 1));
  const QMP_status_t again = QMP::declareLogicalTopology(&dims, 1);
  EXPECT_EQ(again, QMP_TOPOLOGY_EXISTS);
  EXPECT(QMP::logicalTopologyIsDeclared());
  EXPECT_EQ(QMP::getLogicalNumberOfDimensions(), 1);
  EXPECT_EQ(QMP::getLogicalDimensions()[0], dims);
  EXPECT_EQ(QMP::getLogicalCoordinates()[0], me());
  EXPECT_EQ(QMP::getNodeNumberFrom(QMP::getLogicalCoordinates()), me());
  EXPECT_EQ(QMP::getLogicalCoordinatesFrom(0).at(0), 0);
  EXPECT(QMP::getLogicalCoordinatesFrom(dims).empty());
  std::array<int, 6> out{me(), -1, me() + 100, -1, me() + 200, -1};
  std::array<int, 6> in{};
  const QMP::MessageMemory from(out.data(), sizeof(int), 3, 2 * sizeof(int));
  QMP::MessageMemory to;
  to.init(in.data(), 3 * sizeof(int));
  std::array<const void*, 1> bases{&in[3]};
  std::array<std::size_t, 1> blocks{3 * sizeof(int)};
  std::array<int, 1> counts{1};
  std::array<std::ptrdiff_t, 1> strides{0};
  const QMP::MessageMemory to_upper(bases.data(), blocks.data(), counts.data(),
                                    strides.data(), 1);
  std::array<QMP::SingleOperation, 4> parts;
  EXPECT_OK(parts[0].declareSend(from, 0, QMP::PLUS));
  EXPECT_OK(parts[1].declareSend(from, 0, QMP::MINUS));
  EXPECT_OK(parts[2].declareReceive(to, 0, QMP::MINUS));
  EXPECT_OK(parts[3].declareReceive(to_upper, 0, QMP::PLUS));
  QMP::MultiOperation all(parts.data(), 4);
  EXPECT(all && !parts[0]);
  EXPECT_OK(all.start());
  EXPECT_OK(all.wait());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(in[static_cast<std::size_t>(i)], left() + 100 * i);
    EXPECT_EQ(in[static_cast<std::size_t>(i) + 3], right() + 100 * i);
  }
}

SPMD_CASE(qmp_hpp_signs, "declareSend: two numbers are an axis and a sign") {
  EXPECT(QMP::logicalTopologyIsDeclared());  // one axis, by the case before
  int out = me();
  int in = -1;
  QMP::MessageMemory from(&out, sizeof out);
  QMP::MessageMemory to(&in, sizeof in);
  QMP::SingleOperation send;
  QMP::SingleOperation receive;
  EXPECT_OK(send.declareSend(&from, 0, -1));
  EXPECT_OK(receive.declareReceive(&to, 0, 1, 0));
  EXPECT_OK(send.start());
  EXPECT_OK(receive.start());
  EXPECT_OK(receive.wait());
  EXPECT_EQ(in, right());
  EXPECT_OK(send.wait());
  // In the text these two numbers are a node and a priority; here they are an
  // axis and a wrong sign.
  EXPECT_EQ(send.declareSend(from, 0, QMP::DEFAULT_PRIORITY), QMP_INVALID_ARG);
  EXPECT_OK(send.declareSend(from, right()));
  EXPECT_OK(receive.declareReceive(&to, QMP::Node(left()), 2));
  EXPECT_OK(send.start());
  EXPECT_OK(receive.start());
  EXPECT_OK(receive.wait());
  EXPECT_EQ(in, left());
  EXPECT_OK(send.wait());
  const QMP::MessageMemory* none = nullptr;
  EXPECT_EQ(send.declareSend(none, 0, 1), QMP_INVALID_ARG);
}

SPMD_CASE(qmp_hpp_errors, "failures leave empty objects that say why") {
  std::byte byte{};
  const QMP::MessageMemory memory(&byte, 1);
  QMP::SingleOperation operation;
  EXPECT_EQ(operation.declareSend(memory, -1), QMP_NODE_OUTRANGE);
  EXPECT(!operation);
  EXPECT_EQ(operation.getErrorNumber(), QMP_NODE_OUTRANGE);
  EXPECT(std::strlen(operation.getErrorString()) > 10);
  EXPECT_EQ(operation.start(), QMP_INVALID_ARG);
  EXPECT_EQ(operation.declareReceive(QMP::MessageMemory(), 0), QMP_INVALID_ARG);
  std::array<QMP::SingleOperation*, 2> twice{&operation, &operation};
  EXPECT_OK(operation.declareSend(memory, 0));
  QMP::MultiOperation multiple;
  EXPECT_EQ(multiple.init(twice.data(), 2), QMP_INVALID_ARG);
  EXPECT(operation);
  EXPECT_EQ(std::string(QMP::errorString(QMP_SUCCESS)), "success");
}

// Each function only passes its arguments on to C. So one call of each is
// enough, and most results follow from the number of nodes.
SPMD_CASE(qmp_hpp_global, "functions: machine, lattice, global operations") {
  EXPECT(QMP::isInitialized());
  EXPECT_EQ(QMP::getNodeNumber(), me());
  EXPECT_EQ(QMP::isPrimaryNode(), me() == 0);
  EXPECT_EQ(QMP::getMsgPassingType(), QMP_SWITCH);
  EXPECT_EQ(QMP::getAllocatedNumberOfDimensions(), 0);
  EXPECT(QMP::getAllocatedDimensions() == nullptr);
  EXPECT(QMP::getAllocatedCoordinates() == nullptr);
  const int lattice = nodes::count() * 4;
  EXPECT(!QMP::layoutGrid(nullptr, 1));
  EXPECT(QMP::layoutGrid(&lattice, 1));
  EXPECT(QMP::layoutGrid(&lattice, 1) == QMP_SUCCESS);
  EXPECT_EQ(QMP::getSubgridDimensions()[0], 4);
  EXPECT_EQ(QMP::getNumberOfSubgridSites(), 4);
  const int n = nodes::count();
  int i = 1;
  EXPECT_OK(QMP::sumInt(&i));
  EXPECT_EQ(i, n);
  std::array<float, 2> f{1, 2};
  EXPECT_OK(QMP::sumFloat(&f[0]));
  EXPECT_OK(QMP::sumFloatArray(&f[1], 1));
  EXPECT_EQ(f[1], 2.0F * static_cast<float>(n));
  std::array<double, 3> d{1, 2, 3};
  EXPECT_OK(QMP::sumDouble(&d[0]));
  EXPECT_OK(QMP::sumDoubleArray(&d[1], 1));
  EXPECT_OK(QMP::sumDoubleExtended(&d[2]));
  EXPECT_EQ(d[2], 3.0 * n);
  EXPECT_OK(QMP::maxInt(&i));
  EXPECT_OK(QMP::minInt(&i));
  EXPECT_OK(QMP::maxFloat(&f[0]));
  EXPECT_OK(QMP::minFloat(&f[0]));
  EXPECT_OK(QMP::maxDouble(&d[0]));
  EXPECT_OK(QMP::minDouble(&d[0]));
  unsigned long bits = 1UL << me();
  EXPECT_OK(QMP::xorUlong(&bits));
  EXPECT_EQ(bits, (1UL << n) - 1);
  EXPECT_OK(QMP::broadcast(&i, sizeof i));
  EXPECT_OK(QMP::binaryReduction(&i, sizeof i, [](void* a, void* b) {
    *static_cast<int*>(a) += *static_cast<int*>(b);
  }));
  EXPECT_EQ(i, n * n);
  EXPECT_OK(QMP::barrier());
  EXPECT(QMP::printf("%d of %s", 1, "many") > 0);
  EXPECT(QMP::fprintf(stdout, "x") > 0);
  EXPECT(QMP::info("y") > 0);
  EXPECT(QMP::error("z") > 0);
  EXPECT_EQ(QMP::verbose(0), 0);
  EXPECT_EQ(QMP::profcontrol(0), 0);
}
