// How a sender finds the receiver: calls. A call is a SenderBlock that hangs
// in the receiver's list, RankBlock::calls; docs/channels.md, "Connecting".
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "middle/channel/end.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Makes this rank's calls and takes those of others. Guarded by one lock of
/// its owner; takes locks of ends inside.
class Connector {
 public:
  explicit Connector(Site& site) : site_(site) {}

  /// Connector the receiver of an end for sending, after all before it.
  void connect(End& end);

  /// An end for receiving waits for its call, after all of its sender.
  void expect(End& end, int sender);

  /// From now on calls that nobody expects are told that nobody will.
  void refuse_unexpected();

  /// Moves on; true when something was done, or soon can be.
  bool advance();

  /// Whether ends were connected since the last time this was asked.
  bool take_connected() { return std::exchange(has_connected_, false); }

  /// Nothing of this rank is under way.
  bool is_idle() const { return outgoing_.empty() && to_refuse_.empty(); }

  void clear();

 private:
  struct ConnectRequest {
    int sender;
    acp_ga_t block;
    std::uint64_t ring_limit;
  };

  bool post_requests();
  bool take_requests();
  bool read_request();
  bool deliver();
  void match(const ConnectRequest& request);
  bool refuse();

  acp_ga_t word(std::size_t offset) const {
    return site_.block_of(site_.rank) + offset;
  }

  Site& site_;
  bool refuses_ = false;
  bool has_connected_ = false;
  std::deque<End*> outgoing_;  ///< The first may be under way.
  acp_handle_t outgoing_handle_ = ACP_HANDLE_NULL;
  acp_handle_t taking_ = ACP_HANDLE_NULL;   ///< The list itself.
  acp_handle_t reading_ = ACP_HANDLE_NULL;  ///< One call of it.
  acp_ga_t next_request_ = ACP_GA_NULL;
  std::vector<ConnectRequest> taken_;  ///< Newest first, until all are read.
  /// By sender, in order. At most one of the two is not empty.
  std::map<int, std::deque<End*>> expected_;
  std::map<int, std::deque<ConnectRequest>> unexpected_;
  std::deque<ConnectRequest> to_refuse_;
};

}  // namespace acp::middle::channel
