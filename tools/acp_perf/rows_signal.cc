// Rows that time until the target's program notices: a put that it polls for,
// signals, and waking up. rows.cc lists them, and runner.cc runs them. A rank
// that spins for a word may call no function of ACP meanwhile.
#include <atomic>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr int kLookAgainMs = 1'000;

std::uint64_t load(const std::uint64_t* word) {
  std::atomic_ref<std::uint64_t> cell(*const_cast<std::uint64_t*>(word));
  return cell.load(std::memory_order_acquire);  // another rank's put
}

/// Puts words to one address. If the target's memory is not mapped, each put is
/// completed at once. Otherwise a put need not move while its caller only spins
/// outside of the library.
class WordSender {
 public:
  WordSender(const Context& context, int rank, Word word)
      : own_source_(context.memory.own_word(Word::kSource)),
        source_(context.memory.word(context.rank, Word::kSource)),
        target_(context.memory.word(rank, word)),
        is_direct_(context.is_direct) {}

  void send(std::uint64_t value) const {
    *own_source_ = value;
    const acp_handle_t handle = acp_copy(target_, source_, 8, ACP_HANDLE_NULL);
    if (!is_direct_) acp_complete(handle);
  }

 private:
  std::uint64_t* own_source_;
  acp_ga_t source_;
  acp_ga_t target_;
  bool is_direct_;
};

/// First of the values that a row puts. No other row leaves any of its values
/// in the two words.
std::uint64_t first_value(const Context& context) {
  return context.row << 32;
}

std::uint64_t last_value(const Context& context) {
  return first_value(context) + UINT32_MAX;
}

/// Looks at a word, and between two looks makes no call of ACP.
struct LookAlone {
  static void between_looks() {}
};

/// Looks at a word, and asks acp_inquire between two looks.
struct LookAndInquire {
  static void between_looks() { (void)acp_inquire(ACP_HANDLE_ALL); }
};

template <typename Look>
void poll_until(const std::uint64_t* word, std::uint64_t least) {
  spin_until([&] {
    if (load(word) >= least) return true;
    Look::between_looks();
    return false;
  });
}

template <typename Look>
Outcome run_poll(Context& context, Samples& samples) {
  const std::uint64_t* pong = context.memory.own_word(Word::kPong);
  const WordSender ping(context, 1, Word::kPing);
  std::uint64_t count = first_value(context);
  measure(context.time_ns, 2, samples, [&] {
    ping.send(++count);
    poll_until<Look>(pong, count);
  });
  ping.send(last_value(context));
  acp_complete(ACP_HANDLE_ALL);
  return {};
}

/// LookAlone does as the responder of the raw row does.
template <typename Look>
void respond_poll(Context& context) {
  const std::uint64_t* ping = context.memory.own_word(Word::kPing);
  const WordSender pong(context, 0, Word::kPong);
  std::uint64_t seen = first_value(context);
  while (seen != last_value(context)) {
    poll_until<Look>(ping, seen + 1);
    seen = load(ping);
    pong.send(seen);
  }
  acp_complete(ACP_HANDLE_ALL);
}

/// One call while nothing is under way: the price of asking between two looks.
Outcome run_inquire(Context& context, Samples& samples) {
  acp_complete(ACP_HANDLE_ALL);
  bool ok = true;
  measure(context.time_ns, 1, samples,
          [&] { ok &= acp_inquire(ACP_HANDLE_ALL) == 0; });
  return expect(ok, "an operation is under way");
}

Outcome run_signal(Context& context, Samples& samples) {
  const Memory& memory = context.memory;
  const acp_ga_t target = memory.word(context.target, Word::kTarget);
  const acp_ga_t signal = memory.word(context.target, Word::kSignal);
  const acp_ga_t source = memory.word(context.rank, Word::kSource);
  std::uint64_t* own_source = memory.own_word(Word::kSource);
  const std::uint64_t before = memory.get_word(context.target, Word::kSignal);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    *own_source = ++count;
    acp_complete(
        acpx_put_signal(target, source, 8, signal, 1, ACP_HANDLE_NULL));
  });
  const bool ok =
      memory.get_word(context.target, Word::kTarget) == count &&
      memory.get_word(context.target, Word::kSignal) == before + count;
  return expect(ok, "data or the count of signals is wrong");
}

Outcome run_signal_alone(Context& context, Samples& samples) {
  const Memory& memory = context.memory;
  const acp_ga_t signal = memory.word(context.target, Word::kSignal);
  const std::uint64_t before = memory.get_word(context.target, Word::kSignal);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    ++count;
    acp_complete(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0, signal, 1,
                                 ACP_HANDLE_NULL));
  });
  const bool ok =
      memory.get_word(context.target, Word::kSignal) == before + count;
  return expect(ok, "the count of signals is wrong");
}

/// Spins outside of the library, so that no signal has to wake this rank.
void respond_awake(Context& context) {
  spin_until([&] { return context.is_row_over(); });
}

void signal_word(const Context& context) {
  const Memory& memory = context.memory;
  acp_complete(acpx_put_signal(
      memory.word(1, Word::kTarget), memory.word(0, Word::kSource), 8,
      memory.word(1, Word::kSignal), 1, ACP_HANDLE_NULL));
}

/// Times one way: rank 1 answers with the time at which it was awake again.
/// Rank 0 spins outside of the library until then.
Outcome run_wake(Context& context, Samples& samples) {
  const std::uint64_t* pong = context.memory.own_word(Word::kPong);
  const std::uint64_t* ready = context.memory.own_word(Word::kPhase);
  spin_until([&] { return load(ready) == context.row; });
  const std::int64_t end = now_ns() + context.time_ns;
  std::uint64_t answered = load(pong);
  do {
    const std::int64_t asleep = now_ns() + kFallAsleepNs;
    spin_until([&] { return now_ns() >= asleep; });
    const std::int64_t sent = now_ns();
    signal_word(context);
    spin_until([&] { return load(pong) != answered; });
    answered = load(pong);
    const double ns = static_cast<double>(answered) - static_cast<double>(sent);
    if (!samples.add(ns - clock_cost_ns(), 1)) break;
  } while (now_ns() < end || samples.batches() < 3);
  context.memory.put_word(1, Word::kStop, context.row);
  signal_word(context);
  return {};
}

void respond_wake(Context& context) {
  const Memory& memory = context.memory;
  const acp_ga_t word = memory.word(1, Word::kSignal);
  std::uint64_t seen = load(memory.own_word(Word::kSignal));
  memory.put_word(0, Word::kPhase, context.row);
  while (!context.is_row_over()) {
    const int result = acpx_wait_word(word, seen, kLookAgainMs, &seen);
    const std::int64_t awake = now_ns();
    if (result < 0) return;
    if (result == 0) {
      memory.put_word(0, Word::kPong, static_cast<std::uint64_t>(awake));
    }
  }
}

}  // namespace

/// All rows take rank 1 as partner, because each row says whether the thread of
/// the target polls, spins or sleeps.
void add_signal_rows(Rows& rows) {
  append(
      rows,
      {
          {.name = "put8.poll",
           .what = "8 bytes put and seen by a polling target, one way",
           .needs = Needs::kPeer,
           .partners = Partners::kRankOne,
           .raw_direct = "raw.line",
           .raw_network = "raw.udp",
           .raw_ucp = "raw.ucp.put8",
           .run = run_poll<LookAlone>,
           .respond = respond_poll<LookAlone>},
          {.name = "put8.inquire",
           .what = "8 bytes put and seen by a target that polls and asks "
                   "acp_inquire, one way",
           .needs = Needs::kPeer,
           .partners = Partners::kRankOne,
           .raw_direct = "raw.line",
           .raw_network = "raw.udp",
           .raw_ucp = "raw.ucp.put8",
           .run = run_poll<LookAndInquire>,
           .respond = respond_poll<LookAndInquire>},
          {.name = "inquire",
           .what = "acp_inquire with nothing under way",
           .run = run_inquire},
          {.name = "signal",
           .what = "acpx_put_signal with nobody asleep, and acp_complete",
           .partners = Partners::kRankOne,
           .raw_direct = "raw.fetch_add",
           .raw_network = "raw.udp",
           .raw_ucp = "raw.ucp.put8",
           .run = run_signal,
           .respond = respond_awake},
          {.name = "signal.alone",
           .what = "the same of no bytes",
           .partners = Partners::kRankOne,
           .raw_direct = "raw.fetch_add",
           .raw_network = "raw.udp",
           .run = run_signal_alone,
           .respond = respond_awake},
          // One host: this row subtracts clocks of two ranks.
          {.name = "signal.wake",
           .what = "from acpx_put_signal until a sleeper runs again, one way",
           .needs = Needs::kSameHost,
           .partners = Partners::kRankOne,
           .raw_direct = "raw.wake",
           .raw_network = "raw.udp",
           .run = run_wake,
           .respond = respond_wake},
      });
}

}  // namespace acp::perf
