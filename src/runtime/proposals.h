// The networks that the processes of a job propose to each other, and what
// follows for one process. Pure: network_choice.cc reads and publishes them.
#pragma once

#include <cstdint>
#include <string_view>

namespace acp::runtime {

/// A process proposes a network as a number: the network that its user has
/// named, or the fabric that its RDMA devices are on.
using Proposal = std::uint32_t;

/// ACP_NET=auto, and this process has no RDMA device that it can use.
inline constexpr Proposal kNoRdma = 0;

/// The proposal of a process whose user has named a network.
Proposal propose_named(std::string_view network) noexcept;

/// The proposal of a process whose devices are on this fabric. Never kNoRdma.
Proposal propose_fabric(std::string_view fabric) noexcept;

/// The proposal of a process in a job of one host. It has the value of ACP_NET,
/// and tells whether the process shares memory with the other ranks of its
/// host.
Proposal propose_on_host(std::string_view network, bool shares_memory) noexcept;

/// Whether two processes of a job of one host reach each other. If both share
/// memory, no network is between them.
bool fit_on_host(Proposal a, Proposal b) noexcept;

/// The one of `networks`, separated by '|', that propose_on_host() has put into
/// `proposal`; "" for none.
std::string_view network_of(Proposal proposal,
                            std::string_view networks) noexcept;

/// The networks that a process uses.
enum class NetworkUse : std::uint8_t {
  kRefused,  ///< A user has named a network, and others have not.
  kAlike,    ///< Its own proposal, which all processes have.
  kUdp,      ///< udp; no other host is on the fabric of this process.
  kBoth      ///< RDMA to processes with an equal proposal, udp to others.
};

/// Collects the proposals of all processes as one of them sees them. A plain
/// value.
class ProposalReview {
 public:
  explicit ProposalReview(Proposal mine) noexcept : mine_(mine) {}

  /// Takes the proposal of the process `proc`, which may be this process.
  void add(std::uint32_t proc, Proposal proposal, bool is_on_my_host) noexcept;

  /// After all processes have been added. Two processes of different hosts both
  /// use RDMA to each other, or neither does.
  NetworkUse use() const noexcept;

  /// The first process with another proposal. Unless use() is kAlike.
  std::uint32_t other() const noexcept { return other_; }

 private:
  Proposal mine_;
  std::uint32_t other_ = 0;
  bool are_alike_ = true;
  bool is_any_named_ = false;
  bool is_shared_ = false;  ///< Another host has my fabric.
};

}  // namespace acp::runtime
