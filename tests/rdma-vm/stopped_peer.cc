// Cases in which a rank is stopped, as in a debugger, while others use its
// memory. Nothing may fail. Operations that need its processor wait, and
// operations that only devices execute complete meanwhile.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "rdma-vm/not_ready.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

constexpr int kStopped = 1;
/// Longer than the 1.6 s for which a device repeats an unacknowledged packet:
/// the test sets ACP_VERBS_ACK_TIMEOUT and ACP_VERBS_RETRIES.
constexpr auto kStandstill = std::chrono::milliseconds(2500);

/// A block has words, named here by index, and then a piece for each rank.
constexpr std::size_t kCount = 0;  ///< Adds of other ranks to this block.
constexpr std::size_t kGo = 1;     ///< Points that the partner has reached.
constexpr std::size_t kOver = 2;   ///< Ranks that are done with this rank.
constexpr std::size_t kOld = 3;    ///< Old value of this rank's last add.
constexpr std::size_t kPieces = 4096;
constexpr std::size_t kPieceBytes = 64 << 10;

std::size_t piece_of(int rank) {
  return kPieces + static_cast<std::size_t>(rank) * kPieceBytes;
}

void wait_until(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    EXPECT(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
}

/// Whether the kernel shows the process as stopped.
bool stands_still(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.size() > name_end + 2 &&
         text[name_end + 2] == 'T';
}

/// Writes this rank's piece to the stopped rank's block and reads it back.
void write_and_read(const spmd::Block& block, std::uint64_t salt) {
  const int me = acp_rank();
  const acp_ga_t there = block.at(kStopped, piece_of(me));
  const auto piece = block.bytes().subspan(piece_of(me), kPieceBytes);
  spmd::fill_pattern(piece, salt);
  EXPECT_DONE(
      acp_copy(there, block.mine(piece_of(me)), kPieceBytes, ACP_HANDLE_NULL));
  spmd::fill_pattern(piece, salt + 1);
  EXPECT_DONE(
      acp_copy(block.mine(piece_of(me)), there, kPieceBytes, ACP_HANDLE_NULL));
  EXPECT_EQ(spmd::pattern_mismatch(piece, salt), kPieceBytes);
}

acp_handle_t add(const spmd::Block& block, int rank, std::size_t word) {
  return acp_add8(block.mine(kOld * 8), block.at(rank, word * 8), 1,
                  ACP_HANDLE_NULL);
}

/// The part of the stopped rank: adds to the other ranks until both are done
/// with it. Returns the number of adds.
std::uint64_t be_stopped(const spmd::Block& block) {
  std::uint64_t added = 0;
  for (; block.word(kOver).load() != 2; ++added) {
    EXPECT_DONE(add(block, added % 2 == 0 ? 0 : 2, kCount));
  }
  return added;
}

/// Sends more to the stopped rank than there is credit for, so that it
/// completes only after the rank goes on.
void flood(const spmd::Block& block, std::size_t adds) {
  const std::size_t mine = piece_of(acp_rank());
  for (std::size_t i = 0; i < adds; ++i) {
    EXPECT(add(block, kStopped, kCount) != ACP_HANDLE_NULL);
    if (i % 16 == 0) {
      EXPECT(acp_copy(block.at(kStopped, mine), block.mine(mine), kPieceBytes,
                      ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    }
  }
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
}

void wait_for_go(const spmd::Block& block, std::uint64_t count) {
  wait_until([&] { return block.word(kGo).load() == count; });
}

/// The part of the two other ranks. Both write and read, rank 0 stops the
/// process, both write and read again, and both flood until rank 0 lets the
/// process go on.
void use_stopped(const spmd::Block& block, pid_t process, std::size_t adds) {
  const bool is_keeper = acp_rank() == 0;
  // The first accesses go by message, until the rank has told of its memory.
  for (std::uint64_t i = 0; i < 4; ++i) {
    write_and_read(block, i);
  }
  if (is_keeper) {
    wait_for_go(block, 1);
    EXPECT_EQ(kill(process, SIGSTOP), 0);
    wait_until([&] { return stands_still(process); });
    EXPECT_DONE(add(block, 2, kGo));
  } else {
    EXPECT_DONE(add(block, 0, kGo));
    wait_for_go(block, 1);
  }
  // The device of the stopped rank executes these alone.
  for (std::uint64_t i = 10; i < 14; ++i) {
    write_and_read(block, i);
  }
  EXPECT(stands_still(process));
  std::thread alarm;
  if (is_keeper) {
    wait_for_go(block, 2);
    // The standstill is the event under test. The other ranks work for this
    // long while the rank is stopped, and then the keeper lets it go on.
    alarm = std::thread([process] {
      std::this_thread::sleep_for(kStandstill);
      kill(process, SIGCONT);
    });
  } else {
    EXPECT_DONE(add(block, 0, kGo));
  }
  spmd::fill_pattern(block.bytes().subspan(piece_of(acp_rank()), kPieceBytes),
                     static_cast<std::uint64_t>(acp_rank()));
  flood(block, adds);
  EXPECT_DONE(add(block, kStopped, kOver));
  if (is_keeper) {
    alarm.join();
  }
}

}  // namespace

SPMD_CASE(stopped_peer, "a rank that is stopped only delays") {
  SPMD_NEEDS_RANKS(3);
  const int me = acp_rank();
  const std::size_t adds = spmd::scaled(40'000, 3'000);
  const spmd::Block block(spmd::Memory::kRegistered, piece_of(acp_procs()));
  const auto pids = spmd::gather(static_cast<std::uint64_t>(getpid()));
  const auto not_ready = acp::verbs::count_not_ready();
  std::uint64_t added = 0;
  if (me == kStopped) {
    added = be_stopped(block);
  } else if (me == 0 || me == 2) {
    use_stopped(block, static_cast<pid_t>(pids[kStopped]), adds);
  }
  acp_sync();  // the last add has been done
  const auto counts = spmd::gather(block.word(kCount).load());
  EXPECT_EQ(counts[kStopped], 2 * adds);
  EXPECT_EQ(counts[0] + counts[2], spmd::broadcast(added, kStopped));
  if (me == kStopped) {
    for (const int rank : {0, 2}) {
      EXPECT_EQ(spmd::pattern_mismatch(
                    block.bytes().subspan(piece_of(rank), kPieceBytes),
                    static_cast<std::uint64_t>(rank)),
                kPieceBytes);
    }
  }
  // Credit has kept senders from sending without a receive buffer. Outside of
  // the virtual machine, other programs may use the devices and count, too.
  if (std::getenv("ACP_RDMA_VM") != nullptr) {
    EXPECT(acp::verbs::count_not_ready() == not_ready);
  }
}

SPMD_CASE(copy_between_stopped_peers,
          "acp_copy: between two others that are stopped") {
  SPMD_NEEDS_RANKS(3);
  constexpr int kSource = 1;
  constexpr int kTarget = 2;
  const int me = acp_rank();
  const spmd::Block block(spmd::Memory::kRegistered, piece_of(acp_procs()));
  const auto mine = block.bytes().subspan(kPieces, kPieceBytes);
  const acp_ga_t source = block.at(kSource, kPieces);
  const acp_ga_t target = block.at(kTarget, kPieces);
  const auto pids = spmd::gather(static_cast<std::uint64_t>(getpid()));
  spmd::fill_pattern(mine, static_cast<std::uint64_t>(me));
  acp_sync();
  if (me != 0) {
    wait_until([&] { return block.word(kOver).load() == 1; });
    return;
  }
  for (int i = 0; i < 4; ++i) {  // until both ranks have told of their memory
    EXPECT_DONE(acp_copy(target, source, 16, ACP_HANDLE_NULL));
    EXPECT_DONE(acp_copy(block.mine(kPieces), target, 16, ACP_HANDLE_NULL));
  }
  for (const int rank : {kSource, kTarget}) {
    const auto process = static_cast<pid_t>(pids[rank]);
    EXPECT_EQ(kill(process, SIGSTOP), 0);
    wait_until([&] { return stands_still(process); });
  }
  EXPECT_DONE(acp_copy(target, source, kPieceBytes, ACP_HANDLE_NULL));
  EXPECT_DONE(
      acp_copy(block.mine(kPieces), target, kPieceBytes, ACP_HANDLE_NULL));
  EXPECT_EQ(spmd::pattern_mismatch(mine, kSource), kPieceBytes);
  for (const int rank : {kSource, kTarget}) {
    EXPECT(stands_still(static_cast<pid_t>(pids[rank])));
    EXPECT_EQ(kill(static_cast<pid_t>(pids[rank]), SIGCONT), 0);
    EXPECT_DONE(add(block, rank, kOver));
  }
}
