// The row of two threads of rank 0 that put at the same time; its raw row is
// put8. rows.cc lists it, and runner.cc runs it. The threads may share no word
// and no samples while they measure.
#include <sched.h>

#include <array>
#include <atomic>
#include <thread>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

struct Lane {
  Word target{};
  Word source{};
  Samples samples;
  std::uint64_t last = 0;
};

/// The threads may use every processor that the system allows, also when the
/// launcher has bound the rank to one.
void allow_all_processors() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    CPU_SET(cpu, &all);
  }
  // If the kernel refuses, the threads share a processor, and the row shows it.
  (void)sched_setaffinity(0, sizeof(all), &all);
}

void run_lane(const Context& context, std::atomic<int>& waiting, Lane& lane) {
  allow_all_processors();
  const Memory& memory = context.memory;
  const acp_ga_t target = memory.word(context.target, lane.target);
  const acp_ga_t source = memory.word(context.rank, lane.source);
  std::uint64_t* own = memory.own_word(lane.source);
  waiting.fetch_sub(1, std::memory_order_acq_rel);
  spin_until([&] { return waiting.load(std::memory_order_acquire) == 0; });
  measure(context.time_ns, 1, lane.samples, [&] {
    *own = ++lane.last;
    acp_complete(acp_copy(target, source, 8, ACP_HANDLE_NULL));
  });
}

Outcome run_threads(Context& context, Samples& samples) {
  std::array<Lane, 2> lanes = {
      Lane{Word::kTarget, Word::kSource, {}},
      Lane{Word::kTargetOther, Word::kSourceOther, {}}};
  std::atomic<int> waiting{2};
  std::thread other([&] { run_lane(context, waiting, lanes[1]); });
  std::thread one([&] { run_lane(context, waiting, lanes[0]); });
  one.join();
  other.join();
  bool ok = true;
  for (const Lane& lane : lanes) {
    ok &= context.memory.get_word(context.target, lane.target) == lane.last;
    samples.merge(lane.samples);
  }
  return expect(ok, "the target does not hold a thread's last value");
}

}  // namespace

void add_thread_rows(Rows& rows) {
  append(rows, {
                   {.name = "put8.threads",
                    .what = "put8 by two threads at once, per thread",
                    .raw_direct = "put8",
                    .raw_network = "put8",
                    .run = run_threads},
               });
}

}  // namespace acp::perf
