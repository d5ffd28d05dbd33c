// One schedule: the choices at each step, and how time passes when no process
// can go on. Runs outside of all fibers, but for block() and its callers.
#include <algorithm>
#include <cstring>

#include "explore/arena.h"
#include "explore/world.h"

namespace explore {

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

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 29) * 0xbf58'476d'1ce4'e5b9;
  return x ^ x >> 32;
}

}  // namespace

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
/// steps does not decide the time, the processes that are held, and the passes
/// that may be made without a reason. These are added.
std::uint64_t World::signature() const {
  std::uint64_t sum = order_.signature() + mixed(time_ + 1);
  for (const auto& task : tasks_) {
    if (task->wait.kind == Wait::Kind::kYield && !is_ready(*task)) {
      sum += mixed(task->number + 1000);
    }
    if (may_pass(*task)) {
      sum += mixed(task->number + 3000);
    }
  }
  for (const std::size_t chain : flying_) {
    if (is_held(chains_[chain])) {
      sum += mixed(static_cast<std::uint64_t>(chains_[chain].rank) + 2000);
    }
  }
  return sum;
}

/// The default order: the rank that went on last goes on; its programs before
/// its chains, and these in the order of posting, and the library's thread
/// last. When it cannot go on, any other rank may at no cost.
/// Progress steps without a reason are no choice where no other process can go
/// on.
void World::collect(std::vector<Choice>& choices) {
  choices.clear();
  bool has_reason = false;
  for (int turn = 0; turn < ranks(); ++turn) {
    const int rank = (last_strand_ + turn) % ranks();
    const std::size_t before = choices.size();
    for (const auto& task : tasks_) {
      if (task->rank == rank && task->program >= 0 && is_ready(*task)) {
        choices.push_back({task->number, rank, 0});
      }
    }
    for (const std::size_t chain : flying_) {
      if (chains_[chain].rank == rank && may_step(chains_[chain])) {
        choices.push_back({number_of(chain), rank, 0});
      }
    }
    has_reason =
        has_reason || choices.size() != before || is_ready(library(rank));
    if (is_ready(library(rank)) || may_pass(library(rank))) {
      choices.push_back({library(rank).number, rank, 0});
    }
    const bool is_free = turn == 0 || choices.front().strand != last_strand_;
    for (std::size_t i = before; i < choices.size(); ++i) {
      choices[i].cost = i == before && is_free ? 0 : 1;
    }
  }
  if (!has_reason) {
    choices.clear();
  }
}

bool World::is_over() const {
  return flying_.empty() &&
         std::all_of(tasks_.begin(), tasks_.end(), [](const auto& task) {
           return task->program < 0 || task->wait.kind == Wait::Kind::kOver;
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
    passes_ += is_ready(*tasks_[process]) ? 0 : 1;
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
  for (const auto& task : tasks_) {
    if (task->rank == rank) {
      task->wait.kind = Wait::Kind::kOver;
    }
  }
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
    order_.begin(task.number);
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
      return (wait.is_signalled || mode_.is_lively) &&
             *wait.word != wait.unlike;
    case Wait::Kind::kEvent: return state.events != wait.seen;
    case Wait::Kind::kYield: return steps_ - passes_ != wait.seen;
    case Wait::Kind::kMutex: return *static_cast<const int*>(wait.mutex) == 0;
    case Wait::Kind::kBarrier: return barriers_ != wait.seen;
    case Wait::Kind::kSteps:
      return state.events != state.events_seen && !state.steps.empty();
    case Wait::Kind::kOver: return false;
  }
  return false;
}

/// A sleeping thread of the program goes on when it has the role of the poller.
/// The library's thread keeps this role while it is in a progress step, also
/// while that spins for a lock.
bool World::lacks_role(const Task& task) const {
  const Wait::Kind kind = task.wait.kind;
  const int thread = task.rank + ranks();  // library(task.rank)
  const Wait::Kind step = tasks_[static_cast<std::size_t>(thread)]->wait.kind;
  return task.program >= 0 &&
         (kind == Wait::Kind::kHandle || kind == Wait::Kind::kWord ||
          kind == Wait::Kind::kEvent) &&
         (step == Wait::Kind::kYield || step == Wait::Kind::kMutex);
}

bool World::is_ready(const Task& task) const {
  const Wait::Kind kind = task.wait.kind;
  return (!lacks_role(task) && (wait_over(task) || task.wait.is_due)) ||
         (is_ending_ && kind != Wait::Kind::kOver &&
          kind != Wait::Kind::kSteps);
}

/// Whether the library's thread may make a pass without an event. It makes one
/// between two steps that are no such passes, or two ranks would go on so for
/// ever.
bool World::may_pass(const Task& task) const {
  return mode_.is_lively && task.wait.kind == Wait::Kind::kSteps &&
         task.wait.seen != steps_ - passes_ &&
         !state_[static_cast<std::size_t>(task.rank)].steps.empty();
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
    wait.seen = steps_ - passes_;
    block(wait);
  }
}

}  // namespace explore
