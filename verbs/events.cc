// The part of VerbsTransport that takes events of connections (rdma_cm) and of
// devices. Called by poll(). It never waits for an event. A request from
// outside of the job may make no endpoint.
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "verbs/verbs_transport.h"

namespace acp::verbs {

namespace {

/// A copy of an event. The event has to be acknowledged before the connection
/// it is about can be destroyed.
struct ConnectionEvent {
  rdma_cm_event_type type{};
  int status = 0;
  rdma_cm_id* id = nullptr;
  const Device* listener = nullptr;  ///< Set for a request.
  ReadDepths depths;                 ///< Set for a request.
  std::array<std::byte, 256> data{};
  std::size_t data_bytes = 0;
};

ConnectionEvent copy_of(const rdma_cm_event& event) {
  ConnectionEvent copy;
  copy.type = event.event;
  copy.status = event.status;
  copy.id = event.id;
  if (event.listen_id != nullptr) {
    copy.listener = static_cast<const Device*>(event.listen_id->context);
  }
  const rdma_conn_param& connection = event.param.conn;
  copy.depths = {.responder_resources = connection.responder_resources,
                 .initiator_depth = connection.initiator_depth};
  if (connection.private_data != nullptr) {
    copy.data_bytes = connection.private_data_len;
    std::memcpy(copy.data.data(), connection.private_data, copy.data_bytes);
  }
  return copy;
}

/// The device that listens with this id; null if the id is a connection's.
const Device* listener_of(const rdma_cm_id& id,
                          std::span<const std::unique_ptr<Device>> devices) {
  for (const auto& device : devices) {
    if (id.context == device.get()) {
      return device.get();
    }
  }
  return nullptr;
}

}  // namespace

void VerbsTransport::take_events() {
  has_events_ = false;
  while (take_connection_event()) {
  }
  for (const auto& device : devices_) {
    take_device_events(*device);
  }
}

/// Takes one event. False: there was none.
bool VerbsTransport::take_connection_event() {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel_.get(), &event) != 0) {
    return false;
  }
  const ConnectionEvent copy = copy_of(*event);
  rdma_ack_cm_event(event);
  const auto data = std::span(copy.data).first(copy.data_bytes);
  if (copy.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
    on_request(*copy.listener, CmId(copy.id), data, copy.depths);
  } else if (const Device* listener = listener_of(*copy.id, devices_)) {
    on_listener_event(*listener, copy.type, copy.status);
  } else {
    static_cast<Endpoint*>(copy.id->context)
        ->on_event(*copy.id, copy.type, copy.status, data);
  }
  return true;
}

/// A removed device is lost to this process even without connections, and no
/// other process can tell. Some devices (rxe) wait in their removal until this
/// process lets go of them.
void VerbsTransport::on_listener_event(const Device& device,
                                       rdma_cm_event_type event,
                                       int status) {
  if (event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
    endpoint_from_myself(device.color()).fail(kDeviceRemoved);
  } else {
    log_warning("verbs: {}: listening: {} (status {})", device.name(),
                rdma_event_str(event), status);
  }
}

/// Checks the hello before anything is made: only processes of this job with
/// equal settings are passed to an endpoint.
void VerbsTransport::on_request(const Device& device,
                                CmId id,
                                std::span<const std::byte> data,
                                ReadDepths depths) {
  const auto hello = decode_hello(data);
  const bool is_mine = hello && hello->source == options_.me;
  const bool is_ours =
      hello && hello->job == options_.job &&
      hello->destination == options_.me &&
      (!is_mine || (shared_.executes_atomics && hello->color == 0)) &&
      hello->source < options_.procs && hello->color == device.color() &&
      hello->packet_bytes == kPacketBytes && hello->window == kWindow;
  if (!is_ours) {
    ++shared_.counters.refused;
    log(LogLevel::kDebug, "verbs: {}: a stranger's request", device.name());
    rdma_reject(id.get(), nullptr, 0);
    return;
  }
  const Result<Endpoint*> endpoint =
      is_mine ? Result<Endpoint*>(&endpoint_from_myself(0))
              : endpoint_to(hello->source, hello->color);
  if (endpoint.ok()) {
    endpoint.value()->on_request(std::move(id), depths, hello->pair);
  } else {
    refuse(std::move(id), Refusal::kGone);
  }
}

/// Logs each event of the device. Completions show what an event means for a
/// connection; only a shared receive queue that runs low needs an answer here.
void VerbsTransport::take_device_events(const Device& device) {
  ibv_async_event event{};
  while (ibv_get_async_event(&device.context(), &event) == 0) {
    const bool is_port = event.event_type == IBV_EVENT_PORT_ERR ||
                         event.event_type == IBV_EVENT_PORT_ACTIVE;
    const bool is_fatal = event.event_type == IBV_EVENT_DEVICE_FATAL ||
                          event.event_type == IBV_EVENT_CQ_ERR ||
                          event.event_type == IBV_EVENT_QP_FATAL ||
                          event.event_type == IBV_EVENT_SRQ_ERR ||
                          event.event_type == IBV_EVENT_PORT_ERR;
    log(is_fatal ? LogLevel::kWarning : LogLevel::kDebug, "verbs: {}{}: {}",
        ibv_get_device_name(device.context().device),
        is_port ? fmt::format(" port {}", event.element.port_num) : "",
        ibv_event_type_str(event.event_type));
    ibv_ack_async_event(&event);
    if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
      // Ports of one device share the event.
      for (const auto& each : devices_) {
        each->receives().on_low(event.element.srq);
      }
    }
  }
}

}  // namespace acp::verbs
