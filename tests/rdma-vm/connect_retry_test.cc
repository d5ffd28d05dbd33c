// Tests of attempts to connect that fail. Wrappers (--wrap) change the events
// of rdma_cm. An address or a route that was resolved becomes an error of
// resolving. For errors of connecting, the request is spoiled so that the peer
// rejects it, and the rejection becomes the error.
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <vector>

#include <rdma/rdma_cma.h>

#include "rdma-vm/pair.h"

namespace {

/// The error that an attempt to connect shall meet.
enum class Fault : std::uint8_t {
  kAddress,      ///< ADDR_ERROR
  kRoute,        ///< ROUTE_ERROR
  kUnreachable,  ///< UNREACHABLE
  kStale,        ///< REJECTED, as stale
  kTooLate,      ///< UNREACHABLE although the peer has accepted
};

/// Faults that are still to come, in order.
std::deque<Fault>& faults() {
  static std::deque<Fault> all;
  return all;
}

/// After kTooLate, the accepting end of the attempt gets no further event.
struct Silence {
  bool is_wanted = false;
  const rdma_cm_id* id = nullptr;  ///< The accepting end, once it is known.
};

Silence& silence() {
  static Silence silence;
  return silence;
}

bool is_next(Fault fault) {
  return !faults().empty() && faults().front() == fault;
}

void become(rdma_cm_event& event, rdma_cm_event_type type, int status) {
  event.event = type;
  event.status = status;
  event.param.conn.private_data = nullptr;
  event.param.conn.private_data_len = 0;
  faults().pop_front();
}

/// Whether the event says "established" or "disconnected" to an endpoint in
/// this state.
bool is_told_to(const rdma_cm_event& event, acp::verbs::EndpointState state) {
  return (event.event == RDMA_CM_EVENT_ESTABLISHED ||
          event.event == RDMA_CM_EVENT_DISCONNECTED) &&
         static_cast<acp::verbs::Endpoint*>(event.id->context)->state() ==
             state;
}

/// Turns an event into the next fault where it is of the fault's kind.
void put_fault_into(rdma_cm_event& event) {
  if (event.event == RDMA_CM_EVENT_ADDR_RESOLVED && is_next(Fault::kAddress)) {
    become(event, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
  } else if (event.event == RDMA_CM_EVENT_ROUTE_RESOLVED &&
             is_next(Fault::kRoute)) {
    become(event, RDMA_CM_EVENT_ROUTE_ERROR, -EHOSTUNREACH);
  } else if (event.event == RDMA_CM_EVENT_REJECTED &&
             is_next(Fault::kUnreachable)) {
    become(event, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
  } else if (event.event == RDMA_CM_EVENT_REJECTED && is_next(Fault::kStale)) {
    become(event, RDMA_CM_EVENT_REJECTED, 10);
  } else if (is_next(Fault::kTooLate) &&
             is_told_to(event, acp::verbs::EndpointState::kConnecting)) {
    become(event, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    silence().is_wanted = true;
  }
  // Either end of the attempt may be told first, so the accepting end may be
  // found before the fault or after it.
  if ((silence().is_wanted || is_next(Fault::kTooLate)) &&
      silence().id == nullptr &&
      is_told_to(event, acp::verbs::EndpointState::kAccepting)) {
    silence().id = event.id;
  }
  if (silence().id != nullptr && event.id == silence().id) {
    event.event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
  }
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
int __real_rdma_get_cm_event(rdma_event_channel* channel,
                             rdma_cm_event** event);
int __real_rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters);

int __wrap_rdma_get_cm_event(rdma_event_channel* channel,
                             rdma_cm_event** event) {
  const int result = __real_rdma_get_cm_event(channel, event);
  if (result == 0) {
    put_fault_into(**event);
  }
  return result;
}

int __wrap_rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  std::array<std::byte, acp::verbs::kHelloBytes> hello{};
  std::memcpy(hello.data(), parameters->private_data, hello.size());
  rdma_conn_param spoiled = *parameters;
  if (is_next(Fault::kUnreachable) || is_next(Fault::kStale)) {
    hello.back() ^= std::byte{1};  // now the job's id is wrong
    spoiled.private_data = hello.data();
  }
  return __real_rdma_connect(id, &spoiled);
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

}  // extern "C"

namespace acp::verbs {

namespace {

/// Two ends that have not connected yet.
struct Strangers {
  Strangers() {
    ends[0].meet(ends[1]);
    ends[1].meet(ends[0]);
    faults().clear();
    silence() = {};
  }

  bool until(const std::function<bool()>& condition) {
    return poll_until(ends, condition);
  }

  std::array<End, 2> ends{End(0, nullptr, Executor::kAgent),
                          End(1, nullptr, Executor::kAgent)};
};

/// Checks that a message arrives each way, over one connection.
void check_connected(Strangers& pair) {
  for (End& end : pair.ends) {
    REQUIRE(pair.until([&] { return end.send_one() == Status::kOk; }));
  }
  REQUIRE(pair.until([&] {
    return pair.ends[0].messages == 1 && pair.ends[1].messages == 1;
  }));
  for (const End& end : pair.ends) {
    CHECK(end.transport->counters().connected == 1);
    CHECK(end.failures == 0);
  }
  CHECK(faults().empty());
}

}  // namespace

TEST_CASE("verbs connect: an attempt that fails is made again",
          "[verbs][retry]") {
  const std::vector<std::vector<Fault>> cases = {
      {Fault::kAddress},
      {Fault::kRoute},
      {Fault::kUnreachable},
      {Fault::kStale},
      {Fault::kTooLate},
      {Fault::kAddress, Fault::kRoute, Fault::kUnreachable, Fault::kStale,
       Fault::kAddress}};
  for (const std::vector<Fault>& each : cases) {
    INFO("first fault " << static_cast<int>(each.front()));
    Strangers pair;
    faults().assign(each.begin(), each.end());
    check_connected(pair);
    CHECK(pair.ends[0].transport->counters().retried == each.size());
  }
}

TEST_CASE("verbs connect: the peer's attempt is taken between two of my own",
          "[verbs][retry]") {
  Strangers pair;
  faults() = {Fault::kRoute};
  REQUIRE(pair.ends[0].send_one() == Status::kAgain);
  REQUIRE(pair.until([&] { return faults().empty(); }));
  // The other end connects before the next attempt of this end, or both
  // attempts cross.
  check_connected(pair);
  CHECK(pair.ends[0].transport->next_deadline() == TimePoint::max());
}

TEST_CASE("verbs connect: after the last attempt the failure says it all",
          "[verbs][retry]") {
  const auto [fault, event] = GENERATE(table<Fault, const char*>(
      {{Fault::kAddress, "RDMA_CM_EVENT_ADDR_ERROR (Connection timed out)"},
       {Fault::kRoute, "RDMA_CM_EVENT_ROUTE_ERROR (No route to host)"},
       {Fault::kUnreachable,
        "RDMA_CM_EVENT_UNREACHABLE (Connection timed out)"},
       {Fault::kStale,
        "RDMA_CM_EVENT_REJECTED (status 10, stale connection)"}}));
  Strangers pair;
  auto& near = pair.ends[0];
  auto& far = pair.ends[1];
  faults().assign(kConnectAttempts, fault);
  REQUIRE(near.send_one() == Status::kAgain);
  // Set when the next attempt has a deadline, so that a thread may sleep until
  // then.
  bool has_slept = false;
  REQUIRE(pair.until([&] {
    const TimePoint deadline = near.transport->next_deadline();
    has_slept |= deadline > SteadyClock().now() && deadline != TimePoint::max();
    return near.failures == 1;
  }));
  CHECK(has_slept);
  CHECK(faults().empty());
  CHECK(near.transport->counters().retried == kConnectAttempts - 1);
  INFO(near.failure);
  for (const char* text :
       {"rank 1 at ", " by ", "connecting has failed 6 times in ", event,
        "(ping, rping)", "ACP_VERBS_DEVICES"}) {
    CHECK(near.failure.find(text) != std::string::npos);
  }
  CHECK(near.send_one() == Status::kPeerDead);
  CHECK(far.failures == 0);
}

}  // namespace acp::verbs
