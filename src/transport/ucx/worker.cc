// Opens and closes UCP contexts and workers, and maps memory. Called by
// UcxTransport when it opens, and by Regions. UCX may keep no handler of fault
// signals, and no connection may make the caller wait, because the engine's
// mutex is held.
#include "transport/ucx/worker.h"

#include <dlfcn.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <ucs/debug/debug.h>

#include "base/blocked_signals.h"
#include "base/log.h"
#include "base/memory_map.h"
#include "transport/ucx/ucx_log.h"

namespace acp::ucx {

namespace {

/// Logs which call failed, and what the user has set.
Status report(const char* call,
              ucs_status_t status,
              const std::string& devices) {
  const char* tls = std::getenv("UCX_TLS");
  const char* all = std::getenv("UCX_NET_DEVICES");
  log_error(
      "ucx: {}: {} (UCX_TLS={}, {}={}): acp_info lists what UCX finds here; "
      "UCX_TLS, UCX_NET_DEVICES and ACP_UCX_DEVICES choose among it",
      call, ucs_status_string(status), tls == nullptr ? "all" : tls,
      devices.empty() ? "UCX_NET_DEVICES" : "a list of ACP_UCX_DEVICES",
      !devices.empty() ? devices
      : all == nullptr ? "all"
                       : all);
  return status == UCS_ERR_NO_MEMORY ? Status::kNoMemory : Status::kUnsupported;
}

/// Makes TCP connections without waiting for them, unless the user has chosen.
/// UCX's default waits inside ucp_ep_create, and the engine's mutex with it.
/// Over rc_verbs beside tcp UCX 1.13.1 also crashes that way (docs/ucx.md,
/// "Tests"). UCX 1.13 has the first name, 1.18 and later have the second. A
/// version ignores the name that it does not have.
void connect_without_waiting(ucp_config_t* config) {
  if (std::getenv("UCX_TCP_CONN_NB") == nullptr) {
    for (const char* name : {"CONN_NB", "TCP_CONN_NB"}) {
      static_cast<void>(ucp_config_modify(config, name, "y"));
    }
  }
}

/// Makes a worker. UCX warns of unused values, such as those of
/// connect_without_waiting() in a worker without TCP. So warnings are off,
/// unless the user has chosen a level.
ucs_status_t make_worker(ucp_context_h context, ucp_worker_h& worker) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  std::optional<UcxLogLevel> quiet;
  if (std::getenv("UCX_LOG_LEVEL") == nullptr) {
    quiet.emplace("error");
  }
  return ucp_worker_create(context, &params, &worker);
}

/// UCX has handlers for four signals of faults, which write a backtrace. When
/// UCX is loaded with this module, they replace the handler by which the
/// library survives accesses to memory that is gone. Faults are the library's
/// and the program's again.
void return_fault_signals() {
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction now {};

    Dl_info owner{};
    if (::sigaction(fault, nullptr, &now) == 0 &&
        (now.sa_flags & SA_SIGINFO) != 0 &&
        ::dladdr(reinterpret_cast<void*>(now.sa_sigaction), &owner) != 0 &&
        std::string_view(owner.dli_fname).find("libucs") !=
            std::string_view::npos) {
      ucs_debug_disable_signal(fault);
    }
  }
}

}  // namespace

std::uint32_t library_version() noexcept {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return major << 16 | minor;
}

Result<std::unique_ptr<Worker>> Worker::open(transport::Color color,
                                             const std::string& devices,
                                             Executor atomics) {
  std::unique_ptr<Worker> worker(new Worker());
  worker->color_ = color;
  const char* all = std::getenv("UCX_NET_DEVICES");
  worker->devices_ = !devices.empty() ? devices : all != nullptr ? all : "all";
  const Status status = worker->create(devices, atomics);
  if (status != Status::kOk) {
    return status;
  }
  return worker;
}

/// The context has the color's devices. Without an executor that the user has
/// chosen, atomics have to agree with those of CPUs.
Status Worker::create(const std::string& devices, Executor atomics) {
  const BlockedSignals blocked;  // UCX starts threads.
  return_fault_signals();
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) {
    return report("ucp_config_read", status, devices);
  }
  const char* call = "ucp_config_modify";
  if (!devices.empty()) {
    status = ucp_config_modify(config, "NET_DEVICES", devices.c_str());
  }
  if (status == UCS_OK) {
    status = ucp_config_modify(config, "ATOMIC_MODE", executor_name(atomics));
  }
  connect_without_waiting(config);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
                    UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP;
  if (status == UCS_OK) {
    call = "ucp_init";
    status = ucp_init(&params, config, &context_);
  }
  ucp_config_release(config);
  if (status != UCS_OK) {
    return report(call, status, devices);
  }
  status = make_worker(context_, worker_);
  if (status != UCS_OK) {
    return report("ucp_worker_create", status, devices);
  }
  status = ucp_worker_get_efd(worker_, &descriptor_);
  if (status != UCS_OK) {
    return report("ucp_worker_get_efd", status, devices);
  }
  status = pack_address(0, addresses_.all);
  if (status == UCS_OK) {
    status = pack_address(UCP_WORKER_ADDRESS_FLAG_NET_ONLY, addresses_.network);
  }
  return status == UCS_OK ? Status::kOk
                          : report("ucp_worker_query", status, devices);
}

/// The bytes by which an endpoint of another worker finds this one.
ucs_status_t Worker::pack_address(std::uint32_t flags,
                                  std::vector<std::byte>& packed) {
  ucp_worker_attr_t attributes{};
  attributes.field_mask =
      UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
  attributes.address_flags = flags;
  const ucs_status_t status = ucp_worker_query(worker_, &attributes);
  if (status == UCS_OK) {
    const auto* bytes = reinterpret_cast<const std::byte*>(attributes.address);
    packed.assign(bytes, bytes + attributes.address_length);
    ucp_worker_release_address(worker_, attributes.address);
  }
  return status;
}

Worker::~Worker() {
  if (worker_ != nullptr) {
    ucp_worker_destroy(worker_);
  }
  if (context_ != nullptr) {
    ucp_cleanup(context_);
  }
}

MemoryHandle Worker::register_memory(std::byte* address,
                                     std::size_t size,
                                     LogLevel refusal) {
  std::string why;
  MemoryHandle made;
  made.memory = map(address, size, why);
  if (made.memory.get() != nullptr) {
    made.rkey = pack_rkey(made.memory);
    why = "its rkey cannot be packed";
  }
  if (!made) {
    log(refusal,
        "ucx: mapping {} bytes at {}: {}; copies to and from there go as "
        "messages, which is slower",
        size, static_cast<void*>(address), why);
  }
  return made;
}

/// Where UCX emulates accesses, peers' puts and gets are loads and stores in
/// this process. So memory that the program has made read-only, or unmapped, is
/// not mapped: the agent refuses accesses to it. Null, with the reason in
/// `why`, when it is refused.
MappedMemory Worker::map(std::byte* address,
                         std::size_t size,
                         std::string& why) {
  const auto obstacle = MemoryMap().find_obstacle(
      reinterpret_cast<std::uintptr_t>(address), size);
  if (!obstacle.text.empty()) {
    why = fmt::format("{:#x} {}", obstacle.address, obstacle.text);
    return {};
  }
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = address;
  params.length = size;
  params.memory_type = UCS_MEMORY_TYPE_HOST;
  ucp_mem_h memory = nullptr;
  const ucs_status_t status = ucp_mem_map(context_, &params, &memory);
  if (status != UCS_OK) {
    why = ucs_status_string(status);
    return {};
  }
  return {context_, memory};
}

/// The bytes of which a peer makes an rkey; empty when UCX refuses.
std::vector<std::byte> Worker::pack_rkey(const MappedMemory& memory) {
  void* buffer = nullptr;
  std::size_t size = 0;
  if (ucp_rkey_pack(context_, memory.get(), &buffer, &size) != UCS_OK) {
    return {};
  }
  const auto* bytes = static_cast<const std::byte*>(buffer);
  std::vector<std::byte> packed(bytes, bytes + size);
  ucp_rkey_buffer_release(buffer);
  return packed;
}

}  // namespace acp::ucx
