// Raw rows of plain UCP, for jobs over the transport `ucx`. Rank 0 does in the
// memory of rank 1 as much as the rows of ACP do, with the user's UCX_TLS.
// rows.cc lists them, and runner.cc runs them. They may call no function of ACP
// while they measure.
#include <array>
#include <cstring>
#include <string>

#include "rows.h"
#include "timing.h"
#include "ucp_pair.h"

namespace acp::perf {

namespace {

constexpr std::uint64_t kPutsPerSample = 64;  ///< Equal to that of put8.rate.
constexpr std::size_t kMostInFlight = 64;

/// Runs `measure_with(pair)`, which returns an outcome, on a connected pair.
template <typename Measure>
Outcome with_pair(Context& context, Measure measure_with) {
  UcpPair pair(context);
  if (!pair.connect()) {
    return {.failure = {}, .skipped = pair.obstacle()};
  }
  return measure_with(pair);
}

void serve(Context& context) {
  UcpPair(context).serve();
}

/// The word at the start of rank 1's inbox, by ACP.
std::uint64_t far_word(const Context& context) {
  const Memory& memory = context.memory;
  acp_complete(acp_copy(memory.outbox(context.rank), memory.inbox(1), 8,
                        ACP_HANDLE_NULL));
  std::uint64_t word = 0;
  std::memcpy(&word, memory.own_outbox(), sizeof word);
  return word;
}

void set_far_word(const Context& context, std::uint64_t word) {
  const Memory& memory = context.memory;
  std::memcpy(memory.own_outbox(), &word, sizeof word);
  acp_complete(acp_copy(memory.inbox(1), memory.outbox(context.rank), 8,
                        ACP_HANDLE_NULL));
}

/// `puts` puts of 8 bytes, then one flush.
Outcome run_put8(Context& context, Samples& samples, std::uint64_t puts) {
  return with_pair(context, [&](UcpPair& pair) {
    bool ok = true;
    std::uint64_t count = 0;
    measure(context.time_ns, puts, samples, [&] {
      ++count;
      for (std::uint64_t i = 0; i < puts; ++i) {
        ok &= pair.release(pair.put(&count, sizeof count, 0));
      }
      ok &= pair.flush();
    });
    return expect(ok && far_word(context) == count,
                  "a put failed, or the target lacks the last value");
  });
}

Outcome run_get8(Context& context, Samples& samples) {
  return with_pair(context, [&](UcpPair& pair) {
    const std::uint64_t value = context.row * 0x9e3779b97f4a7c15;
    set_far_word(context, value);
    bool ok = true;
    std::uint64_t result = 0;
    measure(context.time_ns, 1, samples, [&] {
      ok &= pair.wait(pair.get(&result, sizeof result, 0)) && result == value;
    });
    return expect(ok, "a get failed, or its value is not the target's");
  });
}

Outcome run_add(Context& context, Samples& samples) {
  return with_pair(context, [&](UcpPair& pair) {
    set_far_word(context, 0);
    bool ok = true;
    std::uint64_t model = 0;
    std::uint64_t old = 0;
    const std::uint64_t operand = 3;
    measure(context.time_ns, 1, samples, [&] {
      ok &= pair.wait(pair.atomic(UCP_ATOMIC_OP_ADD, &operand, &old, 0)) &&
            old == model;
      model += operand;
    });
    return expect(ok && far_word(context) == model,
                  "an addition failed, or an old value is wrong");
  });
}

/// UCX takes the new value from where the old one goes.
Outcome run_cas(Context& context, Samples& samples) {
  return with_pair(context, [&](UcpPair& pair) {
    set_far_word(context, 0);
    bool ok = true;
    std::uint64_t model = 0;
    measure(context.time_ns, 1, samples, [&] {
      std::uint64_t value = model + 3;
      ok &= pair.wait(pair.atomic(UCP_ATOMIC_OP_CSWAP, &model, &value, 0)) &&
            value == model;
      model += 3;
    });
    return expect(ok && far_word(context) == model,
                  "a compare-and-swap failed, or an old value is wrong");
  });
}

/// A window of puts from one buffer, then one flush.
Outcome run_put(Context& context, Samples& samples, std::uint64_t bytes) {
  return with_pair(context, [&](UcpPair& pair) {
    const Memory& memory = context.memory;
    std::byte* own = memory.own_outbox();
    fill_pattern(own, bytes, context.row);
    const std::uint64_t window = window_of(bytes);
    bool ok = true;
    measure(context.time_ns, window, samples, [&] {
      for (std::uint64_t i = 0; i < window; ++i) {
        ok &= pair.release(pair.put(own, bytes, 0));
      }
      ok &= pair.flush();
    });
    std::memset(own, 0, bytes);
    acp_complete(acp_copy(memory.outbox(context.rank), memory.inbox(1), bytes,
                          ACP_HANDLE_NULL));
    return expect(ok && has_pattern(own, bytes, context.row),
                  "a put failed, or its bytes differ");
  });
}

/// A window of gets into one buffer.
Outcome run_get(Context& context, Samples& samples, std::uint64_t bytes) {
  return with_pair(context, [&](UcpPair& pair) {
    const Memory& memory = context.memory;
    std::byte* own = memory.own_outbox();
    fill_pattern(own, bytes, context.row);
    acp_complete(acp_copy(memory.inbox(1), memory.outbox(context.rank), bytes,
                          ACP_HANDLE_NULL));
    std::memset(own, 0, bytes);
    const std::uint64_t window = window_of(bytes);
    bool ok = true;
    measure(context.time_ns, window, samples, [&] {
      std::array<ucs_status_ptr_t, kMostInFlight> requests{};
      for (std::uint64_t i = 0; i < window; ++i) {
        requests[i] = pair.get(own, bytes, 0);
      }
      for (std::uint64_t i = 0; i < window; ++i) {
        ok &= pair.wait(requests[i]);
      }
    });
    return expect(ok && has_pattern(own, bytes, context.row),
                  "a get failed, or its bytes differ");
  });
}

Row row(std::string name,
        std::string what,
        std::function<Outcome(Context&, Samples&)> run) {
  return {.name = "raw.ucp." + std::move(name),
          .what = std::move(what),
          .needs = Needs::kUcx,
          .partners = Partners::kRankOne,
          .run = std::move(run),
          .respond = serve};
}

using WindowOf = Outcome (*)(Context&, Samples&, std::uint64_t bytes);

/// `way` is "put" or "get".
Row bandwidth_row(const std::string& way, WindowOf run, std::uint64_t bytes) {
  Row made =
      row(way + "." + size_name(bytes), "bandwidth of ucp_" + way + "_nbx",
          [run, bytes](Context& context, Samples& samples) {
            return run(context, samples, bytes);
          });
  made.unit = Unit::kBandwidth;
  made.bytes = bytes;
  return made;
}

}  // namespace

void add_raw_ucp_rows(Rows& rows) {
  rows.push_back(row("put8", "ucp_put_nbx of 8 bytes, and a flush",
                     [](Context& context, Samples& samples) {
                       return run_put8(context, samples, 1);
                     }));
  rows.push_back(row("put8.rate", "64 times ucp_put_nbx, and a flush",
                     [](Context& context, Samples& samples) {
                       return run_put8(context, samples, kPutsPerSample);
                     }));
  rows.back().unit = Unit::kRate;
  rows.push_back(row("get8", "ucp_get_nbx of 8 bytes", run_get8));
  rows.push_back(row("add", "an addition of 8 bytes that fetches", run_add));
  rows.push_back(row("cas", "a compare-and-swap of 8 bytes", run_cas));
  for (const std::uint64_t bytes : kBandwidthSizes) {
    rows.push_back(bandwidth_row("put", run_put, bytes));
    rows.push_back(bandwidth_row("get", run_get, bytes));
  }
}

}  // namespace acp::perf
