// Cases for jobs over devices that lack a feature. The library of spoof.cc,
// preloaded, makes the devices so; every case has to pass with all of them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

constexpr std::size_t kBytes = 64;

/// Offsets in a rank's block. Peers write to kWord, kSum and kData. Only the
/// rank itself uses kSource, kBack and kOld.
constexpr std::size_t kWord = 0;
constexpr std::size_t kSum = 8;
constexpr std::size_t kData = 64;
constexpr std::size_t kSource = 1024;
constexpr std::size_t kBack = 2048;
constexpr std::size_t kOld = 3072;
constexpr std::size_t kBlockBytes = 4096;

std::uint64_t salt_of(int rank, std::uint64_t round) {
  return round * 1000 + static_cast<std::uint64_t>(rank);
}

acpx_op_t transfer(acpx_opcode_t opcode,
                   acp_ga_t remote,
                   acp_ga_t local,
                   std::size_t size) {
  acpx_op_t op{};
  op.opcode = opcode;
  op.remote = remote;
  op.local = local;
  op.size = size;
  return op;
}

acpx_op_t update(acpx_opcode_t opcode,
                 acp_ga_t remote,
                 acp_ga_t local,
                 std::uint64_t operand) {
  acpx_op_t op = transfer(opcode, remote, local, 0);
  op.operand = operand;
  return op;
}

/// One chain: puts data and a word, gets the data back, puts again over data
/// that was read, and adds to a sum.
void run_chain(const spmd::Block& block, int peer, std::uint64_t round) {
  const auto source = block.bytes().subspan(kSource, kBytes);
  const auto back = block.bytes().subspan(kBack, kBytes);
  spmd::fill_pattern(source, salt_of(acp_rank(), round));
  std::ranges::fill(back, std::byte{0});
  const acp_ga_t data = block.at(peer, kData);
  const std::array<acpx_op_t, 5> ops = {
      transfer(ACPX_PUT, data, block.mine(kSource), kBytes),
      update(ACPX_PUT8, block.at(peer, kWord), ACP_GA_NULL, round),
      transfer(ACPX_GET, data, block.mine(kBack), kBytes),
      transfer(ACPX_PUT, data, block.mine(kSource), kBytes / 2),
      update(ACPX_ADD8, block.at(peer, kSum), block.mine(kOld), 1)};
  // Every second chain leaves the atomic out. The device then executes all of
  // it, without the peer's agent.
  const std::size_t count = ops.size() - round % 2;
  EXPECT_DONE(acpx_post(ops.data(), count, ACP_HANDLE_NULL));
  EXPECT_EQ(spmd::pattern_mismatch(back, salt_of(acp_rank(), round)), kBytes);
  if (count == ops.size()) {
    EXPECT_EQ(block.word(kOld / 8).load(), round / 2 - 1);
  }
}

}  // namespace

// Each rank sends its chains to the right. The counts and the last data in its
// own block then come from the left.
SPMD_CASE(device_chains, "chains of puts, words, gets and atomics in a ring") {
  const std::uint64_t rounds = 2 * spmd::scaled(2'000, 20);
  const spmd::Block block(spmd::Memory::kRegistered, kBlockBytes);
  const int from = (acp_rank() + acp_procs() - 1) % acp_procs();
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    run_chain(block, spmd::right_of(acp_rank()), round);
  }
  acp_sync();
  EXPECT_EQ(block.word(kWord).load(), rounds);
  EXPECT_EQ(block.word(kSum / 8).load(), rounds / 2);
  EXPECT_EQ(spmd::pattern_mismatch(block.bytes().subspan(kData, kBytes),
                                   salt_of(from, rounds)),
            kBytes);
}

// All connections are made at once, which takes large completion queues.
SPMD_CASE(device_meets_all, "every rank writes to all others at once") {
  const auto procs = static_cast<std::size_t>(acp_procs());
  const auto me = static_cast<std::size_t>(acp_rank());
  const spmd::Block block(spmd::Memory::kRegistered, (procs + 1) * kBytes);
  const auto source = block.bytes().subspan(procs * kBytes);
  spmd::fill_pattern(source, salt_of(acp_rank(), 1));
  for (int i = 1; i < acp_procs(); ++i) {
    const int peer = (acp_rank() + i) % acp_procs();
    EXPECT(acp_copy(block.at(peer, me * kBytes), block.mine(procs * kBytes),
                    kBytes, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
  }
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
  acp_sync();
  for (std::size_t peer = 0; peer < procs; ++peer) {
    const auto theirs = block.bytes().subspan(peer * kBytes, kBytes);
    EXPECT(peer == me ||
           spmd::pattern_mismatch(theirs, salt_of(static_cast<int>(peer), 1)) ==
               kBytes);
  }
}

// The first two chains make the peer publish its memory; after that the flood
// does not wait for anything but room in the send queue.
SPMD_CASE(device_flood, "more operations than fit a send queue, of all kinds") {
  SPMD_NEEDS_RANKS(2);
  const std::size_t rounds = spmd::scaled(20'000, 200);
  const int peer = spmd::right_of(acp_rank());
  const int from = (acp_rank() + acp_procs() - 1) % acp_procs();
  const spmd::Block block(spmd::Memory::kRegistered,
                          kBlockBytes + 2 * rounds * kBytes);
  const auto sources = block.bytes().subspan(kBlockBytes, rounds * kBytes);
  const auto arrived = block.bytes().subspan(kBlockBytes + rounds * kBytes);
  run_chain(block, peer, 1);
  run_chain(block, peer, 2);
  spmd::fill_pattern(sources, salt_of(acp_rank(), 0));
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::size_t at = kBlockBytes + i * kBytes;
    EXPECT(acp_copy(block.at(peer, at + rounds * kBytes), block.mine(at),
                    kBytes, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    EXPECT(acp_add8(block.mine(kOld), block.at(peer, kSum), 1,
                    ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
  }
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
  acp_sync();
  EXPECT_EQ(block.word(kSum / 8).load(), rounds + 1);
  EXPECT_EQ(spmd::pattern_mismatch(arrived, salt_of(from, 0)), rounds * kBytes);
}
