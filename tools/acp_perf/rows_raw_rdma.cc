// Raw rows of an RDMA device: rank 0 posts requests to one queue pair and polls
// for their completion. rows.cc lists them, and runner.cc runs them. They may
// call no function of ACP while they measure.
#include <array>
#include <cstring>

#include "rdma_loop.h"
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kStreamed = RdmaLoop::kMostPosted;

std::uint64_t word(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

/// Measures run(loop, number). Skips the row without a usable device, and fails
/// it when a run failed or check(loop, runs) finds wrong bytes.
template <typename Run, typename Check>
Outcome run_loop(Context& context,
                 Samples& samples,
                 std::uint64_t requests,
                 Run run,
                 Check check) {
  RdmaLoop loop;
  if (!loop.obstacle().empty()) {
    return {.failure = {}, .skipped = loop.obstacle()};
  }
  fill_pattern(loop.near().data(), RdmaLoop::kBytes, context.row);
  std::uint64_t runs = 0;
  bool ok = true;
  measure(context.time_ns, requests, samples, [&] { ok &= run(loop, runs++); });
  return expect(ok && check(loop, runs),
                "a request failed, or its bytes differ");
}

Outcome run_put(Context& context, Samples& samples) {
  return run_loop(
      context, samples, 1,
      [](RdmaLoop& loop, std::uint64_t) {
        const std::array request = {
            RdmaRequest{.opcode = IBV_WR_RDMA_WRITE, .bytes = 16}};
        return loop.run(request);
      },
      [&](RdmaLoop& loop, std::uint64_t) {
        return has_pattern(loop.far().data(), 16, context.row);
      });
}

Outcome run_get(Context& context, Samples& samples) {
  return run_loop(
      context, samples, 1,
      [](RdmaLoop& loop, std::uint64_t runs) {
        std::memcpy(loop.far().data(), &runs, sizeof(runs));
        const std::array request = {
            RdmaRequest{.opcode = IBV_WR_RDMA_READ, .bytes = 16}};
        return loop.run(request) && word(loop.near()) == runs;
      },
      [](RdmaLoop&, std::uint64_t) { return true; });
}

Outcome run_add(Context& context, Samples& samples) {
  return run_loop(
      context, samples, 1,
      [](RdmaLoop& loop, std::uint64_t runs) {
        const std::array request = {
            RdmaRequest{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .operand = 1}};
        return loop.run(request) && word(loop.near()) == runs;
      },
      [](RdmaLoop& loop, std::uint64_t runs) {
        return word(loop.far()) == runs;
      });
}

Outcome run_cas(Context& context, Samples& samples) {
  return run_loop(
      context, samples, 1,
      [](RdmaLoop& loop, std::uint64_t runs) {
        const std::array request = {
            RdmaRequest{.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
                        .operand = runs + 1,
                        .expected = runs}};
        return loop.run(request) && word(loop.near()) == runs;
      },
      [](RdmaLoop& loop, std::uint64_t runs) {
        return word(loop.far()) == runs;
      });
}

/// Writes a block and adds to a count behind it; one post submits both.
Outcome run_put_add(Context& context, Samples& samples) {
  return run_loop(
      context, samples, 1,
      [](RdmaLoop& loop, std::uint64_t runs) {
        const std::array requests = {
            RdmaRequest{.opcode = IBV_WR_RDMA_WRITE, .bytes = kBlockBytes},
            RdmaRequest{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                        .offset = kBlockBytes,
                        .operand = 1}};
        return loop.run(requests) &&
               word(loop.near().subspan(kBlockBytes)) == runs;
      },
      [&](RdmaLoop& loop, std::uint64_t) {
        return has_pattern(loop.far().data(), kBlockBytes, context.row);
      });
}

Outcome run_stream(Context& context, Samples& samples) {
  return run_loop(
      context, samples, kStreamed,
      [](RdmaLoop& loop, std::uint64_t) {
        std::array<RdmaRequest, kStreamed> requests{};
        requests.fill({.opcode = IBV_WR_RDMA_WRITE, .bytes = RdmaLoop::kBytes});
        return loop.run(requests);
      },
      [&](RdmaLoop& loop, std::uint64_t) {
        return has_pattern(loop.far().data(), RdmaLoop::kBytes, context.row);
      });
}

}  // namespace

/// Each row is what libibverbs takes for the same work requests, between two
/// queue pairs of one process.
void add_raw_rdma_rows(Rows& rows) {
  append(
      rows,
      {
          {.name = "raw.rdma.put",
           .what = "an RDMA write of 16 bytes, completed",
           .needs = Needs::kSameHost,
           .run = run_put},
          {.name = "raw.rdma.get",
           .what = "an RDMA read of 16 bytes, completed",
           .needs = Needs::kSameHost,
           .run = run_get},
          {.name = "raw.rdma.add",
           .what = "a fetch-and-add of the device, completed",
           .needs = Needs::kSameHost,
           .run = run_add},
          {.name = "raw.rdma.cas",
           .what = "a compare-and-swap of the device, completed",
           .needs = Needs::kSameHost,
           .run = run_cas},
          {.name = "raw.rdma.put_add",
           .what =
               "a write of 64 bytes and a fetch-and-add behind it, completed",
           .needs = Needs::kSameHost,
           .run = run_put_add},
          {.name = "raw.rdma.stream",
           .what = "16 RDMA writes of 64 KiB under way",
           .unit = Unit::kBandwidth,
           .bytes = RdmaLoop::kBytes,
           .needs = Needs::kSameHost,
           .run = run_stream},
      });
}

}  // namespace acp::perf
