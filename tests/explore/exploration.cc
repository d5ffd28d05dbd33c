// Sets a scenario up, and checks its schedules: results, content, and that the
// heaps are free again when the structure is destroyed.
#include "explore/exploration.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "explore/arena.h"
#include "explore/log.h"
#include "middle/malloc/layout.h"
#include "middle/structure/site.h"

namespace explore {

namespace {

namespace site = acp::middle::structure;

constexpr std::uint64_t kHeapBytes = std::uint64_t{1} << 20;
constexpr std::size_t kMostContent = 64;
/// Numbers of the modules, in the order of their start.
constexpr int kHeapModule = 0;
constexpr int kChannelModule = 1;
constexpr int kStructureModule = 2;

World::Settings settings_of(const Scenario& scenario) {
  return {{"ACP_HEAP_SIZE", kHeapBytes},
          {"ACP_MALLOC_CACHE", scenario.has_cache ? 1 : 2},
          {"ACP_MALLOC_DEBUG", 0},
          {"ACP_STARTER_MEMORY", Memory::kStarterBytes},
          {"ACP_CH_BUFFER", 4096}};
}

const char* text_of(End end) {
  switch (end) {
    case End::kDone: return "done";
    case End::kCut: return "cut";
    case End::kDeadlock: return "the ranks wait for each other for ever";
    case End::kEndless: return "a wait or a loop does not end";
  }
  return "?";
}

std::string g_log;

void run_all(Program& program, const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    program.run(operation);
  }
}

}  // namespace

void note_log_line(int rank, const char* text) {
  if (g_log.size() < 2000) {
    g_log += "    rank " + std::to_string(rank) + " logs: " + text + "\n";
  }
}

/// Starts the job and takes the snapshot. Scratches are private to their rank.
/// The owner of wait nodes and late looks reads these words without the
/// library.
Exploration::Exploration(const Scenario& scenario,
                         const Mode& mode,
                         const std::string& image)
    : scenario_(scenario),
      world_(static_cast<int>(scenario.programs.size()),
             image,
             settings_of(scenario),
             std::vector<int>(scenario.threads.size(), 0)),
      fairness_(world_, kStructureModule),
      before_(new_model(scenario.structure)) {
  world_.start_job();
  prepare();
  world_.add_private(kStructureModule, site::kScratchOffset,
                     site::kScratches * site::kScratchBytes);
  world_.add_private(kHeapModule, acp::middle::HeapLayout::scratch(),
                     acp::middle::kScratchBytes);
  world_.add_direct(kStructureModule, site::kNodesOffset,
                    site::kScratches * sizeof(site::WaitNode));
  world_.add_direct(kStructureModule, site::kLateLooksOffset,
                    site::kLateLooks * sizeof(std::uint64_t));
  if (scenario_.is_direct) {
    world_.add_direct(kHeapModule, 0, kHeapBytes);
    world_.add_direct(kChannelModule, 0, 4096);
  }
  world_.set_mode(mode);
  world_.watch(&fairness_);
  world_.take_snapshot();
}

/// Creates the structure and fills it. Each rank then allocates once on each
/// heap, so that its caches have blocks if it has any.
void Exploration::prepare() {
  Handles handles;
  run_phase([&](int rank, Program& program) {
    if (rank == 0) {
      handles = program.create(scenario_.variant);
    }
  });
  run_phase([&](int rank, Program& program) {
    program.use(handles);
    if (scenario_.is_warm) {
      world_.image(rank).warm_up();
    }
    if (rank == 0) {
      run_all(program, scenario_.before);
    }
  });
  run_phase([&](int rank, Program& program) {
    if (rank == 1) {
      run_all(program, scenario_.before1);
    }
  });
  if (!has_ended_) {
    std::printf("%s: its beginning does not end\n", scenario_.name.c_str());
    std::exit(1);
  }
  for (const auto* operations : {&scenario_.before, &scenario_.before1}) {
    for (const Operation& operation : *operations) {
      for (const Operation& part : before_->parts(operation)) {
        before_->run(part);
      }
    }
  }
}

/// Runs `work` on all ranks, unless a phase before did not end.
void Exploration::run_phase(const std::function<void(int, Program&)>& work) {
  const End end =
      !has_ended_ ? End::kDeadlock : world_.run_plainly([&](int rank) {
        const InRank inside(true);
        work(rank, *world_.image(rank).program(scenario_.structure.c_str()));
      });
  has_ended_ = end == End::kDone;
}

void Exploration::kill(int rank, std::uint64_t step) {
  victim_ = rank;
  has_killed_ = false;
  world_.kill(rank, step);
}

void Exploration::record(Trace* trace) {
  trace_ = trace;
  world_.record(trace);
}

void Exploration::note(int rank, const std::string& what) {
  if (trace_ != nullptr) {
    trace_->push_back({world_.steps(), world_.time(), rank, what, 0, 0, 0, 0});
  }
}

/// The body of a thread: its operations, one after the other. Notes their
/// begins, ends and results.
void Exploration::run_program(int number) {
  const int rank = world_.rank();
  Program& program = *world_.image(rank).program(scenario_.structure.c_str());
  const int thread = std::max(0, number - world_.ranks() + 1);
  world_.image(rank).begin_thread(thread);
  const auto& operations =
      thread == 0 ? scenario_.programs[static_cast<std::size_t>(rank)]
                  : scenario_.threads[static_cast<std::size_t>(thread) - 1];
  for (const Operation& operation : operations) {
    world_.note_begin();
    const std::size_t call = calls_.size();
    calls_.push_back({rank, operation, ++events_, 0, 0});
    note(rank, "begins " + before_->text_of(operation));
    std::uint64_t result = 0;
    {
      const InRank inside(true);
      result = program.run(operation);
    }
    world_.note_end();
    calls_[call].result = result;
    calls_[call].end = ++events_;
    note(rank, "ends " + before_->text_of(operation) + " = " +
                   (result == kNothing   ? "nothing"
                    : result == kFailure ? "failure"
                                         : std::to_string(result)));
  }
}

std::string Exploration::run(Chooser& chooser, End& end) {
  calls_.clear();
  calls_.reserve(16);
  content_.clear();
  events_ = 0;
  g_log.clear();
  fairness_.clear();
  end = world_.run([this](int number) { run_program(number); }, chooser);
  has_killed_ = has_killed_ || (victim_ >= 0 && world_.is_dead(victim_));
  std::string wrong = fairness_.broken();
  if (wrong.empty() && end == End::kCut) {
    return "";
  }
  wrong = wrong.empty() ? check(end) : wrong;
  if (!wrong.empty() && !g_log.empty()) {
    wrong += "\n" + g_log;
  }
  return wrong;
}

std::string Exploration::check(End end) {
  if (end != End::kDone) {
    return text_of(end);
  }
  if (victim_ >= 0 && world_.is_dead(victim_)) {
    // A call that has failed may have had its effect, as a call that did not
    // return may.
    for (Call& call : calls_) {
      call.end = call.result == kFailure ? 0 : call.end;
    }
    return is_right(nullptr) ? "" : "after the death, results are of no order";
  }
  std::string wrong = audit();
  if (!wrong.empty()) {
    return wrong;
  }
  return is_right(&content_)
             ? ""
             : "results and content are those of no order of the operations";
}

/// Whether the calls have an order. Most schedules have results that others
/// had, so verdicts are remembered.
bool Exploration::is_right(const std::vector<std::uint64_t>* content) {
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t number) {
    hash = (hash ^ number ^ hash >> 29) * 0x9e37'79b9'7f4a'7c15;
  };
  for (const Call& call : calls_) {
    for (const std::uint64_t number :
         {static_cast<std::uint64_t>(call.rank), call.operation.a, call.begin,
          call.end, call.result,
          std::uint64_t{call.operation.code} << 32 | call.operation.b}) {
      add(number);
    }
  }
  if (content != nullptr) {
    for (const std::uint64_t number : *content) {
      add(number);
    }
  }
  const auto known = known_.find(hash);
  if (known != known_.end()) {
    return known->second;
  }
  const bool is_good = is_linearizable(*before_, calls_, content);
  known_.emplace(hash, is_good);
  return is_good;
}

/// Reads and destroys the structure. When all ranks have returned their blocks,
/// each heap is one free piece.
std::string Exploration::audit() {
  const acp::middle::HeapLayout layout(kHeapBytes);
  bool is_free = true;
  record(nullptr);
  has_ended_ = true;
  run_phase([&](int rank, Program& program) {
    if (rank == 0) {
      std::uint64_t content[kMostContent];
      const std::size_t count = program.dump(content, kMostContent);
      {
        const InRank outside(false);
        content_.assign(content, content + count);
      }
      program.destroy();
    }
  });
  run_phase([&](int rank, Program& program) {
    program.leave();
    world_.image(rank).trim();
  });
  run_phase([&](int rank, Program& /*program*/) {
    is_free = world_.image(rank).is_heap_free(rank, layout.largest_block()) &&
              is_free;
  });
  return !has_ended_ ? "to read and destroy the structure does not end"
         : is_free   ? ""
                     : "memory is lost: a heap is not free at the end";
}

}  // namespace explore
