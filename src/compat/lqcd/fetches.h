// The receiver's half of a message: an offer that has met its receive, until
// the bytes are there and the sender has its answer.
#pragma once

#include <list>
#include <memory>

#include "acp.h"
#include "compat/lqcd/global_bytes.h"
#include "compat/lqcd/message.h"

namespace lqcd {

/// The lock of the mailbox guards it, and the handles that it is given.
class Fetches {
 public:
  /// `receiver` is active, and gets the message of `offer`.
  void add(Handle* receiver, const Offer& offer);

  /// Issues chains, unless `may_issue` is false, and ends fetches whose chain
  /// is complete. True when anything was done.
  bool advance(bool may_issue);

 private:
  struct Fetch {
    Handle* receiver = nullptr;
    Offer offer{};
    std::unique_ptr<GlobalBytes> bounce;  ///< In place of a buffer without key.
    acp_handle_t handle = ACP_HANDLE_NULL;
  };

  static bool issue(Fetch& fetch);

  std::list<Fetch> fetches_;
};

}  // namespace lqcd
