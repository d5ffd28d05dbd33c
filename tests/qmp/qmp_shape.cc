// The shapes of messages: QMP_declare_strided_msgmem,
// QMP_declare_strided_array_msgmem, QMP_declare_indexed_msgmem,
// QMP_allocate_memory and its relatives.
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string>

#include "qmp_case.h"

using nodes::left;
using nodes::me;
using nodes::right;

namespace {

/// Blocks of a buffer as (offset, length), in the order of the stream.
using Blocks = std::vector<std::pair<std::size_t, std::size_t>>;

/// A message memory, and the blocks that it should have.
struct Shape {
  QMP_msgmem_t memory;
  Blocks blocks;
};

Shape strided(std::vector<std::byte>& buffer,
              std::size_t base,
              std::size_t block,
              int count,
              std::ptrdiff_t stride) {
  Shape shape{QMP_declare_strided_msgmem(&buffer[base], block, count, stride),
              {}};
  for (int i = 0; i < count; ++i) {
    shape.blocks.emplace_back(
        static_cast<std::size_t>(static_cast<std::ptrdiff_t>(base) +
                                 i * stride),
        block);
  }
  return shape;
}

Shape contiguous(std::vector<std::byte>& buffer, std::size_t size) {
  return {QMP_declare_msgmem(buffer.data(), size), {{0, size}}};
}

/// Seven shapes of `size` bytes. `size` is a multiple of 12, and the buffer at
/// least three times as large.
Shape shape_number(int which,
                   std::vector<std::byte>& buffer,
                   std::size_t size) {
  const std::size_t half = size / 2;
  switch (which) {
    case 0: return contiguous(buffer, size);
    case 1: return strided(buffer, 0, size / 6, 6, size / 6 + 40);
    case 2:  // negative stride
      return strided(buffer, 5 * (size / 6 + 8), size / 6, 6,
                     -static_cast<std::ptrdiff_t>(size / 6 + 8));
    case 3:  // no gap
      return strided(buffer, 64, size / 4, 4,
                     static_cast<std::ptrdiff_t>(size / 4));
    case 4: return strided(buffer, 0, 2, static_cast<int>(half), 3);
    case 5: {
      std::array<void*, 2> bases{&buffer[size], &buffer[0]};
      std::array<std::size_t, 2> blocks{half, half / 2};
      std::array<int, 2> counts{1, 2};
      std::array<std::ptrdiff_t, 2> strides{
          0, static_cast<std::ptrdiff_t>(2 * size)};
      Shape shape{
          QMP_declare_strided_array_msgmem(bases.data(), blocks.data(),
                                           counts.data(), strides.data(), 2),
          {}};
      // The second run begins below the first one and ends behind it.
      shape.blocks = {{size, half}, {0, half / 2}, {2 * size, half / 2}};
      return shape;
    }
    default: {
      constexpr int kElement = 4;
      const int length = static_cast<int>(size / kElement / 3);
      std::array<int, 3> lengths{length, length, length};
      std::array<int, 3> index{2 * length + 5, 0, length + 2};
      Shape shape{QMP_declare_indexed_msgmem(buffer.data(), lengths.data(),
                                             index.data(), kElement, 3),
                  {}};
      for (const int at : index) {
        shape.blocks.emplace_back(static_cast<std::size_t>(at) * kElement,
                                  static_cast<std::size_t>(length) * kElement);
      }
      return shape;
    }
  }
}

constexpr int kShapes = 7;

void check_blocks(const std::vector<std::byte>& buffer,
                  const Blocks& blocks,
                  int from,
                  std::size_t round) {
  std::vector<std::byte> expected(buffer.size(), std::byte{0xee});
  std::size_t i = 0;
  for (const auto& [offset, length] : blocks) {
    for (std::size_t at = offset; at < offset + length; ++at) {
      expected[at] = nodes::pattern(from, round, i++);
    }
  }
  if (std::memcmp(buffer.data(), expected.data(), buffer.size()) != 0) {
    spmd::fail("a byte of the message or beside it differs, round " +
               std::to_string(round));
  }
}

/// Pairs each shape with each, so that the number of the round, which the
/// pattern has, tells them apart.
void send_shape(int from_shape, int to_shape, std::size_t size) {
  const std::size_t round = static_cast<std::size_t>(from_shape) * kShapes +
                            static_cast<std::size_t>(to_shape);
  std::vector<std::byte> out(3 * size + 1000, std::byte{0xdd});
  std::vector<std::byte> in(3 * size + 1000, std::byte{0xee});
  const Shape from = shape_number(from_shape, out, size);
  const Shape to = shape_number(to_shape, in, size);
  EXPECT(from.memory != nullptr && to.memory != nullptr);
  std::size_t i = 0;
  for (const auto& [offset, length] : from.blocks) {
    for (std::size_t at = offset; at < offset + length; ++at) {
      out[at] = nodes::pattern(me(), round, i++);
    }
  }
  EXPECT_EQ(i, size);
  QMP_msghandle_t send = QMP_declare_send_to(from.memory, right(), 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(to.memory, left(), 0);
  EXPECT_OK(QMP_start(receive));
  EXPECT_OK(QMP_start(send));
  EXPECT_OK(QMP_wait(receive));
  EXPECT_OK(QMP_wait(send));
  check_blocks(in, to.blocks, left(), round);
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  QMP_free_msgmem(from.memory);
  QMP_free_msgmem(to.memory);
}

}  // namespace

SPMD_CASE(qmp_declare_strided_msgmem,
          "shapes: each with each, eager, packed and in place") {
  // 12 bytes are inline, 2400 eager; 12,000 are gated with small blocks, 96,000
  // gated with blocks that are sent and received where they are.
  for (const std::size_t size : {12, 2400, 12'000, 60'000}) {
    for (int from = 0; from < kShapes; ++from) {
      for (int to = 0; to < kShapes; ++to) {
        send_shape(from, to, size);
      }
    }
  }
}

SPMD_CASE(qmp_declare_strided_msgmem_chains,
          "strided both ways: more blocks than one chain has steps") {
  constexpr std::size_t kBlock = 8192;
  constexpr int kCount = 70;
  std::vector<std::byte> out(kCount * (kBlock + 100));
  std::vector<std::byte> in(kCount * (kBlock + 5000));
  std::vector<std::byte> plain(kCount * kBlock);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = nodes::pattern(me(), 1, i);
  }
  QMP_msgmem_t from =
      QMP_declare_strided_msgmem(out.data(), kBlock, kCount, kBlock + 100);
  // The other side has another block size, so puts end at the blocks of both.
  QMP_msgmem_t to = QMP_declare_strided_msgmem(in.data(), kBlock * 2,
                                               kCount / 2, 2 * kBlock + 1000);
  QMP_msghandle_t send = QMP_declare_send_to(from, right(), 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(to, left(), 0);
  for (int round = 0; round < 3; ++round) {
    std::fill(in.begin(), in.end(), std::byte{});
    EXPECT_OK(QMP_start(send));
    EXPECT_OK(QMP_start(receive));
    EXPECT_OK(QMP_wait(receive));
    EXPECT_OK(QMP_wait(send));
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const std::size_t sent = i / kBlock * (kBlock + 100) + i % kBlock;
      const std::size_t received =
          i / (2 * kBlock) * (2 * kBlock + 1000) + i % (2 * kBlock);
      EXPECT(in[received] == nodes::pattern(left(), 1, sent));
    }
  }
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  QMP_free_msgmem(from);
  QMP_free_msgmem(to);
}

SPMD_CASE(qmp_declare_strided_msgmem_one_chain,
          "strided both ways: blocks and word of a message in one chain") {
  constexpr std::size_t kBlock = 8192;
  constexpr int kMost = 15;  // one step of a chain is left for the word
  constexpr std::size_t kGap = 64;
  std::vector<std::byte> out(kMost * (kBlock + kGap));
  std::vector<std::byte> in(out.size());
  for (int count = 2; count <= kMost; ++count) {
    Shape from = strided(out, 0, kBlock, count, kBlock + kGap);
    Shape to =
        strided(in, static_cast<std::size_t>(count - 1) * (kBlock + kGap),
                kBlock, count, -static_cast<long>(kBlock + kGap));
    QMP_msghandle_t send = QMP_declare_send_to(from.memory, right(), 0);
    QMP_msghandle_t receive = QMP_declare_receive_from(to.memory, left(), 0);
    const auto round = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = nodes::pattern(me(), round, i);
    }
    EXPECT_OK(QMP_start(receive));
    EXPECT_OK(QMP_barrier());  // the grants are there
    EXPECT_OK(QMP_start(send));
    EXPECT_OK(QMP_wait(receive));
    for (std::size_t block = 0; block < round; ++block) {
      const std::size_t sent = from.blocks[block].first;
      const std::size_t received = to.blocks[block].first;
      for (std::size_t i = 0; i < kBlock; ++i) {
        EXPECT(in[received + i] == nodes::pattern(left(), round, sent + i));
      }
    }
    EXPECT_OK(QMP_wait(send));
    QMP_free_msghandle(send);
    QMP_free_msghandle(receive);
    QMP_free_msgmem(from.memory);
    QMP_free_msgmem(to.memory);
  }
}

// The blocks arrive in reverse, because the stride of the receive is negative.
// The memory between them is never touched.
SPMD_CASE(qmp_declare_strided_msgmem_sparse,
          "strided: blocks that span more than 2 GiB, both ways") {
  constexpr std::size_t kBlock = 10'000;
  constexpr int kCount = 300;
  constexpr std::ptrdiff_t kStride = std::ptrdiff_t{8} << 20;
  constexpr std::size_t kSpan = kCount * std::size_t{kStride};
  static_assert(kSpan > (std::size_t{2} << 30));
  const auto map = [] {
    void* memory = ::mmap(nullptr, kSpan, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT(memory != MAP_FAILED);
    return static_cast<std::byte*>(memory);
  };
  std::byte* out = map();
  std::byte* in = map();
  for (int block = 0; block < kCount; ++block) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      out[block * kStride + static_cast<std::ptrdiff_t>(i)] =
          nodes::pattern(me(), static_cast<std::size_t>(block), i);
    }
  }
  QMP_msgmem_t from = QMP_declare_strided_msgmem(out, kBlock, kCount, kStride);
  QMP_msgmem_t to = QMP_declare_strided_msgmem(in + (kCount - 1) * kStride,
                                               kBlock, kCount, -kStride);
  QMP_msghandle_t send = QMP_declare_send_to(from, right(), 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(to, left(), 0);
  EXPECT_OK(QMP_start(send));
  EXPECT_OK(QMP_start(receive));
  EXPECT_OK(QMP_wait(receive));
  EXPECT_OK(QMP_wait(send));
  for (int block = 0; block < kCount; ++block) {
    const std::byte* start = in + (kCount - 1 - block) * kStride;
    for (std::size_t i = 0; i < kBlock; i += 7) {
      EXPECT(start[i] ==
             nodes::pattern(left(), static_cast<std::size_t>(block), i));
    }
  }
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  QMP_free_msgmem(from);
  QMP_free_msgmem(to);
  ::munmap(out, kSpan);
  ::munmap(in, kSpan);
}

SPMD_CASE(qmp_declare_strided_refused, "shapes: bad arguments give NULL") {
  std::byte byte{};
  int one = 1;
  int minus = -1;
  EXPECT_NULL(QMP_declare_strided_msgmem(nullptr, 1, 1, 1), QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_strided_msgmem(&byte, 1, -1, 1), QMP_INVALID_ARG);
  EXPECT_NULL(
      QMP_declare_strided_array_msgmem(nullptr, nullptr, nullptr, nullptr, 1),
      QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_indexed_msgmem(&byte, &minus, &one, 1, 1),
              QMP_INVALID_ARG);
  EXPECT_NULL(QMP_declare_indexed_msgmem(&byte, nullptr, &one, 1, 1),
              QMP_INVALID_ARG);
  QMP_msgmem_t nothing = QMP_declare_strided_msgmem(nullptr, 8, 0, 8);
  EXPECT(nothing != nullptr);
  QMP_free_msgmem(nothing);
}

SPMD_CASE(qmp_allocate_memory,
          "QMP_allocate_memory: aligned, writable, and sent in place") {
  for (const std::size_t alignment : {0, 1, 64, 4096, 1 << 20}) {
    for (const std::size_t size : {0, 1, 5000, 3'000'000}) {
      QMP_mem_t* memory = QMP_allocate_aligned_memory(
          size, alignment, QMP_MEM_DEFAULT | QMP_MEM_NONCACHE);
      EXPECT(memory != nullptr);
      void* pointer = QMP_get_memory_pointer(memory);
      EXPECT(pointer != nullptr);
      if (alignment > 1) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % alignment, 0U);
      }
      std::memset(pointer, 0x55, size);
      QMP_free_memory(memory);
    }
  }
  EXPECT_NULL(QMP_allocate_aligned_memory(10, 48, 0), QMP_INVALID_ARG);
  const std::string much = std::to_string(SIZE_MAX / 2);
  EXPECT_NULL(QMP_allocate_memory(SIZE_MAX / 2), QMP_NOMEM_ERR);
  EXPECT_EQ(std::string(QMP_get_error_string(nullptr)),
            "QMP_allocate_memory: no " + much + " bytes left");
  EXPECT_NULL(QMP_allocate_aligned_memory(SIZE_MAX / 2, 64, 0), QMP_NOMEM_ERR);
  EXPECT_EQ(std::string(QMP_get_error_string(nullptr)),
            "QMP_allocate_aligned_memory: no " + much + " bytes left");
  EXPECT(QMP_get_memory_pointer(nullptr) == nullptr);
  QMP_free_memory(nullptr);

  // More than the module memory has: slabs that the process registers.
  std::vector<QMP_mem_t*> many;
  for (int i = 0; i < 30; ++i) {
    many.push_back(QMP_allocate_memory(std::size_t{1} << 20));
    EXPECT(many.back() != nullptr);
  }
  const std::size_t size = 200'000;
  for (std::size_t i = 0; i + 1 < many.size(); i += 2) {
    auto* out = static_cast<std::byte*>(QMP_get_memory_pointer(many[i]));
    auto* in = static_cast<std::byte*>(QMP_get_memory_pointer(many[i + 1]));
    for (std::size_t at = 0; at < size; ++at) {
      out[at] = nodes::pattern(me(), i, at);
    }
    const Message send(Message::Way::kSend, out, size, right());
    const Message receive(Message::Way::kReceive, in, size, left());
    receive.start();
    send.start();
    receive.wait();
    send.wait();
    nodes::check({in, in + size}, size, left(), i);
  }
  for (QMP_mem_t* each : many) {
    QMP_free_memory(each);
  }
}

// All handles are active at once, and all are started twice. Memories without a
// key have to take another way.
SPMD_CASE(qmp_declare_msgmem_many,
          "QMP_declare_msgmem: more gated memories at once than keys are used "
          "for") {
  constexpr std::size_t kCount = 200;
  constexpr std::size_t kSize = 5000;
  std::vector<std::vector<std::byte>> out(kCount);
  std::vector<std::vector<std::byte>> in(kCount);
  std::vector<QMP_msghandle_t> handles;
  for (std::size_t i = 0; i < kCount; ++i) {
    out[i].resize(kSize);
    in[i].resize(kSize);
    nodes::fill(out[i], me(), i);
    QMP_msgmem_t from = QMP_declare_msgmem(out[i].data(), kSize);
    QMP_msgmem_t to = QMP_declare_msgmem(in[i].data(), kSize);
    handles.push_back(QMP_declare_send_to(from, right(), 0));
    handles.push_back(QMP_declare_receive_from(to, left(), 0));
    QMP_free_msgmem(from);
    QMP_free_msgmem(to);
  }
  for (int round = 0; round < 2; ++round) {
    for (QMP_msghandle_t each : handles) {
      EXPECT_OK(QMP_start(each));
    }
    EXPECT_OK(QMP_wait_all(handles.data(), static_cast<int>(handles.size())));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    nodes::check(in[i], kSize, left(), i);
  }
  for (QMP_msghandle_t each : handles) {
    QMP_free_msghandle(each);
  }
}
