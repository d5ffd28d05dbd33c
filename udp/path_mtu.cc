// The search of PathMtu for the size of datagrams. Called by Endpoint, which
// sends the probes. It sends nothing itself and reads no clock: time is an
// argument.
#include "udp/path_mtu.h"

#include <array>

namespace acp::udp {

namespace {

/// UDP payloads of usual paths: MTU 9,000 with IPv4 and with IPv6, 4,096 of
/// InfiniBand, Ethernet with IPv4 and with IPv6, PPPoE, tunnels.
constexpr std::array<std::uint16_t, 7> kCandidates = {
    8'972, 8'952, 4'028, 1'472, 1'452, 1'400, 1'300};

}  // namespace

std::size_t PathMtu::probe_due(TimePoint now) noexcept {
  if (probe_ != 0) {
    if (now < probe_deadline_) {
      return 0;
    }
    probe_ = 0;
    if (++tries_ == kTries) {
      next_candidate();
    }
    return candidate_;
  }
  if (candidate_ == 0 && is_wanted_ && bytes_ < most_ && now >= next_search_) {
    candidate_ = most_;
    tries_ = 0;
    next_search_ = now + kSearchAgain;
  }
  return candidate_;
}

void PathMtu::on_probe_sent(std::uint64_t txno,
                            Duration timeout,
                            TimePoint now) {
  probe_ = txno;
  probe_deadline_ = now + timeout;
}

/// Takes the next smaller size that is still above what is known to pass.
void PathMtu::next_candidate() noexcept {
  probe_ = 0;
  tries_ = 0;
  std::uint16_t next = 0;
  for (const std::uint16_t size : kCandidates) {
    if (size < candidate_ && size > bytes_ && size > next) {
      next = size;
    }
  }
  candidate_ = next;
  is_wanted_ = is_wanted_ && next != 0;
}

void PathMtu::on_probe_acked(std::uint64_t txno) noexcept {
  if (probe_ != 0 && txno == probe_) {
    bytes_ = candidate_;
    candidate_ = 0;
    probe_ = 0;
    is_wanted_ = false;
  }
}

void PathMtu::on_black_hole(TimePoint now) noexcept {
  bytes_ = std::min<std::uint16_t>(kBase, most_);
  candidate_ = 0;
  probe_ = 0;
  is_wanted_ = false;
  next_search_ = now + kAfterBlackHole;
}

TimePoint PathMtu::deadline() const noexcept {
  return probe_ != 0 ? probe_deadline_ : TimePoint::max();
}

}  // namespace acp::udp
