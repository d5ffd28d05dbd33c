// Runs threads as fibers and does their operations on memory. Called by the
// search, and by the instrumentation within a thread.
#include "kernels/run.h"

#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "explore/arena.h"
#include "kernels/program.h"

namespace kernels {

namespace {

/// A thread that has read one store so often, without a store of its own,
/// spins.
constexpr int kSpinLooks = 2;
/// Looks of a thread that spins on although memory does not change. A bounded
/// loop of the product ends within them.
constexpr int kPatience = 300;
/// After so many plain stores a thread that reads nothing new spins as well.
constexpr int kMostStores = 3;
/// So often a thread that yields goes on without a change of memory. It may
/// look at the time, which passes then.
constexpr int kMostYields = 100;
constexpr std::uint64_t kYieldNs = 1'000;
/// A sleep of at most so long ends by its limit. The end of a longer one hides
/// a lost wake-up, so it never ends by itself.
constexpr std::int64_t kShortSleep = 2'000'000;
constexpr std::size_t kMostSteps = 5'000;
/// Objects of the kernel that threads synchronise by.
constexpr std::uintptr_t kDatagrams = 8;
constexpr std::uintptr_t kStarted = 16;
constexpr std::size_t kStackBytes = std::size_t{256} << 10;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ x >> 27) * 0x94d0'49bb'1331'11eb;
  return x ^ x >> 31;
}

const char* text_of(Order order) {
  switch (order) {
    case Order::kRelaxed: return "relaxed";
    case Order::kConsume: return "consume";
    case Order::kAcquire: return "acquire";
    case Order::kRelease: return "release";
    case Order::kAcqRel: return "acq_rel";
    case Order::kSeqCst: return "seq_cst";
  }
  return "?";
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, value < 4096 ? "%llu" : "%#llx",
                static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Run& the_run() {
  static Run run;
  return run;
}

void expect(bool condition, const char* invariant) {
  if (!condition) {
    the_run().fail(invariant);
  }
}

void name_memory(const volatile void* begin,
                 std::size_t bytes,
                 const std::string& name) {
  if (the_run().wants_names()) {
    const explore::InRank outside(false);
    the_run().name(reinterpret_cast<std::uintptr_t>(begin), bytes, name);
  }
}

void set_core(std::size_t thread, int core) {
  the_run().set_core(thread, core);
}

void run_started_thread() {
  the_run().run_started();
}

std::uint64_t virtual_now_ns() {
  return the_run().now_ns();
}

bool wants_names() {
  return the_run().wants_names();
}

namespace {

/// The thread-local variables of the program, of which there is one copy: all
/// fibers run in one thread.
std::span<std::byte> find_locals() {
  std::span<std::byte> found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* result) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = object->dlpi_phdr[i];
          if (part.p_type == PT_TLS && object->dlpi_tls_data != nullptr) {
            *static_cast<std::span<std::byte>*>(result) = {
                static_cast<std::byte*>(object->dlpi_tls_data), part.p_memsz};
          }
        }
        return 1;  // The program comes first.
      },
      &found);
  return found;
}

}  // namespace

Run::Run() : locals_(find_locals()) {}

// ---- Threads ----------------------------------------------------------------

void Run::set_inside(bool is_inside) {
  is_inside_ = is_inside;
  explore::g_is_in_rank = !is_inside;
}

void Run::suspend() {
  me().fiber.suspend();
  set_inside(true);
}

void Run::block(Wait wait, std::uintptr_t address) {
  State& state = me();
  state.wait = wait;
  state.address = address;
  state.seen = writes_;
  state.has_timed_out = false;
  suspend();
  state.wait = Wait::kReady;
}

void Run::fail(const std::string& what) {
  if (wrong_.empty()) {
    wrong_ = what;
  }
  if (is_in_thread()) {
    set_inside(true);
    for (;;) {
      suspend();  // The schedule ends here.
    }
  }
}

void Run::stop_thread(const std::string& why) {
  fail(why);
  std::abort();
}

bool Run::is_ready(const State& state) const {
  switch (state.wait) {
    case Wait::kReady: return true;
    case Wait::kSpins:
    case Wait::kYields: return writes_ != state.seen;
    case Wait::kLocks:
      return std::none_of(mutexes_.begin(), mutexes_.end(),
                          [&](const Mutex& m) {
                            return m.address == state.address && m.is_locked;
                          });
    case Wait::kPolls: return datagrams_ != state.seen;
    case Wait::kSleeps:
    case Wait::kOver: return false;
  }
  return false;
}

/// Two schedules with equal signatures have one future. The waits count,
/// because a thread that spins is ready or not by the order of the steps.
std::uint64_t Run::signature() const {
  std::uint64_t sum = model_.signature();
  for (Thread thread = 0; thread < threads_; ++thread) {
    const State& state = *states_[thread];
    sum += mixed(thread * 64 + static_cast<std::uint64_t>(state.wait) * 8 +
                 (is_ready(state) ? 4 : 0) + (state.patience > 0 ? 2 : 0) + 1);
  }
  return sum;
}

/// The threads that go on without a change, when no other thread can: at first
/// threads that spin or yield, then threads whose short sleep ends.
bool Run::release_waiting(std::vector<explore::Choice>& choices) {
  for (Thread thread = 0; thread < threads_; ++thread) {
    const State& state = *states_[thread];
    if ((state.wait == Wait::kSpins && state.turns == 0) ||
        (state.wait == Wait::kYields && state.turns < kMostYields)) {
      choices.push_back(
          {static_cast<std::uint32_t>(thread), static_cast<int>(thread), 0});
    }
  }
  for (Thread thread = 0; choices.empty() && thread < threads_; ++thread) {
    State& state = *states_[thread];
    if ((state.wait == Wait::kSleeps || state.wait == Wait::kPolls) &&
        state.limit_ns >= 0 && state.limit_ns <= kShortSleep) {
      choices.push_back(
          {static_cast<std::uint32_t>(thread), static_cast<int>(thread), 0});
    }
  }
  return !choices.empty();
}

/// The default is the thread of the last step. A thread that spins may go on as
/// well, because loops with a bound end without a change.
Thread Run::choose_thread(Chooser& chooser, End& end) {
  std::vector<explore::Choice> choices;
  const bool is_last_ready = last_ != kNone && is_ready(*states_[last_]);
  const auto add = [&](Thread thread, int cost) {
    choices.push_back(
        {static_cast<std::uint32_t>(thread), static_cast<int>(thread), cost});
  };
  if (is_last_ready) {
    add(last_, 0);
  }
  bool is_over = true;
  for (Thread thread = 0; thread < threads_; ++thread) {
    is_over = is_over && states_[thread]->wait == Wait::kOver;
    if (is_ready(*states_[thread]) && !(is_last_ready && thread == last_)) {
      add(thread, is_last_ready ? 1 : 0);
    }
  }
  if (is_over) {
    end = End::kDone;
    return kNone;
  }
  if (choices.empty()) {
    if (!release_waiting(choices)) {
      end = End::kDeadlock;
      return kNone;
    }
  } else {
    for (Thread thread = 0; thread < threads_; ++thread) {
      const State& state = *states_[thread];
      if (state.wait == Wait::kSpins && !is_ready(state) && state.turns == 0) {
        add(thread, 1);
      }
    }
  }
  std::size_t index = 0;
  if (choices.size() > 1) {
    index = chooser.choose(choices, signature());
  }
  if (index == Chooser::kCut) {
    end = End::kCut;
    return kNone;
  }
  return choices[index].process;
}

/// A fiber that is not over at the end is forgotten, and its memory with it.
std::string Run::run(std::size_t threads,
                     const std::function<void(Thread)>& body,
                     const std::function<void()>& check,
                     Chooser& chooser,
                     End& end) {
  while (states_.size() < threads) {
    states_.push_back(std::make_unique<State>());
  }
  threads_ = threads;
  model_.clear(threads);
  races_.clear();
  mutexes_.clear();
  chooser_ = &chooser;
  is_cut_ = false;
  taken_.clear();
  writes_ = datagrams_ = 0;
  started_thread_ = kNone;
  now_ns_ = 1'000'000'000;
  wrong_.clear();
  running_ = last_ = kNone;
  const std::vector<std::byte> locals(locals_.begin(), locals_.end());
  for (Thread thread = 0; thread < threads; ++thread) {
    State& state = *states_[thread];
    state.wait = Wait::kReady;
    state.turns = state.patience = 0;
    state.looks.clear();
    state.locals = locals;
    state.fiber.start([this, thread, &body, &state] {
      char top = 0;
      state.stack_top = reinterpret_cast<std::uintptr_t>(&top);
      set_inside(false);
      body(thread);
      set_inside(true);
      state.wait = Wait::kOver;
      ++writes_;  // A thread may wait for the end.
    });
  }
  for (;;) {
    const Thread next = choose_thread(chooser, end);
    if (next == kNone) {
      break;
    }
    State& state = *states_[next];
    if (!is_ready(state)) {
      ++state.turns;
      state.patience = state.wait == Wait::kSpins ? kPatience : 0;
      now_ns_ += kYieldNs;
      if (state.wait != Wait::kSpins && state.wait != Wait::kYields) {
        state.has_timed_out = true;
        now_ns_ += static_cast<std::uint64_t>(state.limit_ns);
      }
    } else if (state.wait != Wait::kReady) {
      state.turns = 0;
    }
    running_ = last_ = next;
    std::ranges::copy(state.locals, locals_.begin());
    state.fiber.resume();
    std::ranges::copy(locals_, state.locals.begin());
    std::ranges::copy(locals, locals_.begin());
    running_ = kNone;
    if (is_cut_ || !wrong_.empty()) {
      end = is_cut_ ? End::kCut : End::kEndless;
      break;
    }
  }
  set_inside(true);
  if (end == End::kDone && wrong_.empty()) {
    explore::g_is_in_rank = true;
    check();
    explore::g_is_in_rank = false;
  } else {
    model_.restore();
  }
  if (end == End::kDeadlock) {
    wrong_ = "a thread waits for ever: a wake-up or a store is lost";
  } else if (end == End::kEndless && wrong_.empty()) {
    wrong_ = "a thread does not end";
  }
  return end == End::kCut ? "" : wrong_;
}

// ---- Scheduling points
// --------------------------------------------------------

void Run::begin_call(std::uintptr_t address, const void* code) {
  address_ = address;
  code_ = code;
}

void Run::begin_step() {
  if (taken_.size() > kMostSteps) {
    wrong_ = "a thread does not end";
    for (;;) {
      suspend();
    }
  }
  taken_.push_back({running_, 0});
  model_.begin_step(running_);
}

/// Only memory that several threads access needs a choice. The set of such
/// addresses is learnt.
void Run::pause_at(std::uintptr_t address, bool is_write) {
  contention_.note(address, static_cast<int>(running_), is_write);
  if (contention_.is_contended(address)) {
    suspend();
  }
}

std::size_t Run::reach(std::uintptr_t address,
                       std::size_t size,
                       bool is_write,
                       const void* code) {
  pause_at(address, is_write);
  begin_call(address, code);
  begin_step();
  if (!races_.is_ordered(running_, model_.view(running_), address, size,
                         is_write)) {
    set_inside(false);
    stop_thread("an atomic access and a plain access race: " +
                name_of(address));
  }
  return model_.find(address, size);
}

std::size_t Run::choose_value(std::size_t count, std::uint64_t what) {
  if (count <= 1) {
    return 0;
  }
  std::vector<explore::Choice> choices;
  for (std::size_t i = 0; i < count; ++i) {
    choices.push_back({static_cast<std::uint32_t>(running_),
                       static_cast<int>(running_), i == 0 ? 0 : 1});
  }
  const std::size_t index = chooser_->choose(
      choices, signature() + mixed(0x1000 + what * kMostThreads + running_));
  if (index == Chooser::kCut) {
    is_cut_ = true;
    for (;;) {
      suspend();
    }
  }
  taken_.back().choice = index;
  return index;
}

// ---- Loops
// --------------------------------------------------------------------

/// Whether a look at the location would bring the values of the last two. A
/// thread that looks at several locations, and has missed a newer store of one
/// of them, does not spin.
bool Run::is_spinning(std::size_t location) const {
  bool is_repeated = false;
  for (const Look& look : states_[running_]->looks) {
    if (look.count < kSpinLooks) {
      continue;
    }
    if (look.number != model_.store_at(look.location, 0).number) {
      return false;
    }
    is_repeated = is_repeated || look.location == location;
  }
  return is_repeated;
}

/// Counts looks at one store. A thread that has read a new store does not
/// spin.
void Run::note_look(std::size_t location, std::uint64_t number) {
  State& state = me();
  for (Look& look : state.looks) {
    if (look.location == location && look.number == number) {
      ++look.count;
      return;
    }
  }
  std::erase_if(state.looks,
                [&](const Look& look) { return look.location == location; });
  for (Look& look : state.looks) {
    look.count = 0;
  }
  state.looks.push_back({location, number, 1});
  state.patience = 0;
}

void Run::note_write() {
  ++writes_;
  me().looks.clear();
  me().patience = 0;
  me().stores = 0;
}

// ---- Operations
// ---------------------------------------------------------------

/// Begins an operation that looks at a location, for a thread whose patience
/// needs no scheduling point.
std::size_t Run::reach_look(std::uintptr_t address,
                            std::size_t size,
                            bool is_write,
                            const void* code) {
  if (me().patience == 0) {
    return reach(address, size, is_write, code);
  }
  begin_call(address, code);
  begin_step();
  return model_.find(address, size);
}

/// Before a look that would bring the values of the last two: waits until
/// another thread has written, or goes on if the thread has patience.
void Run::wait_if_spinning(std::size_t location, const void* code) {
  State& state = me();
  if (!is_spinning(location)) {
    return;
  }
  if (state.patience > 0) {
    --state.patience;
    return;
  }
  const std::uintptr_t address = address_;
  model_.end_step();
  block(Wait::kSpins, address);
  begin_call(address, code);
  begin_step();
}

std::uint64_t Run::load(std::uintptr_t address,
                        std::size_t size,
                        Order order,
                        const void* code) {
  const Inside inside(*this);
  const std::size_t location = reach_look(address, size, false, code);
  wait_if_spinning(location, code);
  const std::size_t age =
      choose_value(model_.readable(running_, location, order), 1);
  const std::uint64_t value = model_.load(running_, location, age, order);
  note_look(location, model_.store_at(location, age).number);
  if (has_table_line()) {
    add_line(std::string("load ") + text_of(order),
             hex(value) +
                 (age == 0 ? "" : "  (stale by " + std::to_string(age) + ")"),
             address);
  }
  return value;
}

void Run::store(std::uintptr_t address,
                std::size_t size,
                std::uint64_t value,
                Order order,
                const void* code) {
  const Inside inside(*this);
  const std::size_t location = reach(address, size, true, code);
  const std::size_t place =
      choose_value(model_.places(running_, location, order), 2);
  model_.store(running_, location, place, value, order);
  note_write();
  if (table_ != nullptr) {
    add_line(
        std::string("store ") + text_of(order),
        hex(value) + (place == 0 ? ""
                                 : "  (older than " + std::to_string(place) +
                                       " seen by none)"),
        address);
  }
}

void Run::finish_exchange(std::size_t location,
                          std::uint64_t old,
                          std::uint64_t value,
                          Order order,
                          const char* what) {
  model_.exchange(running_, location, value, order);
  note_write();
  if (table_ != nullptr) {
    add_line(std::string(what) + " " + text_of(order),
             hex(old) + " -> " + hex(value), address_);
  }
}

/// Succeeds on the newest store alone. It may fail on an older one, and a weak
/// one without a reason.
bool Run::compare_exchange(std::uintptr_t address,
                           std::size_t size,
                           std::uint64_t& expected,
                           std::uint64_t value,
                           Order order,
                           Order failure,
                           bool is_weak,
                           const void* code) {
  const Inside inside(*this);
  const std::size_t location = reach_look(address, size, true, code);
  if (model_.store_at(location, 0).value != expected) {
    wait_if_spinning(location, code);
  }
  const bool can_succeed = model_.store_at(location, 0).value == expected;
  std::vector<std::size_t> ages = {0};
  for (std::size_t age = 1; age < model_.readable(running_, location, failure);
       ++age) {
    if (model_.store_at(location, age).value != expected) {
      ages.push_back(age);
    }
  }
  const std::size_t choice =
      choose_value(ages.size() + (can_succeed && is_weak ? 1 : 0), 3);
  if (choice == 0 && can_succeed) {
    finish_exchange(location, expected, value, order, "cas");
    return true;
  }
  const std::size_t age = choice < ages.size() ? ages[choice] : 0;
  expected = model_.load(running_, location, age, failure);
  note_look(location, model_.store_at(location, age).number);
  if (has_table_line()) {
    add_line(std::string("cas ") + text_of(failure),
             "fails on " + hex(expected) +
                 (age == 0 ? "" : "  (stale by " + std::to_string(age) + ")"),
             address);
  }
  return false;
}

/// A fence is a scheduling point only if other threads depend on it.
void Run::fence(Order order, const void* code) {
  const Inside inside(*this);
  begin_call(0, code);
  if (order == Order::kSeqCst) {
    suspend();
    begin_call(0, code);
  }
  begin_step();
  model_.fence(running_, order);
  if (table_ != nullptr) {
    add_line(std::string("fence ") + text_of(order), "", 0);
  }
}

void Run::fence_all_threads(const void* code) {
  const Inside inside(*this);
  suspend();
  begin_call(0, code);
  begin_step();
  model_.fence_all();
  if (table_ != nullptr) {
    add_line("membarrier", "a fence in all threads", 0);
  }
}

/// No other thread accesses its stack and its thread-local variables.
void Run::plain(std::uintptr_t address,
                std::size_t size,
                bool is_write,
                const void* code) {
  const State& state = me();
  const auto locals = reinterpret_cast<std::uintptr_t>(locals_.data());
  if ((address < state.stack_top + 4096 &&
       address + kStackBytes > state.stack_top) ||
      address - locals < locals_.size()) {
    return;
  }
  set_inside(true);
  begin_call(address, code);
  const View& view = model_.view(running_);
  const bool is_good =
      races_.access(running_, view, address, size, is_write) &&
      !model_.has_atomic_race(running_, address, size, is_write);
  if (table_ != nullptr && find_name(address) != nullptr) {
    add_line(is_write ? "write" : "read", std::to_string(size) + " bytes",
             address);
  }
  if (is_write) {
    model_.plain_store(running_, address, size);
    // A loop that only looks stores nothing, or the same again and again.
    if (++me().stores <= kMostStores) {
      me().looks.clear();
    }
  }
  set_inside(false);
  if (!is_good) {
    stop_thread("a race: no happens-before between two plain accesses of " +
                name_of(address));
  }
}

bool& Run::is_locked(std::uintptr_t mutex) {
  for (Mutex& known : mutexes_) {
    if (known.address == mutex) {
      return known.is_locked;
    }
  }
  return mutexes_.emplace_back(Mutex{mutex, false}).is_locked;
}

void Run::lock(std::uintptr_t mutex, const void* code) {
  const Inside inside(*this);
  pause_at(mutex, true);
  while (is_locked(mutex)) {
    block(Wait::kLocks, mutex);
  }
  is_locked(mutex) = true;
  begin_call(mutex, code);
  begin_step();
  model_.acquire(running_, mutex);
  note_write();
  if (table_ != nullptr) {
    add_line("lock", "", mutex);
  }
}

bool Run::try_lock(std::uintptr_t mutex, const void* code) {
  const Inside inside(*this);
  pause_at(mutex, true);
  begin_call(mutex, code);
  begin_step();
  const bool is_free = !is_locked(mutex);
  if (is_free) {
    is_locked(mutex) = true;
    model_.acquire(running_, mutex);
    note_write();
  } else {
    model_.depend(mutex);
  }
  if (table_ != nullptr) {
    add_line("try_lock", is_free ? "taken" : "is locked", mutex);
  }
  return is_free;
}

void Run::unlock(std::uintptr_t mutex, const void* code) {
  const Inside inside(*this);
  pause_at(mutex, true);
  begin_call(mutex, code);
  begin_step();
  model_.release(running_, mutex);
  is_locked(mutex) = false;
  note_write();
  if (table_ != nullptr) {
    add_line("unlock", "", mutex);
  }
}

/// The kernel makes a full fence before it compares the word, and another one
/// when the thread runs again. Comparison and sleep are one step.
Run::Slept Run::futex_wait(std::uintptr_t word,
                           std::uint32_t expected,
                           std::int64_t limit_ns,
                           const void* code) {
  const Inside inside(*this);
  const std::size_t location = reach(word, sizeof expected, false, code);
  model_.depend(word);
  model_.fence(running_, Order::kSeqCst);
  const std::size_t age =
      choose_value(model_.readable(running_, location, Order::kRelaxed), 4);
  const auto value = static_cast<std::uint32_t>(
      model_.load(running_, location, age, Order::kRelaxed));
  const bool sleeps = value == expected;
  if (table_ != nullptr) {
    add_line("futex_wait",
             hex(value) + (sleeps ? ": sleeps" : ": goes on, unlike ") +
                 (sleeps ? "" : hex(expected)),
             word);
  }
  if (!sleeps) {
    return Slept::kUnlike;
  }
  model_.end_step();
  me().limit_ns = limit_ns;
  me().looks.clear();
  block(Wait::kSleeps, word);
  begin_call(word, code);
  begin_step();
  model_.depend(word);
  model_.fence(running_, Order::kSeqCst);
  if (table_ != nullptr) {
    add_line("futex_wait", me().has_timed_out ? "its time is over" : "is woken",
             word);
  }
  return me().has_timed_out ? Slept::kTimedOut : Slept::kWoken;
}

int Run::futex_wake(std::uintptr_t word, int count, const void* code) {
  const Inside inside(*this);
  pause_at(word, true);
  begin_call(word, code);
  begin_step();
  model_.depend(word);
  model_.fence(running_, Order::kSeqCst);
  int woken = 0;
  for (Thread thread = 0; thread < threads_ && woken < count; ++thread) {
    State& state = *states_[thread];
    if (state.wait == Wait::kSleeps && state.address == word) {
      state.wait = Wait::kReady;
      ++woken;
    }
  }
  note_write();
  if (table_ != nullptr) {
    add_line("futex_wake", "wakes " + std::to_string(woken), word);
  }
  return woken;
}

void Run::yield(const void* code) {
  const Inside inside(*this);
  begin_call(0, code);
  block(Wait::kYields, 0);
  begin_call(0, code);
  begin_step();
  if (table_ != nullptr) {
    add_line("sched_yield", "", 0);
  }
}

void Run::note_datagram(const void* code) {
  const Inside inside(*this);
  suspend();
  begin_call(0, code);
  begin_step();
  model_.release(running_, kDatagrams);
  ++datagrams_;
  note_write();
  if (table_ != nullptr) {
    add_line("send datagram", "", 0);
  }
}

void Run::look_for_datagram(const void* code) {
  const Inside inside(*this);
  suspend();
  begin_call(0, code);
  begin_step();
  model_.acquire(running_, kDatagrams);
  if (table_ != nullptr) {
    add_line("look for datagram", "", 0);
  }
}

bool Run::wait_for_datagram(std::uint64_t seen,
                            std::int64_t limit_ns,
                            const void* code) {
  const Inside inside(*this);
  State& state = me();
  state.limit_ns = limit_ns;
  state.looks.clear();
  state.wait = Wait::kPolls;
  state.seen = seen;
  state.has_timed_out = false;
  suspend();
  state.wait = Wait::kReady;
  begin_call(0, code);
  begin_step();
  model_.acquire(running_, kDatagrams);
  if (table_ != nullptr) {
    add_line("epoll_wait", state.has_timed_out ? "its time is over" : "wakes",
             0);
  }
  return !state.has_timed_out;
}

void Run::run_started() {
  started_thread_ = running_;
  started_();
  const Inside inside(*this);
  begin_step();
  model_.release(running_, kStarted);
}

void Run::join_started(const void* code) {
  const Inside inside(*this);
  while (started_thread_ == kNone ||
         states_[started_thread_]->wait != Wait::kOver) {
    block(Wait::kYields, 0);
  }
  begin_call(0, code);
  begin_step();
  model_.acquire(running_, kStarted);
  if (table_ != nullptr) {
    add_line("join", "", 0);
  }
}

// ---- The table
// ------------------------------------------------------------------

/// A thread with patience makes hundreds of equal looks.
bool Run::has_table_line() const {
  return table_ != nullptr && states_[running_]->patience == 0;
}

void Run::name(std::uintptr_t begin, std::size_t bytes, std::string name) {
  names_.push_back({begin, bytes, std::move(name)});
}

/// The smallest named memory around an address; null: it has no name.
const Run::Name* Run::find_name(std::uintptr_t address) const {
  const Name* best = nullptr;
  for (const Name& name : names_) {
    if (address - name.begin < name.bytes &&
        (best == nullptr || name.bytes < best->bytes)) {
      best = &name;
    }
  }
  return best;
}

std::string Run::name_of(std::uintptr_t address) const {
  const Name* best = find_name(address);
  if (best == nullptr) {
    return hex(address);
  }
  const std::uintptr_t offset = address - best->begin;
  return best->name + (offset == 0 ? "" : "+" + std::to_string(offset));
}

void Run::add_line(const std::string& operation,
                   const std::string& values,
                   std::uintptr_t address) {
  table_->push_back({running_, operation, address == 0 ? "" : name_of(address),
                     values, code_});
}

}  // namespace kernels
