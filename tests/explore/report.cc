// Prints schedules. Words of controls, queues, nodes and heaps have names.
#include "explore/report.h"

#include <cinttypes>
#include <cstdio>
#include <string>

#include "middle/malloc/layout.h"
#include "middle/structure/control.h"

namespace explore {

namespace {

namespace site = acp::middle::structure;

std::string number(const char* text, std::uint64_t value) {
  return text + std::to_string(value);
}

/// Names a word of the structures' module.
std::string name_in_site(std::uint64_t offset) {
  if (offset < site::kNodesOffset) {
    return number("pool+", offset);
  }
  if (offset < site::kBucketQueuesOffset) {
    static constexpr const char* kWords[] = {"state", "next", "looks"};
    const std::uint64_t in = offset - site::kNodesOffset;
    const std::uint64_t word = in % sizeof(site::WaitNode) / 8;
    return number("node ", in / sizeof(site::WaitNode)) + " " +
           (word < 3 ? kWords[word] : "?");
  }
  if (offset < site::kLateLooksOffset) {
    const std::uint64_t in = offset - site::kBucketQueuesOffset;
    return number("queue ", in / 16) + (in % 16 == 0 ? " tail" : " front");
  }
  if (offset < site::kScratchOffset) {
    return number("late look ", (offset - site::kLateLooksOffset) / 8);
  }
  if (offset < site::kControlsOffset) {
    return number("scratch+", offset - site::kScratchOffset);
  }
  const std::uint64_t in = offset - site::kControlsOffset;
  const std::uint64_t word = in % site::kControlBytes / 8;
  const std::string control = number("control ", in / site::kControlBytes);
  static constexpr const char* kWords[] = {
      " tag",     " begin",   " field 0", " field 1", " field 2",
      " field 3", " field 4", " end",     " tail",    " front"};
  return control + (word < site::kSyncWord
                        ? kWords[word]
                        : number(" sync ", word - site::kSyncWord));
}

std::string name_of(World& world, acp_ga_t ga) {
  const int rank = world.memory().rank_of(ga);
  const std::uint64_t offset = Memory::offset_of(ga);
  const std::uint64_t heap = Memory::offset_of(world.module_ga(0, rank));
  const std::uint64_t channels = Memory::offset_of(world.module_ga(1, rank));
  const std::uint64_t structures = Memory::offset_of(world.module_ga(2, rank));
  const std::string of = " of rank " + std::to_string(rank);
  if (offset >= structures) {
    return name_in_site(offset - structures) + of;
  }
  if (offset >= channels) {
    return number("channels+", offset - channels) + of;
  }
  return (offset >= heap ? number("heap+", offset - heap)
                         : number("starter+", offset)) +
         of;
}

}  // namespace

/// A line for each step. A value that a step did not change is printed once.
void print_schedule(Exploration& exploration, const Trace& trace) {
  World& world = exploration.world();
  std::printf("  %5s %4s  %-24s %-34s %18s %18s\n", "step", "rank", "what",
              "where", "before", "after");
  for (const TraceLine& line : trace) {
    if (line.address == 0) {
      std::printf("  %5" PRIu64 " %4d  %s\n", line.step, line.rank,
                  line.what.c_str());
      continue;
    }
    std::string where = name_of(world, line.address);
    if (line.bytes > 8) {
      where += ", " + std::to_string(line.bytes) + " bytes";
    }
    std::printf("  %5" PRIu64 " %4d  %-24s %-34s %18" PRIx64, line.step,
                line.rank, line.what.c_str(), where.c_str(), line.before);
    if (line.after == line.before) {
      std::printf("%19s\n", "");
    } else {
      std::printf(" %18" PRIx64 "\n", line.after);
    }
  }
  if (!exploration.content().empty()) {
    std::printf("  content:");
    for (const std::uint64_t number : exploration.content()) {
      std::printf(" %" PRIu64, number);
    }
    std::printf("\n");
  }
}

}  // namespace explore
