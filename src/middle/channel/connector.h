// How a sender finds the receiver. A connect request is a SenderBlock that
// hangs in the receiver's list, RankBlock::connect_requests; docs/channels.md,
// "Connecting".
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "middle/channel/end.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Posts this rank's connect requests and takes those of other ranks. Guarded
/// by Channels::connector_lock_. Takes locks of ends inside.
///
/// 1. One connect request of a rank is under way at a time, so its requests
///    reach every receiver in the order of the ends.
/// 2. The n-th end for a pair of ranks and a direction is connected with the
///    n-th end of the other side.
class Connector {
 public:
  explicit Connector(Site& site) : site_(site) {}

  /// Posts the connect request of a sending end, after all before it.
  void connect(End& end);

  /// Notes that a receiving end waits for a connect request of `sender`. It is
  /// connected at once if the request is here already.
  void expect(End& end, int sender);

  /// From now on answers connect requests that no end waits for with kClosed.
  void refuse_unexpected();

  /// Asks whether `sender` can still post connect requests. If it cannot, and
  /// none of its requests is on its way, advance() ends the ends that wait for
  /// one (Receiver::lose_sender).
  void ask(int sender);

  /// Does what can be done without waiting. True: something was done, or soon
  /// can be.
  bool advance();

  /// Whether ends were connected since the last call of this function.
  bool take_connected() { return std::exchange(has_connected_, false); }

  /// No request or answer of this rank is under way.
  bool is_idle() const {
    return outgoing_.empty() && to_refuse_.empty() &&
           question_ == ACP_HANDLE_NULL;
  }

  /// All connect requests of this rank have taken effect.
  bool has_posted_all() const { return outgoing_.empty(); }

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
  bool post_question();
  bool end_lost();
  bool has_taken_all() const;

  acp_ga_t word(std::size_t offset) const {
    return site_.block_of(site_.rank) + offset;
  }

  // Channels::connector_lock_ guards these fields, and clear() empties them.
  Site& site_;
  bool refuses_ = false;        ///< Set by refuse_unexpected().
  bool has_connected_ = false;  ///< Set when ends meet; see take_connected().
  /// Sending ends to connect. The request of the first may be under way.
  std::deque<End*> outgoing_;
  acp_handle_t outgoing_handle_ = ACP_HANDLE_NULL;
  acp_handle_t taking_ = ACP_HANDLE_NULL;   ///< The swap that takes the list.
  acp_handle_t reading_ = ACP_HANDLE_NULL;  ///< The get that reads a request.
  acp_ga_t next_request_ = ACP_GA_NULL;
  std::vector<ConnectRequest> taken_;  ///< Requests read so far, newest first.
  /// Ends without a request, and requests without an end, by sender and in
  /// order. At most one of the two is not empty.
  std::map<int, std::deque<End*>> expected_;
  std::map<int, std::deque<ConnectRequest>> unexpected_;
  std::deque<ConnectRequest> to_refuse_;
  std::deque<int> to_ask_;  ///< Senders; the first may have been asked.
  acp_handle_t question_ = ACP_HANDLE_NULL;  ///< The get of has_left.
  std::set<int> left_;  ///< Senders that have answered that they have left.
};

}  // namespace acp::middle::channel
