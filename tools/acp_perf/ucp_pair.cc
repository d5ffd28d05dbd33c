// Makes UCP contexts, workers and one endpoint, as the transport `ucx` does.
// The raw UCP rows use it on ranks 0 and 1. The worker's address and the key of
// the inbox go from rank 1 to rank 0 by ACP, in rank 1's outbox. Rank 0 may not
// wait for them for longer than ten seconds.
#include "ucp_pair.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "timing.h"

namespace acp::perf {

namespace {

/// Longest time that rank 1 takes to open UCX, on a machine that is busy.
constexpr std::int64_t kMeetNs = 10'000'000'000;

/// The head of rank 1's outbox. The worker's address and the key follow.
struct Offer {
  std::uint64_t inbox;  ///< Its address in rank 1.
  std::uint64_t address_bytes;
  std::uint64_t key_bytes;
};

/// The devices that the transport `ucx` has for color 0; "" when UCX chooses.
std::string devices_of_color_0() {
  const char* lists = std::getenv("ACP_UCX_DEVICES");
  const std::string_view all = lists != nullptr ? lists : "";
  return std::string(all.substr(0, all.find(';')));
}

const char* atomic_mode() {
  const char* executor = std::getenv("ACP_UCX_ATOMICS");
  return executor != nullptr ? executor : "cpu";
}

ucp_request_param_t no_options() {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  return param;
}

}  // namespace

UcpPair::UcpPair(Context& context) : context_(context), ucp_(ucp_library()) {
  if (ucp_ == nullptr) {
    obstacle_ = "libucp.so.0 is not installed, or lacks a function";
  } else {
    open();
  }
}

UcpPair::~UcpPair() {
  if (key_ != nullptr) ucp_->ucp_rkey_destroy(key_);
  if (endpoint_ != nullptr) {
    const ucp_request_param_t param{};  // rank 1 still drives its worker
    wait(ucp_->ucp_ep_close_nbx(endpoint_, &param));
  }
  if (memory_ != nullptr) ucp_->ucp_mem_unmap(context_of_ucp_, memory_);
  if (worker_ != nullptr) ucp_->ucp_worker_destroy(worker_);
  if (context_of_ucp_ != nullptr) ucp_->ucp_cleanup(context_of_ucp_);
}

bool UcpPair::fail(const char* call, ucs_status_t status) {
  obstacle_ = std::string(call) + ": status " + std::to_string(int{status}) +
              " of UCX; UCX_LOG_LEVEL=info says more";
  return false;
}

/// UCX gets the features and the way of atomics that the transport ucx asks
/// for, so both rows measure one path. False: fail() has kept the reason.
bool UcpPair::open() {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_->ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return fail("ucp_config_read", status);
  ucp_->ucp_config_modify(config, "ATOMIC_MODE", atomic_mode());
  if (const std::string devices = devices_of_color_0(); !devices.empty()) {
    ucp_->ucp_config_modify(config, "NET_DEVICES", devices.c_str());
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
                    UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP;
  status = ucp_->ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config,
                                  &context_of_ucp_);
  ucp_->ucp_config_release(config);
  if (status != UCS_OK) return fail("ucp_init", status);
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucp_->ucp_worker_create(context_of_ucp_, &worker, &worker_);
  return status == UCS_OK || fail("ucp_worker_create", status);
}

/// Maps the inbox, and tells rank 0 of it when all of the offer is in place.
void UcpPair::publish() {
  ucp_mem_map_params_t params{};
  params.field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = context_.memory.own_inbox();
  params.length = kBufferBytes;
  ucp_address_t* address = nullptr;
  void* key = nullptr;
  std::size_t address_bytes = 0;
  std::size_t key_bytes = 0;
  if (ucp_->ucp_mem_map(context_of_ucp_, &params, &memory_) != UCS_OK ||
      ucp_->ucp_rkey_pack(context_of_ucp_, memory_, &key, &key_bytes) !=
          UCS_OK ||
      ucp_->ucp_worker_get_address(worker_, &address, &address_bytes) !=
          UCS_OK) {
    return;  // rank 0 waits in vain, and skips the row
  }
  const Offer offer{
      reinterpret_cast<std::uint64_t>(context_.memory.own_inbox()),
      address_bytes, key_bytes};
  std::byte* to = context_.memory.own_outbox();
  std::memcpy(to, &offer, sizeof offer);
  std::memcpy(to + sizeof offer, address, address_bytes);
  std::memcpy(to + sizeof offer + address_bytes, key, key_bytes);
  ucp_->ucp_worker_release_address(worker_, address);
  ucp_->ucp_rkey_buffer_release(key);
  context_.memory.put_word(0, Word::kMet, context_.row);
}

void UcpPair::serve() {
  if (obstacle_.empty()) publish();
  spin_until([this] {
    if (worker_ != nullptr) ucp_->ucp_worker_progress(worker_);
    return context_.is_row_over();
  });
}

/// Waits for rank 1's offer, and takes it.
bool UcpPair::connect() {
  if (!obstacle_.empty()) return false;
  const std::int64_t deadline = now_ns() + kMeetNs;
  const std::atomic_ref<std::uint64_t> met(
      *context_.memory.own_word(Word::kMet));
  bool has_met = false;
  spin_until([&] {
    has_met = met.load(std::memory_order_acquire) == context_.row;
    return has_met || now_ns() > deadline;
  });
  if (!has_met) {
    obstacle_ = "rank 1 cannot use UCX";
    return false;
  }
  std::byte* own = context_.memory.own_outbox();
  acp_complete(acp_copy(context_.memory.outbox(0), context_.memory.outbox(1),
                        std::size_t{64} << 10, ACP_HANDLE_NULL));
  Offer offer{};
  std::memcpy(&offer, own, sizeof offer);
  remote_ = offer.inbox;
  const std::byte* address = own + sizeof offer;
  if (!make_endpoint(address)) return false;
  const ucs_status_t status =
      ucp_->ucp_ep_rkey_unpack(endpoint_, address + offer.address_bytes, &key_);
  return status == UCS_OK || fail("ucp_ep_rkey_unpack", status);
}

/// Tries UCX's error modes in the order of the transport, because UCX's
/// transports depend on the mode.
bool UcpPair::make_endpoint(const void* address) {
  const auto [first, second] =
      context_.is_same_host
          ? std::pair{UCP_ERR_HANDLING_MODE_NONE, UCP_ERR_HANDLING_MODE_PEER}
          : std::pair{UCP_ERR_HANDLING_MODE_PEER, UCP_ERR_HANDLING_MODE_NONE};
  ucs_status_t status = make_endpoint_in(first, address);
  if (status != UCS_OK) {
    status = make_endpoint_in(second, address);
  }
  return status == UCS_OK || fail("ucp_ep_create", status);
}

ucs_status_t UcpPair::make_endpoint_in(ucp_err_handling_mode_t mode,
                                       const void* address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = static_cast<const ucp_address_t*>(address);
  params.err_mode = mode;
  params.err_handler.cb = [](void*, ucp_ep_h, ucs_status_t) {
    // The operations that have failed say so.
  };
  return ucp_->ucp_ep_create(worker_, &params, &endpoint_);
}

ucs_status_ptr_t UcpPair::put(const void* from,
                              std::size_t bytes,
                              std::size_t offset) {
  const ucp_request_param_t param = no_options();
  return ucp_->ucp_put_nbx(endpoint_, from, bytes, remote_ + offset, key_,
                           &param);
}

ucs_status_ptr_t UcpPair::get(void* to, std::size_t bytes, std::size_t offset) {
  const ucp_request_param_t param = no_options();
  return ucp_->ucp_get_nbx(endpoint_, to, bytes, remote_ + offset, key_,
                           &param);
}

ucs_status_ptr_t UcpPair::atomic(ucp_atomic_op_t operation,
                                 const std::uint64_t* operand,
                                 std::uint64_t* result,
                                 std::size_t offset) {
  ucp_request_param_t param = no_options();
  param.op_attr_mask |=
      UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_DATATYPE;
  param.reply_buffer = result;
  param.datatype = ucp_dt_make_contig(sizeof *operand);
  return ucp_->ucp_atomic_op_nbx(endpoint_, operation, operand, 1,
                                 remote_ + offset, key_, &param);
}

bool UcpPair::wait(ucs_status_ptr_t request) {
  if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request) == UCS_OK;
  ucs_status_t status = UCS_INPROGRESS;
  while ((status = ucp_->ucp_request_check_status(request)) == UCS_INPROGRESS) {
    ucp_->ucp_worker_progress(worker_);
  }
  ucp_->ucp_request_free(request);
  return status == UCS_OK;
}

bool UcpPair::release(ucs_status_ptr_t request) {
  if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request) == UCS_OK;
  ucp_->ucp_request_free(request);
  return true;
}

bool UcpPair::flush() {
  const ucp_request_param_t param{};
  return wait(ucp_->ucp_ep_flush_nbx(endpoint_, &param));
}

}  // namespace acp::perf
