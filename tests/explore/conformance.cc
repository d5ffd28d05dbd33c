// Runs a program of tests/conformance on the fake ACP, which has to keep the
// promises of the library. Each rank is a fiber.
//
//   explore_conformance IMAGE RANKS MODE [CASE...]
//
// In mode `random`, which is otherwise `far`, processes have random priorities.
// In the other modes they go on in the default order.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "explore/arena.h"
#include "explore/choosers.h"
#include "explore/log.h"
#include "explore/world.h"

namespace explore {

/// Cases that call wrongly on purpose make many lines; none is shown.
void note_log_line(int /*rank*/, const char* /*text*/) {}

namespace {

int run(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: explore_conformance IMAGE RANKS MODE [CASE...]\n",
               stderr);
    return 2;
  }
  World world(static_cast<int>(std::strtol(argv[2], nullptr, 10)), argv[1],
              {{"ACP_HEAP_SIZE", std::uint64_t{64} << 20},
               {"ACP_MALLOC_CACHE", 0},
               {"ACP_MALLOC_DEBUG", 0},
               {"ACP_STARTER_MEMORY", Memory::kStarterBytes},
               {"ACP_CH_BUFFER", 65536}});
  world.start_job();
  Replay in_order{Departures{}};
  constexpr int kChanges = 1000;
  constexpr std::size_t kLength = 1'000'000;
  RandomPriorities at_random(1, kChanges, kLength);
  Chooser& chooser = std::strcmp(argv[3], "random") == 0
                         ? static_cast<Chooser&>(at_random)
                         : static_cast<Chooser&>(in_order);
  // The image reads the names of cases behind the word for its own name.
  char** words = argv + 3;
  const int count = argc - 3;
  int result = 0;
  const End end = world.run_long(
      [&](int rank) {
        const InRank inside(true);
        result |= world.image(rank).run_cases(count, words);
      },
      mode_named(argv[3], 1), chooser);
  std::printf("%llu steps\n", static_cast<unsigned long long>(world.steps()));
  return end == End::kDone ? result : 1;
}

}  // namespace

}  // namespace explore

int main(int argc, char** argv) {
  return explore::run(argc, argv);
}
