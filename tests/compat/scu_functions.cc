// Cases for every function of scu/sysfunc.h and scu/scu_dir_arg.h, which the
// nodes of a job call together.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "qmp.h"
#include "scu/sysfunc.h"
#include "support/spmd.h"

namespace {

constexpr std::array<SCUDir, 8> kDirections{SCU_TM, SCU_TP, SCU_XM, SCU_XP,
                                            SCU_YM, SCU_YP, SCU_ZM, SCU_ZP};

SCUDir opposite(SCUDir dir) {
  return static_cast<SCUDir>(dir ^ 1);
}

std::array<int, 4> sizes() {
  return {SizeT(), SizeX(), SizeY(), SizeZ()};
}

/// UniqueID of the neighbour; node numbers run fastest along the first axis.
int id_of_neighbour(SCUDir dir) {
  std::array<int, 4> at{CoorT(), CoorX(), CoorY(), CoorZ()};
  const auto axis = static_cast<std::size_t>(dir / 2);
  const int size = sizes().at(axis);
  at.at(axis) = (at.at(axis) + (dir % 2 == 1 ? 1 : size - 1)) % size;
  int id = 0;
  for (std::size_t i = 4; i-- > 0;) {
    id = id * sizes().at(i) + at.at(i);
  }
  return id + 1;
}

/// Element i of the message of node `id` in a direction.
double element(int id, SCUDir dir, std::size_t i) {
  return id * 1000.0 + static_cast<int>(dir) * 100.0 + static_cast<double>(i);
}

std::vector<double> message(int id, SCUDir dir, std::size_t count) {
  std::vector<double> data(count);
  for (std::size_t i = 0; i < count; ++i) {
    data[i] = element(id, dir, i);
  }
  return data;
}

SCUDirArg doubles(std::vector<double>& data, SCUDir dir, SCUXR kind) {
  SCUDirArg arg(data.data(), dir, kind, static_cast<int>(data.size()));
  arg.SetDataSize(sizeof(double));
  return arg;
}

}  // namespace

SPMD_CASE(scu_machine, "UniqueID, Coor, Size, NumNodes: the torus of GRID") {
  const auto all = sizes();
  EXPECT_EQ(NumNodes(), acp_procs());
  EXPECT_EQ(all[0] * all[1] * all[2] * all[3], NumNodes());
  EXPECT_EQ(UniqueID(), acp_rank() + 1);
  EXPECT(CoorT() >= 0 && CoorT() < SizeT());
  const int lexical =
      ((CoorZ() * SizeY() + CoorY()) * SizeX() + CoorX()) * SizeT() + CoorT();
  EXPECT_EQ(lexical + 1, UniqueID());
}

SPMD_CASE(scu_seeds, "SeedS, SeedST: of COMMS_DEF, the same everywhere") {
  EXPECT_EQ(SeedS(), 4711U);
  EXPECT_EQ(SeedST(), 4711U);
}

SPMD_CASE(scu_remap, "SCURemap: the wire of a direction is its number") {
  for (const SCUDir dir : kDirections) {
    EXPECT_EQ(SCURemap(dir), static_cast<int>(dir));
  }
}

SPMD_CASE(scu_sync, "sync: waits for all") {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(sync(), 0U);
  }
}

SPMD_CASE(scu_dir_arg, "SCUDirArg: setters return the value before") {
  double data[2] = {};
  SCUDirArg arg;
  EXPECT_EQ(arg.CommDir(), SCU_NoDir);
  EXPECT_EQ(arg.CommType(), SCU_NoXR);
  EXPECT_EQ(arg.SetDataSize(8), COMMS_DATASIZE);
  arg.Init(data, SCU_XP, SCU_SEND, 3);
  EXPECT_EQ(arg.DataSize(), 8);  // Init keeps it
  EXPECT_EQ(arg.Numblk(), 1);
  EXPECT_EQ(arg.Stride(), 1);
  EXPECT(arg.Addr(data + 1) == data && arg.Addr() == data + 1);
  EXPECT_EQ(arg.Blklen(5), 3);
  EXPECT_EQ(arg.Numblk(6), 1);
  EXPECT_EQ(arg.Stride(7), 1);
  EXPECT_EQ(arg.CommDir(SCU_ZM), SCU_XP);
  EXPECT_EQ(arg.CommType(SCU_REC), SCU_SEND);
  EXPECT_EQ(arg.Axis(), static_cast<int>(SCU_Z));
  EXPECT_EQ(arg.Sign(), -1);
  arg.Reload(data, 1, 2, 3);
  EXPECT_EQ(arg.Addr(), static_cast<void*>(data));
  EXPECT_EQ(arg.Blklen() * 100 + arg.Numblk() * 10 + arg.Stride(), 123);
  EXPECT_EQ(arg.CommDir(), SCU_ZM);
}

SPMD_CASE(scu_trans, "SCUTrans: each direction, small and large") {
  for (const std::size_t count : {1U, 512U, 513U, 20'000U}) {
    for (const SCUDir dir : kDirections) {
      auto out = message(UniqueID(), dir, count);
      std::vector<double> in(count);
      SCUDirArg send = doubles(out, dir, SCU_SEND);
      SCUDirArg receive = doubles(in, opposite(dir), SCU_REC);
      SCUTrans(&send);
      SCUTrans(&receive);
      SCUTransComplete();
      EXPECT(in == message(id_of_neighbour(opposite(dir)), dir, count));
    }
  }
}

SPMD_CASE(scu_trans_many, "SCUTrans: sixteen at once") {
  constexpr std::size_t kCount = 1500;
  std::array<std::vector<double>, 8> out;
  std::array<std::vector<double>, 8> in;
  std::vector<SCUDirArg> args;
  for (std::size_t i = 0; i < 8; ++i) {
    out.at(i) = message(UniqueID(), kDirections.at(i), kCount);
    in.at(i).resize(kCount);
    args.push_back(doubles(out.at(i), kDirections.at(i), SCU_SEND));
    args.push_back(doubles(in.at(i), opposite(kDirections.at(i)), SCU_REC));
  }
  std::vector<SCUDirArg*> all;
  for (SCUDirArg& arg : args) {
    all.push_back(&arg);
  }
  SCUTrans(all.data(), static_cast<int>(all.size()));
  SCUTransComplete();
  for (std::size_t i = 0; i < 8; ++i) {
    const SCUDir dir = kDirections.at(i);
    EXPECT(in.at(i) == message(id_of_neighbour(opposite(dir)), dir, kCount));
  }
  SCUTrans(all.data(), 0);
  SCUTransComplete();
  SCUTransComplete();  // nothing to wait for
}

SPMD_CASE(scu_trans_order, "SCUTrans: several in one direction, in order") {
  constexpr int kCount = 30;
  std::array<int, kCount> out{};
  std::array<int, kCount> in{};
  for (int i = 0; i < kCount; ++i) {
    out.at(static_cast<std::size_t>(i)) = UniqueID() * 100 + i;
    SCUDirArg send(&out.at(static_cast<std::size_t>(i)), SCU_YP, SCU_SEND, 1);
    SCUTrans(&send);
  }
  for (int& each : in) {
    SCUDirArg receive(&each, SCU_YM, SCU_REC, 1);
    SCUTrans(&receive);
  }
  SCUTransComplete();
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(in.at(static_cast<std::size_t>(i)),
              id_of_neighbour(SCU_YM) * 100 + i);
  }
}

SPMD_CASE(scu_trans_one_buffer,
          "SCUTrans: a short send and a receive in one buffer") {
  std::vector<double> data = message(UniqueID(), SCU_TP, 512);
  SCUDirArg send = doubles(data, SCU_TP, SCU_SEND);
  SCUDirArg receive = doubles(data, SCU_TM, SCU_REC);
  for (int hop = 0; hop < SizeT(); ++hop) {
    SCUTrans(&send);
    SCUTrans(&receive);
    SCUTransComplete();
  }
  EXPECT(data == message(UniqueID(), SCU_TP, 512));  // once around
}

SPMD_CASE(scu_trans_stride, "SCUTrans: blocks, with gaps on both sides") {
  // Blocks begin blklen + stride - 1 elements apart.
  constexpr int kBlocks = 7;
  for (const int length : {1, 3, 1200}) {
    const std::size_t pitch = static_cast<std::size_t>(length) + 4;
    std::vector<double> out(pitch * kBlocks);
    std::iota(out.begin(), out.end(), UniqueID() * 1e6);
    std::vector<double> in(static_cast<std::size_t>(length) * kBlocks, -1);
    SCUDirArg send(out.data(), SCU_XM, SCU_SEND, length, kBlocks, 5);
    SCUDirArg receive(in.data(), SCU_XP, SCU_REC, length, kBlocks);
    send.SetDataSize(8);
    receive.SetDataSize(8);
    SCUTrans(&receive);
    SCUTrans(&send);
    SCUTransComplete();
    const double first = id_of_neighbour(SCU_XP) * 1e6;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t block = i / static_cast<std::size_t>(length);
      const std::size_t rest = i % static_cast<std::size_t>(length);
      EXPECT_EQ(in[i], first + static_cast<double>(block * pitch + rest));
    }
  }
}

// Elements outside of the received blocks must keep their value.
SPMD_CASE(scu_trans_offset, "SCUTrans: one shape at several offsets") {
  std::vector<float> out(100);
  std::vector<float> in(100, -1);
  std::iota(out.begin(), out.end(), static_cast<float>(UniqueID() * 1000));
  std::array<unsigned int, 3> from{90, 0, 40};
  std::array<unsigned int, 3> to{0, 50, 20};
  SCUDirArg send(out.data(), SCU_ZP, SCU_SEND, 4);
  SCUDirArg receive(in.data(), SCU_ZM, SCU_REC, 4);
  SCUTrans(&send, from.data(), 3);
  SCUTrans(&receive, to.data(), 3);
  SCUTransComplete();
  for (std::size_t i = 0; i < 3; ++i) {
    for (unsigned int k = 0; k < 4; ++k) {
      EXPECT_EQ(in[to.at(i) + k],
                static_cast<float>(id_of_neighbour(SCU_ZM) * 1000) +
                    static_cast<float>(from.at(i) + k));
    }
  }
  EXPECT_EQ(in[4], -1.0F);
}

SPMD_CASE(scu_trans_addr,
          "SCUSetDMA, SCUTransAddr: shapes kept, addresses of the call") {
  std::vector<double> out = message(UniqueID(), SCU_TP, 60);
  std::vector<double> in(30, -1);
  SCUDirArg send(out.data(), SCU_TP, SCU_SEND, 1, 10, 2);
  SCUDirArg receive(in.data(), SCU_TM, SCU_REC, 10);
  send.SetDataSize(8);
  receive.SetDataSize(8);
  std::array<SCUDirArg*, 2> both{&send, &receive};
  SCUSetDMA(both.data(), 2);
  SCUSetDMA(&send);
  // Shapes in the arguments are ignored.
  SCUDirArg send_there(&out[20], SCU_TP, SCU_SEND, 99, 99, 99);
  SCUDirArg receive_there(&in[10], SCU_TM, SCU_REC, 99);
  SCUTransAddr(&send_there);
  SCUTransAddr(&receive_there);
  std::array<SCUDirArg*, 2> again{&send, &receive};
  SCUTransAddr(again.data(), 2);
  SCUTransComplete();
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(in[10 + i], element(id_of_neighbour(SCU_TM), SCU_TP, 20 + 2 * i));
    EXPECT_EQ(in[i], element(id_of_neighbour(SCU_TM), SCU_TP, 2 * i));
    EXPECT_EQ(in[20 + i], -1.0);
  }
}

// The second sum has one array for input and output.
SPMD_CASE(scu_global_sum, "SCUGlobalSum: every type and size") {
  const int nodes = NumNodes();
  const int sum = nodes * (nodes + 1) / 2;
  const auto check = [&](auto zero, Type_tag type) {
    using Element = decltype(zero);
    const auto product = [](int number, std::size_t i) {
      return static_cast<Element>(std::int64_t{number} *
                                  static_cast<std::int64_t>(i % 3));
    };
    std::array<Element, 50> in{};
    std::array<Element, 50> out{};
    for (std::size_t i = 0; i < in.size(); ++i) {
      in.at(i) = product(UniqueID(), i);
    }
    SCUGlobalSum(type, sizeof(Element), 50, in.data(), out.data());
    for (std::size_t i = 0; i < in.size(); ++i) {
      EXPECT(out.at(i) == product(sum, i));
      EXPECT(in.at(i) == product(UniqueID(), i));
    }
    SCUGlobalSum(type, sizeof(Element), 50, in.data(), in.data());
    EXPECT(in == out);
  };
  check(float{}, TYPE_float);
  check(double{}, TYPE_IFloat);
  check(0.0L, TYPE_float);
  check(std::int8_t{}, TYPE_int);
  check(std::int16_t{}, TYPE_int);
  check(std::int32_t{}, TYPE_int);
  check(std::int64_t{}, TYPE_int);
  SCUGlobalSum(TYPE_int, 4, 0, nullptr, nullptr);
}

SPMD_CASE(scu_beside_qmp, "SCUTrans: beside the program's own QMP") {
  // Topology and messages of the default communicator are independent of SCU.
  const int nodes = NumNodes();
  (void)QMP_declare_logical_topology(&nodes, 1);
  int out = acp_rank();
  int in = -1;
  QMP_msgmem_t from = QMP_declare_msgmem(&out, sizeof out);
  QMP_msgmem_t to = QMP_declare_msgmem(&in, sizeof in);
  QMP_msghandle_t send = QMP_declare_send_relative(from, 0, 1, 0);
  QMP_msghandle_t receive = QMP_declare_receive_relative(to, 0, -1, 0);
  std::vector<double> data = message(UniqueID(), SCU_TP, 9);
  std::vector<double> other(9);
  SCUDirArg scu_send = doubles(data, SCU_TP, SCU_SEND);
  SCUDirArg scu_receive = doubles(other, SCU_TM, SCU_REC);
  EXPECT_EQ(QMP_start(send), QMP_SUCCESS);
  SCUTrans(&scu_send);
  SCUTrans(&scu_receive);
  EXPECT_EQ(QMP_start(receive), QMP_SUCCESS);
  SCUTransComplete();
  EXPECT_EQ(QMP_wait(send), QMP_SUCCESS);
  EXPECT_EQ(QMP_wait(receive), QMP_SUCCESS);
  EXPECT_EQ(in, (acp_rank() + nodes - 1) % nodes);
  EXPECT(other == message(id_of_neighbour(SCU_TM), SCU_TP, 9));
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  QMP_free_msgmem(from);
  QMP_free_msgmem(to);
}

/// The SCU interface reads its grid from COMMS_DEF, so the number of nodes has
/// to be known before SCUCommsInit(). A second SCUCommsFinalize() is allowed.
int main(int argc, char** argv) {
  if (spmd::list_cases(argc, argv)) {
    return 0;
  }
  spmd::watch_time();
  if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, nullptr) !=
      QMP_SUCCESS) {
    return 1;
  }
  std::string grid;
  switch (QMP_get_number_of_nodes()) {
    case 1: grid = "1,1,1,1"; break;
    case 2: grid = "2,1,1,1"; break;
    case 3: grid = "1,3,1,1"; break;
    case 4: grid = "2,1,2,1"; break;
    case 8: grid = "2,2,1,2"; break;
    default: return 2;
  }
  (void)::setenv("COMMS_DEF", ("{GRID=" + grid + "}{SEED=4711}").c_str(), 1);
  SCUCommsInit();
  const int result = spmd::run_chosen(argc, argv);
  SCUCommsFinalize();
  SCUCommsFinalize();
  QMP_finalize_msg_passing();
  return result;
}
