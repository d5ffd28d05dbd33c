// Tests of memory that comes and goes. UCX maps memory when a peer asks for the
// registration, and unmaps it when its region ends. The linker wraps the calls
// of UCX that are counted here.
#include <array>
#include <atomic>
#include <span>

#include <catch2/catch.hpp>

#include "ucx/pair.h"

namespace {

/// Calls of this process that have succeeded.
std::atomic<int> g_maps = 0;
std::atomic<int> g_unmaps = 0;

}  // namespace

// The linker chooses the names.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" {
ucs_status_t __real_ucp_mem_map(ucp_context_h,
                                const ucp_mem_map_params_t*,
                                ucp_mem_h*);
ucs_status_t __real_ucp_mem_unmap(ucp_context_h, ucp_mem_h);

ucs_status_t __wrap_ucp_mem_map(ucp_context_h context,
                                const ucp_mem_map_params_t* params,
                                ucp_mem_h* memory) {
  const ucs_status_t status = __real_ucp_mem_map(context, params, memory);
  g_maps += status == UCS_OK ? 1 : 0;
  return status;
}

ucs_status_t __wrap_ucp_mem_unmap(ucp_context_h context, ucp_mem_h memory) {
  const ucs_status_t status = __real_ucp_mem_unmap(context, memory);
  g_unmaps += status == UCS_OK ? 1 : 0;
  return status;
}
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

namespace acp::ucx {

/// Each round is one life of a registration: process 0 asks for it, reads it,
/// and drops it when process 1 unregisters it.
TEST_CASE("ucx: each registration that a peer reads is mapped and unmapped",
          "[ucx][registration]") {
  Pair pair;
  pair.get_registration();
  g_maps = 0;
  g_unmaps = 0;
  constexpr int kRounds = 100;
  UcxTransport& owner = *pair.transports[1];
  for (std::uint64_t state = 1; state <= kRounds; ++state) {
    REQUIRE(poll_until([&] { pair.pass(); },
                       [&] { return owner.on_unregistered(5, state); }));
    CHECK(g_unmaps == static_cast<int>(state));
    owner.on_registered({.key = 5,
                         .state = state + 1,
                         .address = Pair::as_bytes(pair.remote),
                         .size = sizeof pair.remote});
    pair.remote = state;
    transport::RemoteStep get = pair.step(protocol::Opcode::kGet);
    get.state = state + 1;
    get.state_mask = ~std::uint64_t{0};
    const int done = pair.sinks[0].done;
    REQUIRE(poll_until(
        [&] { pair.pass(); },
        [&] {
          return pair.endpoint().post({&get, 1}, state) == Status::kOk;
        }));
    REQUIRE(poll_until([&] { pair.pass(); },
                       [&] { return pair.sinks[0].done == done + 1; }));
    CHECK(pair.local == state);
    CHECK(g_maps == static_cast<int>(state));
  }
  CHECK(owner.counters().control.told == kRounds + 1);
  CHECK(owner.counters().control.revoked == kRounds);
}

/// Process 0 only receives, so its endpoint is idle when it is told of memory
/// and when it has to drop it.
TEST_CASE("ucx: a process that has sent nothing confirms a dropped region",
          "[ucx][registration]") {
  Pair pair;
  UcxTransport& owner = *pair.transports[1];
  auto found = owner.endpoint(0, 0);
  REQUIRE(found.ok());
  const std::array<std::byte, 8> bytes{};
  const std::span<const std::byte> part = bytes;
  REQUIRE((*found)->send({&part, 1}, transport::Ordering::kFree) ==
          Status::kOk);
  REQUIRE(poll_until([&] { pair.pass(); },
                     [&] { return pair.sinks[0].messages == 1; }));
  (*found)->announce({.key = 5,
                      .offset = pair.step(protocol::Opcode::kGet).offset,
                      .size = sizeof pair.remote});
  CHECK(owner.counters().control.told == 1);
  REQUIRE(poll_until([&] { pair.pass(); },
                     [&] { return owner.on_unregistered(5, 1); }));
}

}  // namespace acp::ucx
