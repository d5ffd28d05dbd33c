// Schedules: the choices at each step, and how time passes when no process can
// go on. Runs outside of all fibers, but for block() and its callers.
#include "explore/world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "explore/arena.h"

namespace explore {

World* World::s_world = nullptr;

namespace {

/// Steps of a schedule at most. One of a few operations has some hundred.
constexpr std::uint64_t kMostSteps = 50'000;
/// Time of a schedule at most. It passes only when no process can go on, so
/// more than a few milliseconds are a wait for an event that does not come.
constexpr Microseconds kMostTime = 5'000'000;
/// The time after which a waiter sees a store that came without a signal.
constexpr Microseconds kLookTime = 1000;

/// The job ends at this time if a rank is dead. Ranks that poll have then
/// looked in vain some times.
constexpr Microseconds kEndTime = 20;

// Words that stand for state outside of memory. local_word() stands for the
// state of a rank.
constexpr std::uint64_t kClockWord = 1001;
constexpr std::uint64_t kBarrierWord = 1002;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 29) * 0xbf58'476d'1ce4'e5b9;
  return x ^ x >> 32;
}

/// Always takes the default.
class DefaultOrder : public Chooser {
 public:
  std::size_t choose(const std::vector<Choice>& /*choices*/,
                     std::uint64_t /*signature*/) override {
    return 0;
  }
};

}  // namespace

/// Loads an image and makes two fibers for each rank. The thread-local
/// variables of an image that was just loaded serve each new thread.
World::World(int ranks, const std::string& image, Settings settings)
    : memory_(ranks),
      settings_(std::move(settings)),
      modules_(static_cast<std::size_t>(ranks)),
      state_(static_cast<std::size_t>(ranks)) {
  s_world = this;
  for (int rank = 0; rank < ranks; ++rank) {
    images_.push_back(
        std::make_unique<RankImage>(image + std::to_string(rank) + ".so"));
  }
  for (int i = 0; i < 2 * ranks; ++i) {
    tasks_.push_back(std::make_unique<Task>());
    tasks_.back()->rank = i % ranks;
    tasks_.back()->is_library = i >= ranks;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const RankImage::Range thread =
        images_[static_cast<std::size_t>(rank)]->thread_variables();
    const auto* bytes = static_cast<const std::byte*>(thread.begin);
    program(rank).thread_variables.assign(bytes, bytes + thread.bytes);
    library(rank).thread_variables.assign(bytes, bytes + thread.bytes);
    saved_variables_.push_back(library(rank).thread_variables);
    fresh_variables_.push_back(library(rank).thread_variables);
    loaded_.push_back(&program(rank));
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
  run_plainly([this](int rank) {
    const InRank inside(true);
    for (const acpx_module_t& module :
         modules_[static_cast<std::size_t>(rank)]) {
      if (module.init != nullptr && module.init(module.arg) != 0) {
        std::abort();
      }
    }
  });
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

void World::run_plainly(const std::function<void(int)>& body) {
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
  if (end != End::kDone) {
    std::fprintf(stderr, "explore: a phase of all ranks did not end (%d)\n",
                 static_cast<int>(end));
    std::abort();
  }
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
    library(rank).wait.kind = Wait::Kind::kOver;
    library(rank).newest.clear();
    library(rank).thread_variables =
        fresh_variables_[static_cast<std::size_t>(rank)];
  }
}

/// The library's thread of a rank begins anew as well, unless it is in a wait.
void World::start(const std::function<void(int)>& body) {
  for (int rank = 0; rank < ranks(); ++rank) {
    if (state_[static_cast<std::size_t>(rank)].is_dead) {
      continue;
    }
    Task& task = program(rank);
    task.wait = Wait{};
    task.wait.kind = Wait::Kind::kReady;
    task.newest.clear();
    task.fiber.start([&task, body] {
      body(task.rank);
      task.wait.kind = Wait::Kind::kOver;
    });
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
  const End end = go_on(chooser);
  is_ordering_ = false;
  return end;
}

// ---- One schedule ---------------------------------------------------------

/// One step after the other, until no process is left or the chooser ends the
/// schedule.
End World::go_on(Chooser& chooser) {
  for (;;) {
    collect(choices_);
    if (choices_.empty()) {
      if (is_over()) {
        return End::kDone;
      }
      if (!pass_time()) {
        return End::kDeadlock;
      }
      if (time_ > kMostTime && !is_long_) {
        return End::kEndless;
      }
      continue;
    }
    const std::size_t index =
        chooser.choose(choices_, is_ordering_ ? signature() : 0);
    if (index == Chooser::kCut) {
      return End::kCut;
    }
    const Choice choice = choices_[index];
    last_strand_ = choice.strand;
    ++steps_;
    if (is_long_) {
      processes_.clear();
    }
    if (choice.strand == victim_ && is_ordering_ &&
        victim_done_ + 1 >= victim_steps_) {
      processes_.push_back(choice.process);
      die(choice.strand);
    } else {
      execute(choice.process);
    }
    if (steps_ > kMostSteps && !is_long_) {
      return End::kEndless;
    }
  }
}

/// Two schedules with equal signatures are in one state. The order of dependent
/// steps does not decide the time, and the processes that are held. Both are
/// added.
std::uint64_t World::signature() const {
  std::uint64_t sum = order_.signature() + mixed(time_ + 1);
  for (const auto& task : tasks_) {
    if (task->wait.kind == Wait::Kind::kYield && !is_ready(*task)) {
      sum += mixed(number_of(*task) + 1000);
    }
  }
  for (const std::size_t chain : flying_) {
    if (is_held(chains_[chain])) {
      sum += mixed(static_cast<std::uint64_t>(chains_[chain].rank) + 2000);
    }
  }
  return sum;
}

/// The default order: the rank that went on last goes on; its program before
/// its chains, and these in the order of posting, and the library's thread
/// last. When it cannot go on, any other rank may at no cost.
void World::collect(std::vector<Choice>& choices) {
  choices.clear();
  for (int turn = 0; turn < ranks(); ++turn) {
    const int rank = (last_strand_ + turn) % ranks();
    const std::size_t before = choices.size();
    if (is_ready(program(rank))) {
      choices.push_back({number_of(program(rank)), rank, 0});
    }
    for (const std::size_t chain : flying_) {
      if (chains_[chain].rank == rank && may_step(chains_[chain])) {
        choices.push_back({number_of(chain), rank, 0});
      }
    }
    if (is_ready(library(rank))) {
      choices.push_back({number_of(library(rank)), rank, 0});
    }
    const bool is_free = turn == 0 || choices.front().strand != last_strand_;
    for (std::size_t i = before; i < choices.size(); ++i) {
      choices[i].cost = i == before && is_free ? 0 : 1;
    }
  }
}

bool World::is_over() const {
  return flying_.empty() &&
         std::all_of(tasks_.begin(), tasks_.end(), [](const auto& task) {
           return task->is_library || task->wait.kind == Wait::Kind::kOver;
         });
}

/// No process can go on now. Time passes until a waiter looks again or gives
/// up, or a chain that was held goes on. False: nothing will ever happen. After
/// the death of a rank the job ends then.
bool World::pass_time() {
  constexpr Microseconds kNever = ~Microseconds{0};
  const auto next_of = [this](const Task& task) {
    const Wait& wait = task.wait;
    const RankState& state = state_[static_cast<std::size_t>(task.rank)];
    const bool looks =
        (wait.kind == Wait::Kind::kWord && *wait.word != wait.unlike) ||
        (wait.kind == Wait::Kind::kEvent && state.has_plain_event) ||
        (wait.kind == Wait::Kind::kSteps && state.has_plain_event &&
         !state.steps.empty());
    if (wait.kind == Wait::Kind::kYield) {
      return time_ + 1;
    }
    return looks                ? time_ + kLookTime
           : wait.deadline != 0 ? wait.deadline
                                : kNever;
  };
  Microseconds next = kNever;
  for (const auto& task : tasks_) {
    next = std::min(next, next_of(*task));
  }
  for (const std::size_t chain : flying_) {
    if (is_held(chains_[chain])) {
      next = std::min(next, time_ + 1);
    }
  }
  const bool has_dead =
      std::any_of(state_.begin(), state_.end(),
                  [](const RankState& state) { return state.is_dead; });
  const bool waits_long = next > time_ + kLookTime || time_ >= kEndTime;
  if (has_dead && !is_ending_ && waits_long) {
    is_ending_ = true;
    return true;
  }
  if (next == kNever) {
    return false;
  }
  for (const auto& task : tasks_) {
    if (next_of(*task) <= next) {
      task->wait.is_due = true;
      state_[static_cast<std::size_t>(task->rank)].has_plain_event = false;
    }
  }
  for (const std::size_t chain : flying_) {
    chains_[chain].is_held = false;
  }
  time_ = next;
  return true;
}

void World::execute(std::uint32_t process) {
  if (process < tasks_.size()) {
    note_step(process, tasks_[process]->rank);
    run_task(*tasks_[process]);
  } else {
    step_chain(process - tasks_.size());
  }
}

/// Single steps are counted, so that a death has its place also when steps are
/// done together.
void World::note_step(std::uint32_t process, int rank) {
  processes_.push_back(process);
  victim_done_ += rank == victim_ ? 1 : 0;
}

void World::die(int rank) {
  RankState& state = state_[static_cast<std::size_t>(rank)];
  state.is_dead = true;
  program(rank).wait.kind = Wait::Kind::kOver;
  library(rank).wait.kind = Wait::Kind::kOver;
  std::erase_if(flying_,
                [&](std::size_t chain) { return chains_[chain].rank == rank; });
  if (trace_ != nullptr) {
    trace_->push_back({steps_, time_, rank, "dies", 0, 0, 0, 0});
  }
}

// ---- Tasks ----------------------------------------------------------------

/// The image has the thread-local variables of the task that ran last.
void World::load_variables(Task& task) {
  Task*& loaded = loaded_[static_cast<std::size_t>(task.rank)];
  if (loaded == &task) {
    return;
  }
  void* variables = image(task.rank).thread_variables().begin;
  std::memcpy(loaded->thread_variables.data(), variables,
              loaded->thread_variables.size());
  std::memcpy(variables, task.thread_variables.data(),
              task.thread_variables.size());
  loaded = &task;
}

void World::run_task(Task& task) {
  load_variables(task);
  if (is_ordering_) {
    order_.begin(number_of(task));
    order_.write(local_word(task.rank));
    if (task.wait.kind == Wait::Kind::kWord) {
      order_.read(reinterpret_cast<std::uintptr_t>(task.wait.word) / 8);
    } else if (task.wait.kind == Wait::Kind::kBarrier) {
      order_.read(kBarrierWord);
    }
  }
  task.wait.kind = Wait::Kind::kReady;
  running_ = &task;
  task.fiber.resume();
  running_ = nullptr;
  if (is_ordering_) {
    order_.end();
  }
}

void World::block(const Wait& wait) {
  Task& task = *running_;
  task.wait = wait;
  task.fiber.suspend();
}

/// Whether the event has come for which a task waits. Time is not looked at.
bool World::wait_over(const Task& task) const {
  const Wait& wait = task.wait;
  const RankState& state = state_[static_cast<std::size_t>(task.rank)];
  switch (wait.kind) {
    case Wait::Kind::kReady: return true;
    case Wait::Kind::kHandle:
      return state.open.empty() || state.open.front() > wait.handle;
    case Wait::Kind::kChain: return chains_[wait.chain].has_arrived;
    case Wait::Kind::kWord:
      return wait.is_signalled && *wait.word != wait.unlike;
    case Wait::Kind::kEvent: return state.events != wait.seen;
    case Wait::Kind::kYield: return steps_ != wait.seen;
    case Wait::Kind::kMutex: return *static_cast<const int*>(wait.mutex) == 0;
    case Wait::Kind::kBarrier: return barriers_ != wait.seen;
    case Wait::Kind::kSteps:
      return state.events != state.events_seen && !state.steps.empty();
    case Wait::Kind::kOver: return false;
  }
  return false;
}

bool World::is_ready(const Task& task) const {
  const Wait::Kind kind = task.wait.kind;
  return wait_over(task) || task.wait.is_due ||
         (is_ending_ && kind != Wait::Kind::kOver &&
          kind != Wait::Kind::kSteps);
}

/// The body of the library's thread: the steps run again after each event of
/// the rank.
void World::run_steps(Task& task) {
  for (;;) {
    RankState& state = state_[static_cast<std::size_t>(task.rank)];
    state.events_seen = state.events;
    const std::vector<Step> steps = state.steps;
    for (const Step& step : steps) {
      const InRank inside(true);
      step.function(step.argument);
    }
    Wait wait;
    wait.kind = Wait::Kind::kSteps;
    block(wait);
  }
}

// ---- For the functions of acp.h -------------------------------------------

int World::rank() const {
  return running_ == nullptr ? adding_ : running_->rank;
}

int& World::error() {
  static int outside = 0;
  return running_ == nullptr ? outside : running_->error;
}

bool World::is_in_step() const {
  return running_ != nullptr && running_->is_library;
}

Microseconds World::deadline_of(int timeout_ms) const {
  return timeout_ms < 0
             ? 0
             : time_ + static_cast<Microseconds>(timeout_ms) * 1000 + 1;
}

bool World::is_complete(acp_handle_t handle) const {
  const RankState& state = state_[static_cast<std::size_t>(rank())];
  if (handle == ACP_HANDLE_ALL) {
    return state.open.empty();
  }
  return handle > state.issued || state.open.empty() ||
         state.open.front() > handle;
}

/// Returns the result of acpx_complete_timeout.
int World::complete(acp_handle_t handle, int timeout_ms) {
  RankState& state = state_[static_cast<std::size_t>(rank())];
  if (is_in_step()) {
    error() = ACPX_AGAIN;
    return -1;
  }
  if (handle == ACP_HANDLE_ALL) {
    handle = state.issued;
  }
  if (!is_complete(handle) && timeout_ms != 0 && !is_ending_) {
    Wait wait;
    wait.kind = Wait::Kind::kHandle;
    wait.handle = handle;
    wait.deadline = deadline_of(timeout_ms);
    block(wait);
  }
  if (!is_complete(handle)) {
    if (is_ending_) {
      error() = ACPX_ABORTED;
      return -1;
    }
    return 1;
  }
  if (state.failure != 0 && state.failed <= handle) {
    error() = state.failure;
    state.failure = 0;
    return -1;
  }
  return 0;
}

/// A word that differs at once ends the call without a step of the schedule.
int World::wait_word(acp_ga_t word,
                     std::uint64_t unlike,
                     int timeout_ms,
                     std::uint64_t* value) {
  if (is_in_step()) {
    error() = ACPX_AGAIN;
    return -1;
  }
  const auto* at =
      reinterpret_cast<const std::uint64_t*>(memory_.find(word, 8));
  if (at == nullptr || memory_.rank_of(word) != rank()) {
    error() = at == nullptr ? ACPX_BAD_ADDRESS : ACPX_BAD_RANK;
    return -1;
  }
  if (*at == unlike && timeout_ms != 0 && !is_ending_) {
    Wait wait;
    wait.kind = Wait::Kind::kWord;
    wait.word = at;
    wait.unlike = unlike;
    wait.deadline = deadline_of(timeout_ms);
    block(wait);
  }
  if (*at == unlike) {
    if (is_ending_) {
      error() = ACPX_ABORTED;
      return -1;
    }
    return 1;
  }
  if (value != nullptr) {
    *value = *at;
  }
  return 0;
}

/// Calls the condition again after each event of the rank.
int World::wait_until(int (*done)(void*), void* argument, int timeout_ms) {
  if (is_in_step()) {
    error() = ACPX_AGAIN;
    return -1;
  }
  const Microseconds deadline = deadline_of(timeout_ms);
  for (;;) {
    // Read first: an event that comes while `done` runs ends the wait.
    const std::uint64_t events =
        state_[static_cast<std::size_t>(rank())].events;
    bool is_done = false;
    {
      const InRank inside(true);
      is_done = done(argument) != 0;
    }
    if (is_done) {
      return 0;
    }
    if (is_ending_) {
      error() = ACPX_ABORTED;
      return -1;
    }
    if (timeout_ms == 0) {
      yield();
      return 1;
    }
    if (deadline != 0 && time_ >= deadline) {
      return 1;
    }
    Wait wait;
    wait.kind = Wait::Kind::kEvent;
    wait.seen = events;
    wait.deadline = deadline;
    block(wait);
  }
}

int World::barrier() {
  if (is_ordering_) {
    order_.write(kBarrierWord);
  }
  if (++at_barrier_ == ranks()) {
    at_barrier_ = 0;
    ++barriers_;
    return 0;
  }
  Wait wait;
  wait.kind = Wait::Kind::kBarrier;
  wait.seen = barriers_;
  block(wait);
  if (is_ending_) {
    error() = ACPX_ABORTED;
    return -1;
  }
  return 0;
}

void World::yield() {
  Wait wait;
  wait.kind = Wait::Kind::kYield;
  wait.seen = steps_;
  block(wait);
}

/// A mutex of a rank is an int here: 1 while a fiber has it.
void World::lock(void* mutex) {
  auto& is_taken = *static_cast<int*>(mutex);
  while (is_taken != 0) {
    Wait wait;
    wait.kind = Wait::Kind::kMutex;
    wait.mutex = mutex;
    block(wait);
  }
  is_taken = 1;
}

void World::note_begin() {
  running_->newest.clear();
  if (is_ordering_) {
    order_.read(kClockWord);
  }
}

void World::note_end() {
  if (is_ordering_) {
    order_.write(kClockWord);
  }
  if (is_ordering_ && watcher_ != nullptr) {
    watcher_->on_call_end(running_);
  }
}

bool World::add_step(int (*step)(void*), void* argument) {
  RankState& state = state_[static_cast<std::size_t>(rank())];
  for (const Step& known : state.steps) {
    if (known.function == step && known.argument == argument) {
      return false;
    }
  }
  state.steps.push_back({step, argument});
  hurry();
  return true;
}

bool World::remove_step(int (*step)(void*), void* argument) {
  RankState& state = state_[static_cast<std::size_t>(rank())];
  return std::erase_if(state.steps, [&](const Step& known) {
           return known.function == step && known.argument == argument;
         }) != 0;
}

void World::hurry() {
  ++state_[static_cast<std::size_t>(rank())].events;
}

acp_ga_t World::module_ga(int module, int rank) const {
  return memory_.library_ga(rank,
                            module_offsets_[static_cast<std::size_t>(module)]);
}

int World::setting(const char* name, std::uint64_t* value) const {
  const auto found = settings_.find(name);
  if (found == settings_.end()) {
    return -1;
  }
  *value = found->second;
  return 0;
}

}  // namespace explore
