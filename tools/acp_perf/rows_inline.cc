// Rows of small operations that are made without a call (acp/inline.h). Each
// one is a row of rows_access.cc or rows_atomic.cc, compiled with ACP_INLINE.
// Where the operation has to be a call, for example between hosts, the figures
// are those of the other row. rows.cc lists them, and runner.cc runs them.
#define ACP_INLINE

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::uint64_t kAccessesPerSample = 64;

struct Addresses {
  acp_ga_t target;
  acp_ga_t source;
  acp_ga_t result;
  std::uint64_t* own_source;
  std::uint64_t* own_result;
};

Addresses addresses_of(const Context& context) {
  const Memory& memory = context.memory;
  return {memory.word(context.target, Word::kTarget),
          memory.word(context.rank, Word::kSource),
          memory.word(context.rank, Word::kResult),
          memory.own_word(Word::kSource), memory.own_word(Word::kResult)};
}

Outcome expect_target(const Context& context, std::uint64_t value) {
  return expect(context.memory.get_word(context.target, Word::kTarget) == value,
                "the target does not hold the last value put");
}

Outcome run_put(Context& context, Samples& samples) {
  const Addresses at = addresses_of(context);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    *at.own_source = ++count;
    acp_complete(acp_copy(at.target, at.source, 8, ACP_HANDLE_NULL));
  });
  return expect_target(context, count);
}

Outcome run_put_rate(Context& context, Samples& samples) {
  const Addresses at = addresses_of(context);
  std::uint64_t count = 0;
  measure(context.time_ns, kAccessesPerSample, samples, [&] {
    *at.own_source = ++count;
    for (std::uint64_t i = 0; i < kAccessesPerSample; ++i) {
      acp_copy(at.target, at.source, 8, ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
  });
  return expect_target(context, count);
}

template <std::uint64_t gets>
Outcome run_get(Context& context, Samples& samples) {
  const Addresses at = addresses_of(context);
  const std::uint64_t value = context.row * 0x9e3779b97f4a7c15;
  context.memory.put_word(context.target, Word::kTarget, value);
  bool ok = true;
  measure(context.time_ns, gets, samples, [&] {
    *at.own_result = ~value;
    for (std::uint64_t i = 0; i < gets; ++i) {
      acp_copy(at.result, at.target, 8, ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
    ok &= *at.own_result == value;
  });
  return expect(ok, "a value got is not the target's");
}

/// `issue` adds 1 to the target, whose value it is told.
template <typename Issue>
Outcome run_atomic(Context& context, Samples& samples, Issue issue) {
  const Addresses at = addresses_of(context);
  context.memory.put_word(context.target, Word::kTarget, 0);
  std::uint64_t model = 0;
  bool ok = true;
  measure(context.time_ns, 1, samples, [&] {
    issue(at, model);
    acp_complete(ACP_HANDLE_ALL);
    ok &= *at.own_result == model++;
  });
  return expect(
      ok && context.memory.get_word(context.target, Word::kTarget) == model,
      "an old value or the word is not what it has to be");
}

Outcome run_add(Context& context, Samples& samples) {
  return run_atomic(context, samples,
                    [](const Addresses& at, std::uint64_t /*old*/) {
                      acp_add8(at.result, at.target, 1, ACP_HANDLE_NULL);
                    });
}

Outcome run_cas(Context& context, Samples& samples) {
  return run_atomic(
      context, samples, [](const Addresses& at, std::uint64_t old) {
        acp_cas8(at.result, at.target, old, old + 1, ACP_HANDLE_NULL);
      });
}

/// The data are 64 bytes of the buffers, and the signal is the target word.
template <bool is_inline>
Outcome run_put_signal(Context& context, Samples& samples) {
  const Addresses at = addresses_of(context);
  const acp_ga_t to = context.memory.inbox(context.target);
  const acp_ga_t from = context.memory.outbox(context.rank);
  context.memory.put_word(context.target, Word::kTarget, 0);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    ++count;
    if constexpr (is_inline) {
      acpx_put_signal(to, from, 64, at.target, 1, ACP_HANDLE_NULL);
    } else {
      (acpx_put_signal)(to, from, 64, at.target, 1, ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
  });
  return expect_target(context, count);
}

}  // namespace

/// The same operations as calls are rows of rows_access.cc and rows_atomic.cc,
/// except for the signal of 64 bytes.
void add_inline_rows(Rows& rows) {
  append(rows,
         {{.name = "put8.inline",
           .what = "the same as put8, without a call (acp/inline.h)",
           .raw_direct = "raw.store8.fence",
           .run = run_put},
          {.name = "get8.inline",
           .what = "the same as get8, without a call",
           .raw_direct = "raw.load8",
           .run = run_get<1>},
          {.name = "put8.rate.inline",
           .what = "64 puts of 8 bytes without a call, then one acp_complete",
           .unit = Unit::kRate,
           .raw_direct = "raw.store8",
           .run = run_put_rate},
          {.name = "get8.rate.inline",
           .what = "64 gets of 8 bytes without a call, then one acp_complete",
           .unit = Unit::kRate,
           .raw_direct = "raw.load8",
           .run = run_get<kAccessesPerSample>},
          {.name = "add8.inline",
           .what = "the same as add8, without a call",
           .raw_direct = "raw.fetch_add",
           .run = run_add},
          {.name = "cas8.inline",
           .what = "the same as cas8, without a call",
           .raw_direct = "raw.cas",
           .run = run_cas},
          {.name = "put_signal.64",
           .what = "acpx_put_signal of 64 bytes, and acp_complete",
           .raw_direct = "raw.fetch_add",
           .run = run_put_signal<false>},
          {.name = "put_signal.64.inline",
           .what = "the same as put_signal.64, without a call",
           .raw_direct = "raw.fetch_add",
           .run = run_put_signal<true>}});
}

}  // namespace acp::perf
