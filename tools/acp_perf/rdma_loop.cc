// Implements RdmaLoop with bare verbs: opens a device, connects two of its
// queue pairs, posts and polls. Only the raw RDMA rows use it, and it makes no
// call of ACP.
#include "rdma_loop.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "timing.h"

namespace acp::perf {

namespace {

using DeviceList =
    std::unique_ptr<ibv_device*,
                    RdmaReleaser<&RdmaLibrary::ibv_free_device_list>>;

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
/// A queue pair whose device works reports an error within two seconds. After
/// this time the device counts as broken.
constexpr std::int64_t kLostNs = 10'000'000'000;
/// Reads and atomics under way at a time: no row posts more.
constexpr std::uint8_t kReads = 1;

/// The first name of ACP_VERBS_DEVICES: "rxe0:1" of "rxe0:1@eth0,mlx5_0". The
/// port may be missing.
std::string_view wanted_device() {
  const char* devices = std::getenv("ACP_VERBS_DEVICES");
  const std::string_view words = devices == nullptr ? "" : devices;
  return words.substr(0, words.find_first_of(",@"));
}

/// True for RoCE version 2 with an IPv4 address, which rdma_cm would choose.
bool is_usual(const ibv_gid_entry& entry) {
  const ibv_gid& gid = entry.gid;
  const bool is_ipv4 = gid.global.subnet_prefix == 0 && gid.raw[10] == 0xff &&
                       gid.raw[11] == 0xff;
  return entry.gid_type == IBV_GID_TYPE_ROCE_V2 && is_ipv4;
}

std::uint64_t address_of(const std::byte& byte) {
  return reinterpret_cast<std::uintptr_t>(&byte);
}

}  // namespace

RdmaLoop::RdmaLoop() : verbs_(rdma_library()), memory_(2 * kBytes + 64) {
  const auto skew = reinterpret_cast<std::uintptr_t>(memory_.data()) % 64;
  const std::span<std::byte> aligned =
      std::span(memory_).subspan(64 - skew, 2 * kBytes);
  near_ = aligned.first(kBytes);
  far_ = aligned.last(kBytes);
  if (verbs_ == nullptr) {
    obstacle_ = "libibverbs is not installed";
  } else if (!open_device()) {
    obstacle_ = "no RDMA device with an active port";
  } else if (!create() || !find_route() || !connect(*posting_, *answering_) ||
             !connect(*answering_, *posting_)) {
    obstacle_ = "the RDMA device gives no two connected queue pairs";
  }
}

/// Opens the first device that has the wanted name, if any, and an active
/// port; leaves the port's attributes in port_.
bool RdmaLoop::open_device() {
  const std::string_view wanted = wanted_device();
  const std::string_view name = wanted.substr(0, wanted.find(':'));
  if (name.size() < wanted.size()) {
    static_cast<void>(std::from_chars(wanted.data() + name.size() + 1,
                                      wanted.data() + wanted.size(),
                                      port_number_));
  }
  int count = 0;
  const DeviceList list(verbs_->ibv_get_device_list(&count));
  for (int i = 0; i < count; ++i) {
    ibv_device* device = list.get()[i];
    if (!name.empty() && name != verbs_->ibv_get_device_name(device)) {
      continue;
    }
    context_.reset(verbs_->ibv_open_device(device));
    if (context_ != nullptr && query_port() && port_.state == IBV_PORT_ACTIVE) {
      return true;
    }
  }
  return false;
}

/// verbs.h fills the newer, longer structure by way of the older one as well.
bool RdmaLoop::query_port() {
  port_ = {};
  return (verbs_->ibv_query_port)(
             context_.get(), port_number_,
             reinterpret_cast<_compat_ibv_port_attr*>(&port_)) == 0;
}

bool RdmaLoop::create() {
  domain_.reset(verbs_->ibv_alloc_pd(context_.get()));
  if (domain_ == nullptr) {
    return false;
  }
  region_.reset((verbs_->ibv_reg_mr)(domain_.get(), memory_.data(),
                                     memory_.size(), kAccess));
  completions_.reset(
      verbs_->ibv_create_cq(context_.get(), kMostPosted, nullptr, nullptr, 0));
  if (region_ == nullptr || completions_ == nullptr) {
    return false;
  }
  posting_ = create_queue_pair();
  answering_ = create_queue_pair();
  return posting_ != nullptr && answering_ != nullptr;
}

RdmaLoop::QueuePair RdmaLoop::create_queue_pair() {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = completions_.get();
  attributes.recv_cq = completions_.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap.max_send_wr = kMostPosted;
  attributes.cap.max_recv_wr = 1;
  attributes.cap.max_send_sge = 1;
  attributes.cap.max_recv_sge = 1;
  return QueuePair(verbs_->ibv_create_qp(domain_.get(), &attributes));
}

/// Fills route_ with the path from the port to itself. InfiniBand needs only
/// the LID; Ethernet needs a GID, and one with an IPv4 address comes first.
bool RdmaLoop::find_route() {
  route_.port_num = port_number_;
  route_.dlid = port_.lid;
  if (port_.link_layer != IBV_LINK_LAYER_ETHERNET) {
    return true;
  }
  std::vector<ibv_gid_entry> gids(static_cast<std::size_t>(port_.gid_tbl_len));
  const ssize_t found = verbs_->_ibv_query_gid_table(
      context_.get(), gids.data(), gids.size(), 0, sizeof(ibv_gid_entry));
  if (found <= 0) {
    return false;
  }
  gids.resize(static_cast<std::size_t>(found));
  std::erase_if(gids, [this](const ibv_gid_entry& entry) {
    return entry.port_num != port_number_;
  });
  const auto usual = std::find_if(gids.begin(), gids.end(), is_usual);
  const auto chosen = usual == gids.end() ? gids.begin() : usual;
  if (chosen == gids.end()) {
    return false;
  }
  route_.is_global = 1;
  route_.grh.dgid = chosen->gid;
  route_.grh.sgid_index = static_cast<std::uint8_t>(chosen->gid_index);
  route_.grh.hop_limit = 1;
  return true;
}

/// Moves a queue pair through INIT, ready to receive and ready to send; the
/// verbs allow no other order.
bool RdmaLoop::connect(ibv_qp& from, const ibv_qp& to) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_number_;
  attributes.qp_access_flags = kAccess;
  if (verbs_->ibv_modify_qp(&from, &attributes,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                IBV_QP_ACCESS_FLAGS) != 0) {
    return false;
  }
  attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = port_.active_mtu;
  attributes.dest_qp_num = to.qp_num;
  attributes.max_dest_rd_atomic = kReads;
  attributes.min_rnr_timer = 12;  // 0.64 ms
  attributes.ah_attr = route_;
  if (verbs_->ibv_modify_qp(&from, &attributes,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC |
                                IBV_QP_MIN_RNR_TIMER) != 0) {
    return false;
  }
  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 14;  // 67 ms
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = kReads;
  return verbs_->ibv_modify_qp(&from, &attributes,
                               IBV_QP_STATE | IBV_QP_TIMEOUT |
                                   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) ==
         0;
}

/// Builds one chain of work requests, of which only the last is signalled: a
/// queue pair completes in order, so its completion stands for all. The clock
/// is read only every 1024 polls, to keep it out of the measured time.
bool RdmaLoop::run(std::span<const RdmaRequest> requests) {
  std::array<ibv_sge, kMostPosted> parts{};
  std::array<ibv_send_wr, kMostPosted> posted{};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RdmaRequest& request = requests[i];
    parts[i] = {.addr = address_of(near_[request.offset]),
                .length = static_cast<std::uint32_t>(request.bytes),
                .lkey = region_->lkey};
    ibv_send_wr& made = posted[i];
    made.sg_list = &parts[i];
    made.num_sge = 1;
    made.opcode = request.opcode;
    made.next = i + 1 < requests.size() ? &posted[i + 1] : nullptr;
    const std::uint64_t remote = address_of(far_[request.offset]);
    if (request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      made.wr.atomic = {.remote_addr = remote,
                        .compare_add = request.operand,
                        .swap = 0,
                        .rkey = region_->rkey};
    } else if (request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
      made.wr.atomic = {.remote_addr = remote,
                        .compare_add = request.expected,
                        .swap = request.operand,
                        .rkey = region_->rkey};
    } else {
      made.wr.rdma = {.remote_addr = remote, .rkey = region_->rkey};
    }
  }
  posted[requests.size() - 1].send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* refused = nullptr;
  if (posting_ == nullptr ||
      ibv_post_send(posting_.get(), posted.data(), &refused) != 0) {
    return false;
  }
  ibv_wc completion{};
  int count = ibv_poll_cq(completions_.get(), 1, &completion);
  if (count == 0) {
    const std::int64_t deadline = now_ns() + kLostNs;
    std::uint64_t looks = 0;
    do {
      count = ibv_poll_cq(completions_.get(), 1, &completion);
    } while (count == 0 && (++looks % 1024 != 0 || now_ns() < deadline));
  }
  if (count == 0) {
    posting_.reset();  // a late completion would be taken for a later run's
  }
  return count == 1 && completion.status == IBV_WC_SUCCESS;
}

}  // namespace acp::perf
