// Counts how often a message on one host is copied: QMP_declare_msgmem,
// QMP_declare_strided_msgmem, QMP_allocate_memory. docs/qmp.md, "Message flow".
#include <array>

#include "copy_counter.h"
#include "qmp_case.h"

using nodes::count;
using nodes::left;
using nodes::me;
using nodes::right;

namespace {

constexpr std::size_t kSize = std::size_t{1} << 20;

/// The memory of a message: `count` blocks, with gaps as long as a block.
struct Shape {
  std::size_t block;

  std::size_t blocks() const { return kSize / block; }

  std::size_t place(std::size_t i) const {
    return i / block * 2 * block + i % block;
  }

  QMP_msgmem_t declare(std::byte* base) const {
    return QMP_declare_strided_msgmem(base, block, static_cast<int>(blocks()),
                                      static_cast<std::ptrdiff_t>(2 * block));
  }
};

constexpr Shape kWhole{kSize};
constexpr Shape kLargeBlocks{std::size_t{64} << 10};
constexpr Shape kSmallBlocks{std::size_t{1} << 10};

enum class Origin { kLibrary, kProgram };

/// Memory for any of the shapes.
class Room {
 public:
  explicit Room(Origin origin) {
    if (origin == Origin::kLibrary) {
      library_ = QMP_allocate_memory(2 * kSize);
      EXPECT(library_ != nullptr);
    } else {
      program_.resize(2 * kSize);
    }
  }

  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  ~Room() { QMP_free_memory(library_); }

  std::byte* begin() {
    return library_ != nullptr
               ? static_cast<std::byte*>(QMP_get_memory_pointer(library_))
               : program_.data();
  }

 private:
  QMP_mem_t* library_ = nullptr;
  std::vector<std::byte> program_;
};

/// All nodes send to the right twice. Returns the copies of each byte in the
/// second round, when channels are connected and memory is registered.
double copies(Shape from, Origin out, Shape to, Origin in) {
  Room out_room(out);
  Room in_room(in);
  QMP_msgmem_t out_memory = from.declare(out_room.begin());
  QMP_msgmem_t in_memory = to.declare(in_room.begin());
  QMP_msghandle_t send = QMP_declare_send_to(out_memory, right(), 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(in_memory, left(), 0);
  for (std::size_t i = 0; i < kSize; ++i) {
    out_room.begin()[from.place(i)] = nodes::pattern(me(), 0, i);
  }
  std::uint64_t copied = 0;
  for (int round = 0; round < 2; ++round) {
    (void)copy_counter::take();
    EXPECT_OK(QMP_barrier());
    EXPECT_OK(QMP_start(receive));
    EXPECT_OK(QMP_start(send));
    EXPECT_OK(QMP_wait(receive));
    EXPECT_OK(QMP_wait(send));
    EXPECT_OK(QMP_barrier());
    copied = copy_counter::take();
  }
  for (std::size_t i = 0; i < kSize; ++i) {
    EXPECT(in_room.begin()[to.place(i)] == nodes::pattern(left(), 0, i));
  }
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  QMP_free_msgmem(out_memory);
  QMP_free_msgmem(in_memory);
  EXPECT_OK(QMP_sum_uint64_t(&copied));
  return static_cast<double>(copied) /
         static_cast<double>(kSize * static_cast<std::size_t>(count()));
}

}  // namespace

SPMD_CASE(qmp_moves_contiguous, "1 MiB: each byte is copied exactly once") {
  for (const Origin out : {Origin::kLibrary, Origin::kProgram}) {
    for (const Origin in : {Origin::kLibrary, Origin::kProgram}) {
      EXPECT_EQ(copies(kWhole, out, kWhole, in), 1.0);
    }
  }
}

SPMD_CASE(qmp_moves_large_blocks,
          "1 MiB in blocks of 64 KiB, on either side: exactly once") {
  for (const Origin out : {Origin::kLibrary, Origin::kProgram}) {
    for (const Origin in : {Origin::kLibrary, Origin::kProgram}) {
      EXPECT_EQ(copies(kLargeBlocks, out, kLargeBlocks, in), 1.0);
    }
    EXPECT_EQ(copies(kWhole, out, kLargeBlocks, out), 1.0);
    EXPECT_EQ(copies(kLargeBlocks, out, kWhole, out), 1.0);
  }
}

SPMD_CASE(qmp_moves_small_blocks,
          "1 MiB in blocks of 1 KiB: once into library memory, else packed "
          "once, by the sender straight into the receiver's packed buffer") {
  for (const Origin out : {Origin::kLibrary, Origin::kProgram}) {
    for (const Shape& from : {kSmallBlocks, kWhole, kLargeBlocks}) {
      EXPECT_EQ(copies(from, out, kSmallBlocks, Origin::kLibrary), 1.0);
    }
    EXPECT_EQ(copies(kSmallBlocks, out, kLargeBlocks, Origin::kLibrary), 1.0);
    EXPECT_EQ(copies(kSmallBlocks, out, kWhole, Origin::kLibrary), 1.0);
    EXPECT_EQ(copies(kSmallBlocks, out, kSmallBlocks, Origin::kProgram), 2.0);
  }
}
