// The job: its ranks, its start, and its state before each schedule. Called by
// Exploration. Runs outside of all fibers.
#include "explore/world.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "explore/arena.h"

namespace explore {

World* World::s_world = nullptr;

namespace {

/// Always takes the default.
class DefaultOrder : public Chooser {
 public:
  std::size_t choose(const std::vector<Choice>& /*choices*/,
                     std::uint64_t /*signature*/) override {
    return 0;
  }
};

}  // namespace

/// Loads an image and makes the fibers of each rank. The thread-local variables
/// of an image that was just loaded serve each new thread.
World::World(int ranks,
             const std::string& image,
             Settings settings,
             const std::vector<int>& threads)
    : memory_(ranks),
      settings_(std::move(settings)),
      modules_(static_cast<std::size_t>(ranks)),
      state_(static_cast<std::size_t>(ranks)) {
  s_world = this;
  for (int rank = 0; rank < ranks; ++rank) {
    images_.push_back(
        std::make_unique<RankImage>(image + std::to_string(rank) + ".so"));
  }
  const auto add_task = [this](int rank, int program) {
    tasks_.push_back(std::make_unique<Task>());
    Task& task = *tasks_.back();
    task.number = static_cast<std::uint32_t>(tasks_.size() - 1);
    task.rank = rank;
    task.program = program;
  };
  for (int rank = 0; rank < ranks; ++rank) {
    add_task(rank, rank);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    add_task(rank, -1);
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    add_task(threads[i], ranks + static_cast<int>(i));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const RankImage::Range thread =
        images_[static_cast<std::size_t>(rank)]->thread_variables();
    const auto* bytes = static_cast<const std::byte*>(thread.begin);
    fresh_variables_.emplace_back(bytes, bytes + thread.bytes);
    loaded_.push_back(&program(rank));
  }
  saved_variables_ = fresh_variables_;
  for (const auto& task : tasks_) {
    task->thread_variables =
        fresh_variables_[static_cast<std::size_t>(task->rank)];
  }
}

World::~World() {
  s_world = nullptr;
}

// ---- Start ----------------------------------------------------------------

int World::add_module(const acpx_module_t* module) {
  auto& mine = modules_[static_cast<std::size_t>(adding_)];
  mine.push_back(*module);
  if (adding_ == 0) {
    module_offsets_.push_back(memory_.add_module(module->bytes));
  }
  return static_cast<int>(mine.size() - 1);
}

/// Adds the modules rank by rank, as acp_init does, and runs their init
/// functions. All memory that ranks write is watched from here on.
void World::start_job() {
  for (adding_ = 0; adding_ < ranks(); ++adding_) {
    const InRank inside(true);
    if (image(adding_).add_modules([](const acpx_module_t* module) {
          const InRank outside(false);
          return get().add_module(module);
        }) != 0) {
      std::fputs("explore: a module was refused\n", stderr);
      std::exit(1);
    }
  }
  memory_.map();
  snapshot_.add(memory_.begin(), memory_.bytes());
  snapshot_.add(arena_begin(), arena_bytes());
  for (const auto& image : images_) {
    for (const RankImage::Range& range : image->variables()) {
      snapshot_.add(range.begin, range.bytes);
    }
  }
  const End end = run_plainly([this](int rank) {
    const InRank inside(true);
    for (const acpx_module_t& module :
         modules_[static_cast<std::size_t>(rank)]) {
      if (module.init != nullptr && module.init(module.arg) != 0) {
        std::abort();
      }
    }
  });
  if (end != End::kDone) {
    std::fputs("explore: a module does not start\n", stderr);
    std::exit(1);
  }
}

void World::add_direct(int module, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t begin =
      module_offsets_[static_cast<std::size_t>(module)] + offset;
  direct_.push_back({begin, begin + bytes});
}

void World::add_private(int module, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t begin =
      module_offsets_[static_cast<std::size_t>(module)] + offset;
  private_.push_back({begin, begin + bytes});
}

End World::run_plainly(const std::function<void(int)>& body) {
  const Mode mode = mode_;
  const bool was_ordering = is_ordering_;
  mode_ = Mode{};
  mode_.is_near = true;
  is_ordering_ = false;
  steps_ = 0;
  start(body);
  DefaultOrder chooser;
  const End end = go_on(chooser);
  mode_ = mode;
  is_ordering_ = was_ordering;
  return end;
}

End World::run_long(const std::function<void(int)>& body,
                    const Mode& mode,
                    Chooser& chooser) {
  mode_ = mode;
  is_long_ = true;
  start(body);
  const End end = go_on(chooser);
  is_long_ = false;
  return end;
}

void World::take_snapshot() {
  for (int rank = 0; rank < ranks(); ++rank) {
    load_variables(program(rank));
    const RankImage::Range thread = image(rank).thread_variables();
    const auto* bytes = static_cast<const std::byte*>(thread.begin);
    program(rank).thread_variables.assign(bytes, bytes + thread.bytes);
    saved_variables_[static_cast<std::size_t>(rank)] =
        program(rank).thread_variables;
  }
  memory_.keep_regions();
  saved_state_ = state_;
  snapshot_.take();
}

/// Puts everything back that a schedule changes: memory, thread-local
/// variables, and the members of this object.
void World::reset() {
  snapshot_.restore();
  memory_.forget_regions();
  state_ = saved_state_;
  order_.clear();
  processes_.clear();
  flying_.clear();
  chain_count_ = 0;
  steps_ = 0;
  passes_ = 0;
  writes_ = 0;
  barriers_ = 0;
  at_barrier_ = 0;
  time_ = 0;
  last_strand_ = 0;
  victim_done_ = 0;
  is_ending_ = false;
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto& saved = saved_variables_[static_cast<std::size_t>(rank)];
    std::memcpy(image(rank).thread_variables().begin, saved.data(),
                saved.size());
    loaded_[static_cast<std::size_t>(rank)] = &program(rank);
  }
  for (const auto& task : tasks_) {
    if (task.get() != &program(task->rank)) {
      task->wait.kind = Wait::Kind::kOver;
      task->newest.clear();
      task->thread_variables =
          fresh_variables_[static_cast<std::size_t>(task->rank)];
    }
  }
}

void World::begin_thread(Task& task, const std::function<void(int)>& body) {
  task.wait = Wait{};
  task.wait.kind = Wait::Kind::kReady;
  task.newest.clear();
  task.fiber.start([&task, body] {
    body(task.program);
    task.wait.kind = Wait::Kind::kOver;
  });
}

/// The library's thread of a rank begins anew as well, unless it is in a wait.
void World::start(const std::function<void(int)>& body) {
  for (int rank = 0; rank < ranks(); ++rank) {
    if (state_[static_cast<std::size_t>(rank)].is_dead) {
      continue;
    }
    begin_thread(program(rank), body);
    Task& thread = library(rank);
    if (thread.wait.kind == Wait::Kind::kOver) {
      thread.wait = Wait{};
      thread.wait.kind = Wait::Kind::kSteps;
      thread.fiber.start([this, &thread] { run_steps(thread); });
    }
  }
}

End World::run(const std::function<void(int)>& body, Chooser& chooser) {
  reset();
  is_ordering_ = true;
  start(body);
  for (const auto& task : tasks_) {
    if (task->program >= ranks()) {
      begin_thread(*task, body);
    }
  }
  const End end = go_on(chooser);
  is_ordering_ = false;
  return end;
}

}  // namespace explore
