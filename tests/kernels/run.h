// One schedule: threads as fibers, of which one runs up to its next operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "explore/contention.h"
#include "explore/fiber.h"
#include "explore/world.h"
#include "kernels/memory_model.h"
#include "kernels/race_detector.h"

namespace kernels {

using explore::Chooser;
using explore::End;

/// A line of the table of a schedule.
struct Line {
  Thread thread = 0;
  std::string operation;
  std::string place;  ///< Name of the memory.
  std::string values;
  const void* code = nullptr;  ///< Where the product's code is.
};

/// The threads of a program, and their memory. The instrumentation calls it for
/// each operation of the thread that runs. One object in a process.
///
/// Each operation on memory that several threads access is a scheduling point:
/// the thread suspends itself in front of it. A thread that waits goes on when
/// its wait can have ended.
class Run {
 public:
  Run();

  /// Runs a schedule. Returns an empty text, or the failure.
  std::string run(std::size_t threads,
                  const std::function<void(Thread)>& body,
                  const std::function<void()>& check,
                  Chooser& chooser,
                  End& end);

  explore::Contention& contention() { return contention_; }

  /// Lines of the next schedule go there; null: nowhere.
  void record(std::vector<Line>* table) { table_ = table; }

  /// An operation on memory: its thread, and the choice of a value in it.
  struct Step {
    Thread thread = 0;
    std::size_t choice = 0;
  };

  /// The operations of the schedule so far, or of the last one.
  const std::vector<Step>& steps() const { return taken_; }

  /// Whether instrumented code of a thread runs, and not the explorer's.
  bool is_in_thread() const { return running_ != kNone && !is_inside_; }

  void set_core(Thread thread, int core) { cores_[thread] = core; }

  int core() const { return cores_[running_]; }

  void fail(const std::string& what);
  void name(std::uintptr_t begin, std::size_t bytes, std::string name);

  void forget_names() { names_.clear(); }

  /// A table is recorded. Names cost more than a schedule does.
  bool wants_names() const { return table_ != nullptr; }

  // ---- For the instrumentation: is_in_thread() holds ----------------------

  std::uint64_t load(std::uintptr_t address,
                     std::size_t size,
                     Order order,
                     const void* code);
  void store(std::uintptr_t address,
             std::size_t size,
             std::uint64_t value,
             Order order,
             const void* code);

  /// `next` makes the new value of the old one.
  template <typename Next>
  std::uint64_t exchange(std::uintptr_t address,
                         std::size_t size,
                         Order order,
                         const char* what,
                         const void* code,
                         Next next) {
    const Inside inside(*this);
    const std::size_t location = reach(address, size, true, code);
    const std::uint64_t old = model_.store_at(location, 0).value;
    finish_exchange(location, old, next(old), order, what);
    return old;
  }

  /// Writes the value read to `expected`, and returns whether it was equal.
  bool compare_exchange(std::uintptr_t address,
                        std::size_t size,
                        std::uint64_t& expected,
                        std::uint64_t value,
                        Order order,
                        Order failure,
                        bool is_weak,
                        const void* code);
  void fence(Order order, const void* code);
  void plain(std::uintptr_t address,
             std::size_t size,
             bool is_write,
             const void* code);

  void lock(std::uintptr_t mutex, const void* code);
  bool try_lock(std::uintptr_t mutex, const void* code);
  void unlock(std::uintptr_t mutex, const void* code);
  /// False: the word has another value. `limit_ns` below 0: none.
  enum class Slept { kWoken, kUnlike, kTimedOut };
  Slept futex_wait(std::uintptr_t word,
                   std::uint32_t expected,
                   std::int64_t limit_ns,
                   const void* code);
  int futex_wake(std::uintptr_t word, int count, const void* code);
  void fence_all_threads(const void* code);
  void yield(const void* code);
  /// A datagram was sent, or is looked for: the kernel synchronises the two.
  void note_datagram(const void* code);
  void look_for_datagram(const void* code);

  /// Sleeps until a datagram is sent after `seen`. False: the time is over.
  std::uint64_t datagrams() const { return datagrams_; }

  bool wait_for_datagram(std::uint64_t seen,
                         std::int64_t limit_ns,
                         const void* code);
  /// Waits until the thread that runs the started function has ended.
  void join_started(const void* code);

  /// The product starts a thread. It begins in run_started().
  void adopt(std::function<void()> work) { started_ = std::move(work); }

  void run_started();
  [[noreturn]] void stop_thread(const std::string& why);

  std::uint64_t now_ns() const { return now_ns_; }

 private:
  static constexpr Thread kNone = ~Thread{0};

  enum class Wait : std::uint8_t {
    kReady,
    kSpins,   ///< Until another thread has written.
    kYields,  ///< Spins, and time passes when all threads wait.
    kSleeps,  ///< Until it is woken.
    kLocks,   ///< Until the mutex is free.
    kPolls,   ///< Until a datagram has been sent.
    kOver
  };

  /// A location at which a thread looks again and again.
  struct Look {
    std::size_t location = 0;
    std::uint64_t number = 0;  ///< The number of the store that it has read.
    int count = 0;
  };

  struct State {
    explore::Fiber fiber;
    std::uintptr_t stack_top = 0;  ///< An address at the begin of its stack.
    Wait wait = Wait::kOver;
    std::uintptr_t address = 0;  ///< The mutex or the futex.
    std::int64_t limit_ns = -1;
    bool has_timed_out = false;
    std::uint64_t seen = 0;         ///< Count of writes at the begin.
    int turns = 0;                  ///< Waits since another thread has written.
    int patience = 0;               ///< Looks that do not wait.
    int stores = 0;                 ///< Plain ones, since its last own write.
    std::vector<std::byte> locals;  ///< Its thread-local variables.
    std::vector<Look> looks;        ///< Since its last own write.
  };

  /// Code of the explorer runs while it lives.
  class Inside {
   public:
    explicit Inside(Run& run) : run_(run) { run_.set_inside(true); }

    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    ~Inside() {
      run_.model_.end_step();
      run_.set_inside(false);
    }

   private:
    Run& run_;
  };

  void set_inside(bool is_inside);

  State& me() { return *states_[running_]; }

  void suspend();
  void pause_at(std::uintptr_t address, bool is_write);
  std::size_t reach(std::uintptr_t address,
                    std::size_t size,
                    bool is_write,
                    const void* code);
  void begin_call(std::uintptr_t address, const void* code);
  void begin_step();
  std::size_t reach_look(std::uintptr_t address,
                         std::size_t size,
                         bool is_write,
                         const void* code);
  bool is_spinning(std::size_t location) const;
  void wait_if_spinning(std::size_t location, const void* code);
  bool has_table_line() const;
  void note_look(std::size_t location, std::uint64_t number);
  void note_write();
  std::size_t choose_value(std::size_t count, std::uint64_t what);
  void finish_exchange(std::size_t location,
                       std::uint64_t old,
                       std::uint64_t value,
                       Order order,
                       const char* what);
  void block(Wait wait, std::uintptr_t address);
  bool is_ready(const State& state) const;
  std::uint64_t signature() const;
  Thread choose_thread(Chooser& chooser, End& end);
  bool release_waiting(std::vector<explore::Choice>& choices);
  void add_line(const std::string& operation,
                const std::string& values,
                std::uintptr_t address);

  struct Name {
    std::uintptr_t begin;
    std::size_t bytes;
    std::string name;
  };

  const Name* find_name(std::uintptr_t address) const;
  std::string name_of(std::uintptr_t address) const;

  struct Mutex {
    std::uintptr_t address;
    bool is_locked;
  };

  bool& is_locked(std::uintptr_t mutex);

  std::vector<std::unique_ptr<State>> states_;
  std::size_t threads_ = 0;
  Thread running_ = kNone;
  Thread last_ = kNone;  ///< The thread of the last step.
  bool is_inside_ = true;
  Chooser* chooser_ = nullptr;
  bool is_cut_ = false;  ///< The chooser has ended the schedule.
  MemoryModel model_;
  RaceDetector races_;
  explore::Contention contention_;
  std::vector<Mutex> mutexes_;
  std::vector<Name> names_;
  std::array<int, kMostThreads> cores_{};
  std::function<void()> started_;
  Thread started_thread_ = kNone;
  std::uint64_t datagrams_ = 0;
  std::span<std::byte> locals_;  ///< Thread-local variables of the program.
  std::uint64_t writes_ = 0;
  std::vector<Step> taken_;
  std::uint64_t now_ns_ = 0;
  std::string wrong_;
  std::vector<Line>* table_ = nullptr;
  const void* code_ = nullptr;  ///< The code of the operation under way.
  std::uintptr_t address_ = 0;  ///< The address of the operation under way.
};

/// The schedule of this process.
Run& the_run();

}  // namespace kernels
