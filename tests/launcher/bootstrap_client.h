// The rank's side of the bootstrap, written for tests: it obeys the test, also
// where the library would never do such a thing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "protocol/bootstrap.h"
#include "protocol/host_segment.h"

namespace probe {

/// Failing steps end the process with status 70 and a line on stderr.
class BootstrapClient {
 public:
  /// Hello and Welcome.
  void join();
  /// Arrive and wait for Go. On Ending: prints its text, exits with 71.
  void meet(acp::protocol::Phase phase);
  void send(acp::protocol::BootstrapType type,
            std::uint64_t value,
            std::string text = {});
  void send_garbage();
  /// The address card of a rank on another host, by WantAddress.
  std::span<const std::byte> fetch_card(std::uint32_t wanted);

  std::uint32_t rank() const { return rank_; }

  acp::protocol::HostSegment& segment() { return segment_; }

  /// Its number among the ranks of its host.
  std::uint32_t slot() const { return segment_.slot_of_proc(rank_); }

 private:
  void send_bytes(const void* bytes, std::size_t size);
  acp::protocol::BootstrapMessage receive();
  void connect();

  acp::UniqueFd socket_;
  acp::UniqueFd segment_fd_;
  acp::protocol::HostSegment segment_;
  std::uint32_t rank_ = UINT32_MAX;
};

[[noreturn]] void die(std::string_view why);

}  // namespace probe
