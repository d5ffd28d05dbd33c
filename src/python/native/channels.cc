// Channels: their ends, sends and receives. acp/channels.py keeps the buffers
// of requests that are under way, and packs objects into messages.
#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"
#include "python/native/waits.h"

namespace acp::python {

namespace {

std::uint64_t number_of(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// Handles of channels are numbers in the shape of pointers.
template <typename Handle>
Handle handle_of(std::uint64_t number) {
  return reinterpret_cast<Handle>(number);  // NOLINT: see above
}

std::uint64_t create_ch(int sender, int receiver) {
  return number_of(acp_create_ch(sender, receiver));
}

std::uint64_t nbfree_ch(std::uint64_t channel) {
  return number_of(acp_nbfree_ch(handle_of<acp_ch_t>(channel)));
}

/// nbsend_ch(channel, buffer) and nbrecv_ch(channel, buffer): the request. The
/// caller keeps the buffer until wait_ch.
template <Text kName, auto kFunction, int kFlags>
PyObject* post(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t count,
               PyObject* /*keywords*/) {
  Argument<std::uint64_t> channel;
  Buffer buffer;
  if (!channel.take(arguments[0]) || !buffer.take(arguments[1], kFlags)) {
    return nullptr;
  }
  acp_request_t request = ACP_REQUEST_NULL;
  {
    const WithoutGil without;
    request = kFunction(handle_of<acp_ch_t>(channel.value), buffer.data(),
                        buffer.size());
  }
  return request == ACP_REQUEST_NULL
             ? raise_failure({kName.text, arguments, count})
             : to_python(number_of(request));
}

/// wait_ch(request, timeout): the bytes received, or None when the time is
/// over.
PyObject* wait_ch(PyObject* /*module*/,
                  PyObject* const* arguments,
                  Py_ssize_t count,
                  PyObject* /*keywords*/) {
  Argument<std::uint64_t> request;
  TimeLimit limit;
  if (!request.take(arguments[0]) ||
      !limit.take(count > 1 ? arguments[1] : nullptr)) {
    return nullptr;
  }
  std::size_t size = 0;
  const Waited waited = wait_in_slices(limit, [&](int slice_ms) {
    return acpx_wait_ch_timeout(handle_of<acp_request_t>(request.value),
                                slice_ms, &size);
  });
  switch (waited) {
    case Waited::kDone: return to_python(size);
    case Waited::kTimedOut: Py_RETURN_NONE;
    case Waited::kFailed:
      return raise_failure({"acp_wait_ch", arguments, count});
    case Waited::kRaised: break;
  }
  return nullptr;
}

}  // namespace

PyMethodDef* channel_methods() {
  static PyMethodDef methods[] = {
      row<"acp_create_ch", create_ch, Fails::kByZero>(),
      row<"acp_nbfree_ch", nbfree_ch, Fails::kByZero>(),
      row("nbsend_ch", post<"acp_nbsend_ch", acp_nbsend_ch, PyBUF_SIMPLE>),
      row("nbrecv_ch", post<"acp_nbrecv_ch", acp_nbrecv_ch, PyBUF_WRITABLE>),
      row("wait_ch", wait_ch),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
