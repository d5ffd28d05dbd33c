// Tests of peers that are lost, and of transports that end while UCX still has
// operations for them. The linker wraps the calls of UCX that are watched here.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/host_facts.h"
#include "transport/ucx/packet.h"
#include "ucx/pair.h"

namespace {

/// The five are written by each rank's threads. The next fences fail.
std::atomic<bool> g_refuses_fences = false;
/// The next packets fail.
std::atomic<bool> g_refuses_packets = false;
/// UCX makes no endpoint in error mode PEER.
std::atomic<bool> g_refuses_mode_peer = false;
/// Rkeys that exist, and how many existed at the last close of an endpoint.
std::atomic<int> g_rkeys = 0;
std::atomic<int> g_rkeys_at_close = -1;

}  // namespace

// The linker chooses the names.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" {
ucs_status_t __real_ucp_worker_fence(ucp_worker_h worker);
ucs_status_t __real_ucp_ep_rkey_unpack(ucp_ep_h, const void*, ucp_rkey_h*);
void __real_ucp_rkey_destroy(ucp_rkey_h rkey);
ucs_status_t __real_ucp_ep_create(ucp_worker_h,
                                  const ucp_ep_params_t*,
                                  ucp_ep_h*);
ucs_status_ptr_t __real_ucp_ep_close_nbx(ucp_ep_h, const ucp_request_param_t*);
ucs_status_ptr_t __real_ucp_am_send_nbx(ucp_ep_h,
                                        unsigned,
                                        const void*,
                                        std::size_t,
                                        const void*,
                                        std::size_t,
                                        const ucp_request_param_t*);

ucs_status_t __wrap_ucp_worker_fence(ucp_worker_h worker) {
  return g_refuses_fences ? UCS_ERR_UNSUPPORTED
                          : __real_ucp_worker_fence(worker);
}

ucs_status_t __wrap_ucp_ep_rkey_unpack(ucp_ep_h endpoint,
                                       const void* bytes,
                                       ucp_rkey_h* rkey) {
  ++g_rkeys;
  return __real_ucp_ep_rkey_unpack(endpoint, bytes, rkey);
}

void __wrap_ucp_rkey_destroy(ucp_rkey_h rkey) {
  --g_rkeys;
  __real_ucp_rkey_destroy(rkey);
}

ucs_status_t __wrap_ucp_ep_create(ucp_worker_h worker,
                                  const ucp_ep_params_t* params,
                                  ucp_ep_h* endpoint) {
  return g_refuses_mode_peer && params->err_mode == UCP_ERR_HANDLING_MODE_PEER
             ? UCS_ERR_UNREACHABLE
             : __real_ucp_ep_create(worker, params, endpoint);
}

ucs_status_ptr_t __wrap_ucp_ep_close_nbx(ucp_ep_h endpoint,
                                         const ucp_request_param_t* param) {
  g_rkeys_at_close = g_rkeys.load();
  return __real_ucp_ep_close_nbx(endpoint, param);
}

ucs_status_ptr_t __wrap_ucp_am_send_nbx(ucp_ep_h endpoint,
                                        unsigned id,
                                        const void* header,
                                        std::size_t header_bytes,
                                        const void* packet,
                                        std::size_t bytes,
                                        const ucp_request_param_t* param) {
  return g_refuses_packets
             ? UCS_STATUS_PTR(UCS_ERR_CONNECTION_RESET)
             : __real_ucp_am_send_nbx(endpoint, id, header, header_bytes,
                                      packet, bytes, param);
}
}

// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

namespace acp::ucx {

namespace {

using Bytes = std::vector<std::byte>;

constexpr const char* kShm = "posix,cma,self";

/// A worker that says it is process 1.
class Impostor {
 public:
  /// Sends to this transport, in color 0.
  explicit Impostor(const UcxTransport& to) {
    auto opened = Worker::open(0, "", Executor::kCpu);
    REQUIRE(opened.ok());
    worker_ = std::move(*opened);
    const auto card = decode_card(to.card());
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address =
        reinterpret_cast<const ucp_address_t*>(card->addresses[0].all.data());
    REQUIRE(ucp_ep_create(worker_->handle(), &params, &endpoint_) == UCS_OK);
  }

  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  ~Impostor() {
    if (request_ != nullptr) {
      ucp_request_free(request_);
    }
  }

  /// Sends a packet with one control frame.
  void send(const Bytes& frame, std::uint32_t number = 0) {
    packet_.resize(kPacketHeaderBytes + kFrameHeaderBytes);
    encode_packet_header({.from = 1, .number = number, .job = 0},
                         packet_.data());
    encode_frame_header(FrameKind::kControl, frame.size(),
                        packet_.data() + kPacketHeaderBytes);
    packet_.insert(packet_.end(), frame.begin(), frame.end());
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    request_ = ucp_am_send_nbx(endpoint_, 0, nullptr, 0, packet_.data(),
                               packet_.size(), &param);
    REQUIRE_FALSE(UCS_PTR_IS_ERR(request_));
  }

  void pass() { ucp_worker_progress(worker_->handle()); }

 private:
  std::unique_ptr<Worker> worker_;
  ucp_ep_h endpoint_ = nullptr;
  Bytes packet_;
  ucs_status_ptr_t request_ = nullptr;
};

/// Sends messages to process 1, which takes none, until UCX has so many that
/// some are pending.
void fill(Pair& pair, transport::Color color) {
  const Bytes bytes(kMaxMessage);
  const std::span<const std::byte> part = bytes;
  for (std::uint32_t i = 0; i < kPacketWindow; ++i) {
    REQUIRE(pair.endpoint(color).send({&part, 1}, transport::Ordering::kFree) ==
            Status::kOk);
    pair.transports[0]->flush();
  }
}

/// Ends process 1, as acp_finalize does, and waits until process 0 sees it.
void lose_process_1(Pair& pair) {
  pair.transports[1].reset();
  REQUIRE(poll_until(
      [&] { pair.pass(0); },
      [&] { return pair.endpoint().state() == EndpointState::kGone; }));
}

}  // namespace

TEST_CASE("ucx lost: the end of a transport ends its operations first",
          "[ucx][lost]") {
  const auto [name, is_one_host] = GENERATE(table<const char*, bool>(
      {{kShm, true}, {"tcp,self", true}, {"tcp,self", false}}));
  const OtherTls tls(name);
  Pair pair({.is_one_host = is_one_host});
  fill(pair, 0);
  pair.transports[0].reset();
  pair.transports[1].reset();
}

TEST_CASE("ucx lost: a peer is reported when UCX has ended all its colors",
          "[ucx][lost]") {
  const OtherTls tls(kShm);
  Pair pair({.devices = "lo;lo", .is_one_host = true});
  fill(pair, 1);
  Impostor impostor(*pair.transports[0]);
  impostor.send(Bytes(1));  // a damaged frame
  REQUIRE(poll_until(
      [&] {
        impostor.pass();
        pair.pass(0);
      },
      [&] { return pair.endpoint(0).state() == EndpointState::kFailed; }));
  for (int i = 0; i < 100; ++i) {
    pair.pass(0);
    CHECK(pair.sinks[0].failures == 0);
  }
  CHECK(poll_until([&] { pair.pass(); },
                   [&] {
                     return pair.sinks[0].failures == 1 &&
                            pair.sinks[1].messages == kPacketWindow;
                   }));
  CHECK(pair.endpoint(1).state() == EndpointState::kFailed);
  pair.pass(0);
  CHECK(pair.sinks[0].failures == 1);
}

TEST_CASE("ucx lost: rkeys end before their endpoint", "[ucx][lost]") {
  const OtherTls tls("tcp,self");
  Pair pair;
  g_rkeys = 0;
  g_rkeys_at_close = -1;
  pair.get_registration();
  CHECK(g_rkeys == 1);
  lose_process_1(pair);
  pair.pass(0);
  CHECK(g_rkeys_at_close == 0);
  CHECK(g_rkeys == 0);
}

TEST_CASE("ucx lost: a chain without a fence fails", "[ucx][lost]") {
  Pair pair({.is_one_host = true});
  pair.get_registration();
  const std::array puts{pair.step(protocol::Opcode::kPut),
                        pair.step(protocol::Opcode::kPut)};
  g_refuses_fences = true;
  REQUIRE(pair.endpoint().post(puts, 7) == Status::kOk);
  g_refuses_fences = false;
  CHECK(poll_until([&] { pair.pass(); },
                   [&] { return pair.sinks[0].failures == 1; }));
  CHECK(pair.sinks[0].last_failure.find("fence") != std::string::npos);
  CHECK(pair.sinks[0].done == 1);  // get_registration() has posted one chain.
}

TEST_CASE("ucx lost: a peer that is lost at one end only is missed",
          "[ucx][lost]") {
  const OtherTls tls("tcp,self");
  Pair pair;
  pair.get_registration();
  Impostor impostor(*pair.transports[0]);
  lose_process_1(pair);
  CHECK(pair.endpoint().gone_deadline() == TimePoint::max());
  // Process 1 has sent one packet, with its registration; this one is its
  // second.
  impostor.send(transport::encode_control(
                    {.kind = GENERATE(transport::ControlKind::kRevoke,
                                      transport::ControlKind::kWant),
                     .key = 5,
                     .state = 1}),
                1);
  CHECK(poll_until(
      [&] {
        impostor.pass();
        pair.pass(0);
      },
      [&] { return pair.endpoint().gone_deadline() != TimePoint::max(); }));
}

TEST_CASE("ucx lost: a message behind a refused packet is not accepted",
          "[ucx][lost]") {
  Pair pair;
  pair.get_registration();
  const Bytes bytes(kMaxMessage);
  const std::span<const std::byte> part = bytes;
  Endpoint& endpoint = pair.endpoint();
  REQUIRE(endpoint.send({&part, 1}, transport::Ordering::kFree) == Status::kOk);
  // The second message has no room beside the first, whose packet leaves.
  g_refuses_packets = true;
  const Status second = endpoint.send({&part, 1}, transport::Ordering::kFree);
  g_refuses_packets = false;
  CHECK(second == Status::kAgain);
  CHECK(endpoint.state() == EndpointState::kGone);
  CHECK(endpoint.gone_deadline() != TimePoint::max());
}

TEST_CASE("ucx lost: an answer about memory is not missed", "[ucx][lost]") {
  const OtherTls tls("tcp,self");
  Pair pair;
  const transport::RemoteStep get = pair.step(protocol::Opcode::kGet);
  CHECK(pair.endpoint().post({&get, 1}, 0) == Status::kUnsupported);
  pair.pass();  // connects
  CHECK(pair.endpoint().post({&get, 1}, 0) == Status::kUnsupported);
  pair.pass(0);  // asks
  lose_process_1(pair);
  CHECK(pair.endpoint().gone_deadline() == TimePoint::max());
}

TEST_CASE("ucx lost: a network without mode PEER leads to another host",
          "[ucx][lost]") {
  const OtherTls tls("tcp,self");
  Pair pair({.is_one_host = false});
  g_refuses_mode_peer = true;
  pair.get_registration();
  g_refuses_mode_peer = false;
  for (const auto& transport : pair.transports) {
    CHECK(transport->counters().connected == 1);
    CHECK(transport->counters().unwatched == 1);
  }
}

/// UCX would take its shared memory here, because both processes see one
/// machine.
TEST_CASE("ucx lost: shared memory leads to no other host", "[ucx][lost]") {
  const OtherTls tls(kShm);
  Pair pair({.is_one_host = false});
  const Bytes bytes(8);
  const std::span<const std::byte> part = bytes;
  REQUIRE(pair.endpoint().send({&part, 1}, transport::Ordering::kFree) ==
          Status::kOk);
  REQUIRE(poll_until([&] { pair.pass(0); },
                     [&] { return pair.sinks[0].failures == 1; }));
  CHECK(pair.sinks[0].last_failure.find(host_name()) != std::string::npos);
  for (const char* text : {"no way to it", "that lead from host to host",
                           "UCX's shared memory does not"}) {
    CAPTURE(text, pair.sinks[0].last_failure);
    CHECK(pair.sinks[0].last_failure.find(text) != std::string::npos);
  }
}

// The peer asks for a region by a way of its own, so it becomes a holder, but
// no answer can reach it. The region has to end all the same.
TEST_CASE("ucx lost: a peer without a way to it keeps no region alive",
          "[ucx][lost]") {
  const OtherTls tls("tcp,self");
  Pair pair;
  {
    const OtherTls other(kShm);
    UcxOptions options;
    options.me = 1;
    options.procs = 2;
    auto unreachable = UcxTransport::open(std::move(options));
    REQUIRE(unreachable.ok());
    pair.transports[1] = std::move(*unreachable);
  }
  Impostor impostor(*pair.transports[0]);
  impostor.send(transport::encode_control(
      {.kind = transport::ControlKind::kWant,
       .key = 3,
       .offset = reinterpret_cast<std::uintptr_t>(&pair.local) %
                 transport::kOffsetAlignment}));
  REQUIRE(poll_until(
      [&] {
        impostor.pass();
        pair.pass(0);
      },
      [&] { return pair.sinks[0].failures == 1; }));
  CHECK(pair.transports[0]->counters().control.told == 1);
  CHECK(pair.transports[0]->on_unregistered(3, 1));
}

}  // namespace acp::ucx
