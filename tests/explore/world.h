// A job of ranks that are fibers of this process, below acp.h and
// acp/extension.h. docs/explorer.md has the states and the rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "acp/extension.h"
#include "explore/contention.h"
#include "explore/fiber.h"
#include "explore/happens_before.h"
#include "explore/memory.h"
#include "explore/mode.h"
#include "explore/rank_image.h"
#include "explore/snapshot.h"
#include "explore/step_watcher.h"
#include "explore/trace.h"

namespace explore {

using Microseconds = std::uint64_t;

/// A point of a schedule at which several processes could go on.
struct Choice {
  std::uint32_t process;
  int strand;  ///< The rank that it belongs to.
  int cost;    ///< 1 when it departs from the default order.
};

/// Decides which process goes on. The first choice is the default.
class Chooser {
 public:
  Chooser() = default;
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;
  virtual ~Chooser() = default;

  /// Returns an index, or kCut to end the schedule here.
  virtual std::size_t choose(const std::vector<Choice>& choices,
                             std::uint64_t signature) = 0;

  static constexpr std::size_t kCut = ~std::size_t{0};
};

enum class End : std::uint8_t {
  kDone,      ///< All programs have ended.
  kCut,       ///< The chooser has ended the schedule.
  kDeadlock,  ///< No process can ever go on.
  kEndless    ///< Too many steps, or too much time.
};

/// The point at which a rank's program is blocked.
struct Wait {
  enum class Kind : std::uint8_t {
    kReady,
    kHandle,  ///< Until a handle is complete.
    kChain,   ///< Until one chain is complete, in acpx_post.
    kWord,    ///< Until a word differs.
    kEvent,   ///< Until the rank has had an event.
    kYield,   ///< Until another process has made a step.
    kMutex,
    kBarrier,
    kSteps,  ///< The library's thread, which waits for work.
    kOver
  };

  Kind kind = Kind::kOver;
  acp_handle_t handle = 0;
  std::size_t chain = 0;
  const std::uint64_t* word = nullptr;
  std::uint64_t unlike = 0;
  void* mutex = nullptr;
  std::uint64_t seen = 0;     ///< Count of steps or barriers at the begin.
  Microseconds deadline = 0;  ///< 0: none.
  bool is_signalled = false;  ///< A signal has come since the begin.
  bool is_due = false;        ///< Time has passed: the waiter looks again.
};

/// The job. One object in a process.
class World {
 public:
  using Settings = std::map<std::string, std::uint64_t>;

  /// `image` is the file of the ranks' code without its number and ending. Each
  /// rank in `threads` has one more thread for it.
  World(int ranks,
        const std::string& image,
        Settings settings,
        const std::vector<int>& threads = {});
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  static World& get() { return *s_world; }

  int ranks() const { return memory_.ranks(); }

  RankImage& image(int rank) {
    return *images_[static_cast<std::size_t>(rank)];
  }

  Memory& memory() { return memory_; }

  const Memory& memory() const { return memory_; }

  /// Starts the modules of all ranks.
  void start_job();

  /// Runs a function on all ranks, one after the other wherever that is
  /// possible.
  [[nodiscard]] End run_plainly(const std::function<void(int)>& body);

  /// Runs a function on all ranks with a network of `mode`. A schedule may have
  /// any length. For programs that are too long to be explored.
  End run_long(const std::function<void(int)>& body,
               const Mode& mode,
               Chooser& chooser);

  /// Lets each schedule begin from the present state.
  void take_snapshot();

  std::size_t snapshot_pages() const { return snapshot_.pages(); }

  /// Sets the properties of the network from now on.
  void set_mode(const Mode& mode) { mode_ = mode; }

  /// Words of a rank's memory that its own code reads and writes without the
  /// library. `offset` is that in the module.
  void add_direct(int module, std::uint64_t offset, std::uint64_t bytes);

  /// Words of a rank's memory that no other rank touches.
  void add_private(int module, std::uint64_t offset, std::uint64_t bytes);

  /// Puts the snapshot back and runs one schedule of the programs. Programs 0
  /// to ranks() - 1 are those of the ranks, and then those of further threads.
  End run(const std::function<void(int)>& body, Chooser& chooser);

  /// The steps of the newest schedule; null: they are not recorded.
  void record(Trace* trace) { trace_ = trace; }

  /// Tells `watcher` about the steps of schedules from now on.
  void watch(StepWatcher* watcher) { watcher_ = watcher; }

  Contention& contention() { return contention_; }

  /// The process of each single step of the newest schedule. Followed with all
  /// words contended, they give this schedule again.
  const std::vector<std::uint32_t>& processes() const { return processes_; }

  /// Steps of the newest schedule so far.
  std::uint64_t steps() const { return steps_; }

  /// A rank that stops before its n-th step, counted from 1; n = 0: none.
  void kill(int rank, std::uint64_t step) {
    victim_ = rank;
    victim_steps_ = step;
  }

  /// The number of the step before which the rank of kill() has stopped.
  std::uint64_t death_step() const { return victim_done_ + 1; }

  bool is_dead(int rank) const {
    return state_[static_cast<std::size_t>(rank)].is_dead;
  }

  bool is_ending() const { return is_ending_; }

  /// An operation of the running program begins or ends. A schedule in which an
  /// operation ends before another begins is not equal to a schedule in which
  /// both overlap.
  void note_begin();
  void note_end();

  // ---- For the functions of acp.h and acp/extension.h ---------------------

  int rank() const;
  int& error();
  acp_handle_t post(const acpx_op_t* ops,
                    std::size_t count,
                    acp_handle_t order);
  acp_handle_t copy(acp_ga_t to,
                    acp_ga_t from,
                    std::size_t bytes,
                    acp_handle_t order,
                    const acpx_op_t* behind);
  int complete(acp_handle_t handle, int timeout_ms);
  bool is_complete(acp_handle_t handle) const;
  int wait_word(acp_ga_t word,
                std::uint64_t unlike,
                int timeout_ms,
                std::uint64_t* value);
  int wait_until(int (*done)(void*), void* argument, int timeout_ms);
  int barrier();
  void yield();
  void lock(void* mutex);
  bool is_in_step() const;
  bool add_step(int (*step)(void*), void* argument);
  bool remove_step(int (*step)(void*), void* argument);
  void hurry();
  acp_ga_t module_ga(int module, int rank) const;
  int setting(const char* name, std::uint64_t* value) const;

  Microseconds time() const { return time_; }

  int add_module(const acpx_module_t* module);

 private:
  struct Step {
    int (*function)(void*);
    void* argument;
  };

  /// A fiber: a thread of a rank's program, or the library's thread there.
  struct Task {
    Fiber fiber;
    std::uint32_t number = 0;  ///< In tasks_.
    int rank = 0;
    int program = -1;  ///< Number of its program; -1: the library's thread.
    Wait wait;
    int error = 0;
    std::vector<std::byte> thread_variables;
    /// The newest chain, to recognise a loop.
    std::vector<acpx_op_t> newest;
    unsigned repeats = 0;
  };

  /// The part of a rank that changes while a schedule runs.
  struct RankState {
    acp_handle_t issued = 0;
    std::vector<acp_handle_t> open;  ///< Handles that are not complete.
    std::vector<Step> steps;
    std::uint64_t events = 0;       ///< Signals and completions.
    std::uint64_t events_seen = 0;  ///< Events that the steps have seen.
    bool has_plain_event = false;   ///< Another rank has stored, unsignalled.
    std::uint64_t writes = 0;       ///< Steps of this rank that wrote.
    bool is_dead = false;
    int failure = 0;  ///< Code of an operation, not collected yet.
    acp_handle_t failed = 0;
  };

  struct Chain {
    int rank = 0;
    Task* poster = nullptr;
    acp_handle_t handle = 0;
    acp_handle_t order = 0;
    std::vector<acpx_op_t> ops;
    bool is_copy = false;  ///< One step, between any two ranks.
    std::size_t step = 0;
    std::size_t done = 0;                 ///< Units of a torn copy.
    std::size_t looked_at = 0;            ///< Step that `seen` is about.
    std::size_t unit = 8;                 ///< Bytes that are copied at once.
    std::vector<std::uint32_t> arranged;  ///< Units in the order of copying.
    std::vector<bool> seen;               ///< These units that are contended.
    bool has_arrived = false;   ///< Results are there, the handle is complete.
    bool is_held = false;       ///< It repeats the chain before, see hold().
    std::uint64_t held_at = 0;  ///< foreign_writes() when it was posted.
    int failure = 0;
    std::vector<std::byte> results;

    struct Result {
      std::byte* to;
      std::size_t from;
      std::size_t bytes;
    };

    std::vector<Result> targets;
  };

  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };

  // world.cc
  void reset();
  void start(const std::function<void(int)>& body);
  void begin_thread(Task& task, const std::function<void(int)>& body);

  // schedule.cc
  End go_on(Chooser& chooser);
  void collect(std::vector<Choice>& choices);
  bool is_over() const;
  bool pass_time();
  void execute(std::uint32_t process);
  void run_task(Task& task);
  void block(const Wait& wait);
  bool lacks_role(const Task& task) const;
  bool is_ready(const Task& task) const;
  bool may_pass(const Task& task) const;
  bool may_step(const Chain& chain) const;
  void run_steps(Task& task);

  Task& program(int rank) { return *tasks_[static_cast<std::size_t>(rank)]; }

  Task& library(int rank) {
    const int number = rank + ranks();
    return *tasks_[static_cast<std::size_t>(number)];
  }

  /// The process of a chain. Processes of tasks come first.
  std::uint32_t number_of(std::size_t chain) const {
    return static_cast<std::uint32_t>(tasks_.size() + chain);
  }

  // Words that stand for state outside of memory.
  static constexpr std::uint64_t kClockWord = 1001;
  static constexpr std::uint64_t kBarrierWord = 1002;

  /// The word for the state of a rank.
  std::uint64_t local_word(int rank) const {
    return static_cast<std::uint64_t>(rank) + 1;
  }

  /// The number by which Contention knows who uses a word: a rank, or a further
  /// thread of one.
  static int user_of(const Chain& chain) {
    return chain.poster->program >= 0 ? chain.poster->program : chain.rank;
  }

  Microseconds deadline_of(int timeout_ms) const;
  std::uint64_t signature() const;

  std::uint64_t foreign_writes(int rank) const {
    return writes_ - state_[static_cast<std::size_t>(rank)].writes;
  }

  bool is_held(const Chain& chain) const {
    return chain.is_held && foreign_writes(chain.rank) == chain.held_at;
  }

  bool wait_over(const Task& task) const;
  void die(int rank);
  void note_step(std::uint32_t process, int rank);
  void load_variables(Task& task);

  // posting.cc
  std::size_t new_chain(acp_handle_t order);
  acp_handle_t fly(std::size_t number);
  void hold(Chain& chain);
  int check(const acpx_op_t& op) const;

  // chains.cc
  void step_chain(std::size_t number);
  bool do_step(Chain& chain, std::size_t number);
  bool copy_bytes(Chain& chain,
                  std::byte* to,
                  const std::byte* from,
                  std::size_t bytes);
  void change_word(Chain& chain, const acpx_op_t& op, std::byte* at);
  void take_result(Chain& chain,
                   const acpx_op_t& op,
                   const void* from,
                   std::size_t bytes);
  void arrive(std::size_t number);
  void arrange(Chain& chain, Arrangement arrangement) const;
  void look_at_units(Chain& chain) const;
  bool is_visible(Chain& chain) const;

  // accesses.cc
  void touch(const std::byte* at, std::size_t bytes, bool is_write, int user);
  bool is_contended(const std::byte* at, std::size_t bytes) const;
  bool is_in(const std::vector<Range>& ranges,
             const std::byte* at,
             std::size_t bytes) const;
  void tell(int rank, bool is_signal);
  int rank_at(const std::byte* at) const;

  static World* s_world;

  Memory memory_;
  Settings settings_;
  std::vector<std::unique_ptr<RankImage>> images_;
  std::vector<std::vector<acpx_module_t>>
      modules_;  ///< One list for each rank.
  std::vector<std::uint64_t> module_offsets_;
  int adding_ = -1;  ///< The rank whose modules are being added.
  Snapshot snapshot_;
  Mode mode_;
  std::vector<Range> direct_;
  std::vector<Range> private_;
  /// The programs of the ranks, the library's threads, and further threads.
  std::vector<std::unique_ptr<Task>> tasks_;
  std::vector<RankState> state_;
  std::vector<RankState> saved_state_;
  // Thread-local variables of each image: of its program at the snapshot, and
  // of a new thread.
  std::vector<std::vector<std::byte>> saved_variables_;
  std::vector<std::vector<std::byte>> fresh_variables_;
  std::vector<Task*> loaded_;  ///< Whose thread variables each image has.
  std::vector<Chain> chains_;
  std::size_t chain_count_ = 0;
  std::vector<std::size_t> flying_;
  Task* running_ = nullptr;
  HappensBefore order_;
  Contention contention_;
  std::vector<std::uint32_t> processes_;
  bool is_long_ = false;      ///< Steps and time have no limit.
  bool is_ordering_ = false;  ///< Steps are entered into order_.
  Trace* trace_ = nullptr;
  StepWatcher* watcher_ = nullptr;
  std::uint64_t steps_ = 0;
  std::uint64_t passes_ = 0;  ///< Steps that were passes without a reason.
  std::uint64_t writes_ = 0;  ///< Steps that wrote.
  std::uint64_t barriers_ = 0;
  int at_barrier_ = 0;
  Microseconds time_ = 0;
  std::uint32_t last_process_ = 0;
  int last_strand_ = 0;
  int victim_ = -1;
  std::uint64_t victim_steps_ = 0;
  std::uint64_t victim_done_ = 0;
  bool is_ending_ = false;
  std::vector<Choice> choices_;
};

}  // namespace explore
