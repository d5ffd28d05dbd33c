// One element of a derived type whose data are more than an int can count, from
// each rank to the next. Takes 9 GiB of memory for each rank.
#include <cstdint>
#include <cstring>

#include "check.h"

namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kGap = 64;
constexpr int kBlocks = 2049;  // 2 GiB and a block

/// Blocks of 1 MiB with gaps between them, as one element.
MPI_Datatype blocks_with_gaps() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(kBlocks, static_cast<int>(kBlock), kBlock + kGap,
                          MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

std::uint64_t word_of(int rank, std::size_t block, std::size_t word) {
  return (static_cast<std::uint64_t>(rank + 1) << 56) + block * kBlock + word;
}

using Memory = std::vector<std::byte>;

void fill(Memory& memory, int rank) {
  for (std::size_t block = 0; block < kBlocks; ++block) {
    for (std::size_t at = 0; at < kBlock; at += 8) {
      const std::uint64_t word = word_of(rank, block, at);
      std::memcpy(&memory[block * (kBlock + kGap) + at], &word, 8);
    }
  }
}

void check(const Memory& memory, int rank) {
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const std::byte* from = &memory[block * (kBlock + kGap)];
    for (std::size_t at = 0; at < kBlock; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + at, 8);
      if (word != word_of(rank, block, at)) {
        CHECK_EQUAL(word, word_of(rank, block, at));
      }
    }
    for (std::size_t i = 0; block + 1 < kBlocks && i < kGap; ++i) {
      if (from[kBlock + i] != std::byte{0}) {
        CHECK_EQUAL(from[kBlock + i] == std::byte{0}, true);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &mpi_check::world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &mpi_check::world_size);
  mpi_check::running_case = "huge-element";
  const mpi_check::Peers peers = mpi_check::peers_of(1);
  MPI_Datatype type = blocks_with_gaps();
  Memory out(kBlocks * (kBlock + kGap));
  Memory in(out.size());
  fill(out, mpi_check::world_rank);
  MPI_Status status;
  MPI_Sendrecv(out.data(), 1, type, peers.to, 1, in.data(), 1, type, peers.from,
               1, MPI_COMM_WORLD, &status);
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, type, &bytes);
  CHECK_EQUAL(bytes, static_cast<MPI_Count>(kBlocks * kBlock));
  check(in, peers.from);
  MPI_Type_free(&type);
  if (mpi_check::world_rank == 0) {
    std::puts("passed: one element of 2 GiB and 1 MiB from each rank");
  }
  MPI_Finalize();
  return 0;
}
