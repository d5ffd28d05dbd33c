// No wake-up is lost. An event happens between any two actions of a thread that
// falls asleep. Under a virtual clock that thread notices it in time.
#include "runtime/progress_loop.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

constexpr Duration kTick = ProgressStates::kTick;
constexpr std::uint64_t kAsleep = 1;
constexpr std::uint64_t kSignals = 2;
constexpr std::uint64_t kCompletions = 4;

/// A rank with a sleeper in it, the progress thread or a caller. Events
/// act on it as real wakers do: they store, then wake the sleeper that is
/// marked asleep.
class World : public ProgressActions, public EpollSleeper {
 public:
  using Event = std::function<void(World&)>;

  /// `event` happens before action `at`, or in the sleep before which there
  /// are fewer actions.
  World(Event event, int at) : event_(std::move(event)), at_(at) {}

  // Actions of other threads and processes.

  void send_message() {
    message = true;
    ring(kAsleep);
  }

  void send_packet() { packet = true; }

  void signal_step() {
    step_has_work = true;
    ring(kSignals);
  }

  void add_step() {
    has_step = true;
    step_has_work = true;
    ++added;
    ring(kAsleep);
  }

  void hurry_steps() {
    has_step = true;
    step_has_work = true;
    if (!std::exchange(steps_are_wanted, true)) {
      ring(kAsleep);
    }
  }

  void set_deadline(Duration from_now) {
    deadline = clock + from_now;
    if (deadline < asleep_until) {
      asleep_until = deadline;
      ring(kAsleep);
    }
  }

  void ask_for_role() {
    if (role == Role::kThread) {
      role = Role::kPromised;
      ring(kAsleep);
    } else if (role == Role::kNobody) {
      role = Role::kCaller;
    }
  }

  void end_callers_wait() {
    role = Role::kNobody;
    awake = 0;
    if (is_beside) {
      ++word;
    }
  }

  void complete() {
    is_done = true;
    ring(kCompletions);
  }

  void signal_word() {
    is_done = true;
    ring(kSignals);
  }

  void stop() {
    is_stopped = true;
    ++word;
    token = true;
  }

  /// Whether the sleeper has work at this time.
  bool is_owed() const {
    return message || packet || (has_step && step_has_work) ||
           role == Role::kPromised || deadline <= clock ||
           (is_caller && is_done);
  }

  // The actions.

  bool is_stopping() override {
    act();
    return is_stopped || is_over_for_test;
  }

  TimePoint beat() override { return TimePoint::max(); }

  ProgressStates::Sight look() override {
    act();
    if (clock < callers_until) {
      passes += 10;
    } else {
      awake = 0;
    }
    return {passes, awake, role == Role::kCaller, steps_are_wanted};
  }

  ProgressStates::Pass make_pass() override {
    act();
    added_seen = added;
    const bool has_received = take_arrivals();
    act();
    steps_are_wanted = false;
    const bool has_moved = run_steps();
    ++passes_of_thread;
    return has_received || has_moved ? ProgressStates::Pass::kMoved
                                     : ProgressStates::Pass::kNothing;
  }

  void stop_watching() override {
    act();
    is_watching = false;
  }

  bool take_role() override {
    act();
    if (role != Role::kNobody) {
      return false;
    }
    role = Role::kThread;
    return true;
  }

  void leave_role() override {
    act();
    role = role == Role::kPromised ? Role::kCaller : Role::kNobody;
  }

  bool caller_has_role() override {
    act();
    return role == Role::kCaller;
  }

  std::uint32_t nap_word() override {
    act();
    return word;
  }

  void sleep_on_nap_word(std::uint32_t expected, Duration limit) override {
    act();
    const TimePoint until = clock + limit;
    if (word == expected) {
      act();
    }
    if (word == expected && is_beside) {
      happen();
      is_over_for_test = role == Role::kCaller;  // the caller sleeps on
    }
    clock = word == expected ? until : clock;
    note_lateness();
  }

  void set_beside_caller(bool is_there) override {
    act();
    is_beside = is_there;
  }

  TimePoint now() override { return clock; }

  void empty_doorbell() override {
    act();
    token = false;
  }

  bool watch_transports() override {
    act();
    is_watching = can_watch;
    return can_watch;
  }

  void mark_asleep() override {
    act();
    bits = kAsleep | (is_caller  ? kSignals | kCompletions
                      : has_step ? kSignals
                                 : 0);
  }

  bool arm(TimePoint& limit) override {
    act();
    limit = std::min(limit, deadline);
    asleep_until = limit;
    return !message && !packet;
  }

  bool is_over() override {
    act();
    return is_caller
               ? is_done
               : is_stopped || role == Role::kPromised || added != added_seen;
  }

  ProgressSteps::Outcome run_steps_again() override {
    act();
    steps_are_wanted = false;
    if (steps_are_busy) {
      return ProgressSteps::Outcome::kBusy;
    }
    return run_steps() ? ProgressSteps::Outcome::kMoved
                       : ProgressSteps::Outcome::kIdle;
  }

  bool wait(TimePoint limit) override {
    act();
    if (!is_readable()) {
      happen();  // if it has not yet: nothing else ends this sleep
    }
    if (is_readable()) {
      return true;
    }
    if (limit == TimePoint::max()) {
      has_lost |= is_owed() || is_stopped;
      is_over_for_test = true;
      return false;
    }
    clock = std::max(clock, limit);
    note_lateness();
    return false;
  }

  void mark_awake() override {
    act();
    bits = 0;
  }

  void disarm() override { act(); }

  Duration busy_nap() const override { return kTick; }

  bool has_happened() const { return has_happened_; }

  enum class Role { kNobody, kThread, kPromised, kCaller };

  TimePoint clock{std::chrono::seconds(1)};
  bool is_caller = false;
  bool is_done = false;
  bool token = false;
  bool message = false;
  bool packet = false;
  bool can_watch = true;
  bool is_watching = false;
  bool has_step = false;
  bool step_has_work = false;
  bool steps_are_wanted = false;
  bool steps_are_busy = false;
  std::uint64_t added = 0;
  std::uint64_t added_seen = 0;
  std::uint64_t bits = 0;
  TimePoint deadline = TimePoint::max();
  TimePoint asleep_until{};
  Role role = Role::kNobody;
  bool is_beside = false;
  std::uint32_t word = 0;
  std::uint64_t passes = 0;
  std::uint64_t passes_of_thread = 0;
  std::uint32_t awake = 0;
  TimePoint callers_until{};  ///< Until then they make passes.
  bool is_stopped = false;
  bool is_over_for_test = false;
  bool has_lost = false;
  int actions = 0;
  Duration latest{0};  ///< Longest time for which work was owed.

 private:
  void ring(std::uint64_t who) { token = token || (bits & who) != 0; }

  bool is_readable() const { return token || (is_watching && packet); }

  void act() {
    if (++actions == at_) {
      happen();
    }
    if (actions > 10'000) {  // it never falls asleep
      is_over_for_test = true;
    }
  }

  void happen() {
    if (!std::exchange(has_happened_, true)) {
      happened_at_ = clock;
      event_(*this);
    }
  }

  /// After time has passed in a sleep.
  void note_lateness() {
    if (has_happened_ && (is_owed() || is_stopped)) {
      const TimePoint since =
          deadline <= clock ? deadline : std::min(happened_at_, clock);
      latest = std::max(latest, clock - since);
    }
  }

  bool take_arrivals() {
    const bool has_deadline = deadline <= clock;
    if (has_deadline) {
      deadline = TimePoint::max();
    }
    const bool has_message = std::exchange(message, false);
    return std::exchange(packet, false) || has_message || has_deadline;
  }

  bool run_steps() { return has_step && std::exchange(step_has_work, false); }

  Event event_;
  int at_;
  bool has_happened_ = false;
  TimePoint happened_at_{};
};

/// A rank whose thread has to beat each second. Ends after some beats.
class BeatingWorld : public World {
 public:
  explicit BeatingWorld(std::size_t beats_at_most)
      : World([](World&) {}, 0), beats_at_most_(beats_at_most) {}

  TimePoint beat() override {
    if (clock >= due_) {
      beats.push_back(clock);
      due_ = clock + std::chrono::seconds(1);
      is_over_for_test = beats.size() == beats_at_most_;
    }
    return due_;
  }

  std::vector<TimePoint> beats;

 private:
  std::size_t beats_at_most_;
  TimePoint due_{};
};

struct Named {
  const char* name;
  World::Event event;
};

/// Events of a rank whose progress thread is about to sleep.
const std::vector<Named> kForThread = {
    {"a message", &World::send_message},
    {"a packet", &World::send_packet},
    {"a signal for a step", &World::signal_step},
    {"a step is added", &World::add_step},
    {"a deadline",
     [](World& world) {
       world.set_deadline(7 * kTick);
     }},
    {"a deadline at once",
     [](World& world) {
       world.set_deadline({});
     }},
    {"a caller wants the role", &World::ask_for_role},
    {"steps are wanted", &World::hurry_steps},
    {"the end", &World::stop},
};

const std::vector<Named> kForCaller = {
    {"a message", &World::send_message},
    {"a packet", &World::send_packet},
    {"a signal for a step", &World::signal_step},
    {"a step is added", &World::add_step},
    {"a deadline",
     [](World& world) {
       world.set_deadline(7 * kTick);
     }},
    {"another thread completes it", &World::complete},
    {"a signal for its word", &World::signal_word},
    {"steps are wanted", &World::hurry_steps},
};

/// A rank that notes the naps of its progress thread, and ends after some.
class NappingWorld : public World {
 public:
  explicit NappingWorld(std::size_t naps_at_most)
      : World([](World&) {}, 0), naps_at_most_(naps_at_most) {}

  ProgressStates::Pass make_pass() override {
    const ProgressStates::Pass pass = World::make_pass();
    return passes_of_thread <= busy_passes ? ProgressStates::Pass::kBusy : pass;
  }

  void sleep_on_nap_word(std::uint32_t expected, Duration limit) override {
    const TimePoint start = clock;
    World::sleep_on_nap_word(expected, limit);
    naps.push_back({is_beside, clock - start, passes_of_thread});
    is_over_for_test = naps.size() == naps_at_most_;
  }

  struct Nap {
    bool is_beside_caller;
    Duration time;
    std::uint64_t passes_before;  ///< Passes of the thread.
  };

  std::uint64_t busy_passes = 0;  ///< So many first passes find data in use.
  std::vector<Nap> naps;

 private:
  std::size_t naps_at_most_;
};

/// Puts `event` before each action of the thread in turn, and into its sleep.
void check_thread(const Named& named,
                  Duration longest,
                  const World::Event& set_up) {
  for (int at = 1;; ++at) {
    World world(named.event, at);
    set_up(world);
    run_progress_thread(world, world);
    INFO(named.name << " at action " << at);
    REQUIRE(world.actions < 10'000);
    CHECK_FALSE(world.has_lost);
    CHECK(world.latest <= longest);
    CHECK((world.is_stopped || !world.is_owed()));
    CHECK(world.bits == 0);
    CHECK(world.has_happened());
    if (world.actions < at) {
      return;
    }
  }
}

}  // namespace

TEST_CASE("progress loop: the thread loses nothing while it falls asleep",
          "[runtime][progress][wake]") {
  for (const Named& named : kForThread) {
    check_thread(named, Duration(0), [](World&) {});
    check_thread(named, Duration(0), [](World& world) {
      world.has_step = true;
      world.added = 1;
    });
  }
}

TEST_CASE("progress loop: nor when it was beside callers that polled",
          "[runtime][progress][wake]") {
  for (const Named& named : kForThread) {
    check_thread(named, 4 * kTick, [](World& world) {
      world.has_step = true;
      world.awake = 1;
      world.callers_until = world.clock + 3 * kTick;
    });
  }
}

TEST_CASE("progress loop: nor where transports cannot be watched",
          "[runtime][progress][wake]") {
  World world([](World& self) { self.send_packet(); }, 1'000);
  world.can_watch = false;
  run_progress_thread(world, world);
  // It wakes each tick, as long as the test lets it.
  CHECK(world.latest <= kTick);
  CHECK(world.passes_of_thread > 100);
}

TEST_CASE("progress loop: the end of a caller's wait ends the stay beside it",
          "[runtime][progress][wake]") {
  const std::vector<Named> ends = {
      {"its wait ends",
       [](World& world) {
         world.message = true;  // the caller is marked asleep no more
         world.end_callers_wait();
       }},
      {"the end", &World::stop},
  };
  for (const Named& named : ends) {
    check_thread(named, Duration(0),
                 [](World& world) { world.role = World::Role::kCaller; });
  }
}

TEST_CASE("progress loop: a caller that keeps the role is not waited for",
          "[runtime][progress]") {
  NappingWorld world(2);
  world.role = World::Role::kCaller;
  run_progress_thread(world, world);
  REQUIRE(world.naps.size() == 2);
  for (const auto& nap : world.naps) {
    CHECK(nap.is_beside_caller);
    CHECK(nap.time == ProgressStates::kLongestRest);
  }
  // After each stay it makes a pass, and finds the caller there again.
  CHECK(world.naps[0].passes_before == 1);
  CHECK(world.naps[1].passes_before == 2);
  CHECK(world.role == World::Role::kCaller);
}

TEST_CASE("progress loop: a busy step makes it nap and then poll again",
          "[runtime][progress]") {
  for (const bool has_caller : {false, true}) {
    NappingWorld world(2);
    world.busy_passes = 2;
    world.role = has_caller ? World::Role::kCaller : World::Role::kNobody;
    run_progress_thread(world, world);
    INFO("a caller has the role: " << has_caller);
    REQUIRE(world.naps.size() == 2);
    for (const auto& nap : world.naps) {
      CHECK_FALSE(nap.is_beside_caller);
      CHECK(nap.time == (has_caller ? kTick : ProgressStates::kBusyNap));
    }
    CHECK(world.naps[0].passes_before == 1);
    CHECK(world.naps[1].passes_before == 2);
  }
}

// Nothing arrives for ever. The thread sleeps in epoll, or beside a caller that
// does.
TEST_CASE("progress loop: the heart beats although nothing arrives",
          "[runtime][progress][silence]") {
  for (const World::Role role : {World::Role::kNobody, World::Role::kCaller}) {
    BeatingWorld world(10);
    world.role = role;
    for (int run = 0; world.beats.size() < 10 && run < 100; ++run) {
      world.is_over_for_test = false;
      run_progress_thread(world, world);
    }
    CHECK(world.beats.size() == 10);
    for (std::size_t i = 1; i < world.beats.size(); ++i) {
      CHECK(world.beats[i] - world.beats[i - 1] <
            std::chrono::seconds(1) + ProgressStates::kLongestRest);
    }
    CHECK(world.passes_of_thread < 50);
  }
}

TEST_CASE("progress loop: a caller loses nothing while it falls asleep",
          "[runtime][progress][wake]") {
  for (const Named& named : kForCaller) {
    for (int at = 1;; ++at) {
      World world(named.event, at);
      world.is_caller = true;
      world.has_step = true;
      world.role = World::Role::kCaller;
      const TimePoint limit = world.clock + 50 * kTick;
      sleep_in_epoll(world, limit);
      INFO(named.name << " at action " << at);
      CHECK(world.has_happened());
      // It is awake again, or was never asleep: its wait makes the next pass.
      CHECK(world.latest == Duration(0));
      CHECK(world.clock < limit);
      CHECK(world.bits == 0);
      if (world.actions < at) {
        break;
      }
    }
  }
}

TEST_CASE("progress loop: a caller sleeps a tick while a step is busy",
          "[runtime][progress]") {
  World world([](World&) {}, 0);
  world.is_caller = true;
  world.steps_are_busy = true;
  const TimePoint start = world.clock;
  CHECK_FALSE(sleep_in_epoll(world, start + 50 * kTick));
  CHECK(world.clock - start == kTick);
}

TEST_CASE("progress loop: the role goes to a caller that has asked for it",
          "[runtime][progress]") {
  World world(&World::ask_for_role, 1'000);
  run_progress_thread(world, world);
  CHECK(world.role == World::Role::kCaller);
  CHECK(world.latest == Duration(0));
}

}  // namespace acp::runtime
