// How a sender finds the receiver: calls. A call is a SenderBlock that hangs
// in the receiver's list, RankBlock::calls; docs/channels.md, "Connecting".
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "middle/channel/endpoint.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

/// Makes this rank's calls and takes those of others. Guarded by one lock of
/// its owner; takes locks of ends inside.
class Calls {
 public:
  explicit Calls(Site& site) : site_(site) {}

  /// Calls the receiver of an end for sending, after all before it.
  void call(Endpoint& endpoint);

  /// An end for receiving waits for its call, after all of its sender.
  void expect(Endpoint& endpoint, int sender);

  /// From now on calls that nobody expects are told that nobody will.
  void refuse_unexpected();

  /// Moves on; true when something was done, or soon can be.
  bool advance();

  /// Whether ends were connected since the last time this was asked.
  bool take_news() { return std::exchange(has_news_, false); }

  /// Nothing of this rank is under way.
  bool is_idle() const { return outgoing_.empty() && to_refuse_.empty(); }

  void clear();

 private:
  struct Call {
    int sender;
    acp_ga_t block;
    std::uint64_t ring_limit;
  };

  bool make_calls();
  bool take_calls();
  bool read_call();
  bool deliver();
  void match(const Call& call);
  bool refuse();

  acp_ga_t word(std::size_t offset) const {
    return site_.block_of(site_.rank) + offset;
  }

  Site& site_;
  bool refuses_ = false;
  bool has_news_ = false;
  std::deque<Endpoint*> outgoing_;  ///< The first may be under way.
  acp_handle_t outgoing_handle_ = ACP_HANDLE_NULL;
  acp_handle_t taking_ = ACP_HANDLE_NULL;   ///< The list itself.
  acp_handle_t reading_ = ACP_HANDLE_NULL;  ///< One call of it.
  acp_ga_t next_call_ = ACP_GA_NULL;
  std::vector<Call> taken_;  ///< Newest first, until all are read.
  /// By sender, in order. At most one of the two is not empty.
  std::map<int, std::deque<Endpoint*>> expected_;
  std::map<int, std::deque<Call>> unexpected_;
  std::deque<Call> to_refuse_;
};

}  // namespace acp::middle::channel
