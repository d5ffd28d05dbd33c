// Writes end marks into the halves of peers. Called by Exchange when this rank
// leaves, and in its progress step; never waits.
#include "qmp/end_marks.h"

#include <algorithm>

#include "acp/extension.h"
#include "qmp/message_layout.h"
#include "qmp/mirror.h"

namespace qmp {

void EndMarks::add(acp_ga_t half, bool is_receiver, std::uint64_t total) {
  waiting_.push_back({half + end_mark_offset(is_receiver), total + 1});
}

/// An end mark that fails is not tried again: the layer below has logged why,
/// and Stage::kOver tells the peer as well.
bool EndMarks::send() {
  const auto stays =
      std::find_if(waiting_.begin(), waiting_.end(), [](const Mark& each) {
        return posted(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0, each.word,
                                      each.value, ACP_HANDLE_NULL)) ==
               Posted::kLater;
      });
  const bool has_sent = stays != waiting_.begin();
  waiting_.erase(waiting_.begin(), stays);
  return has_sent;
}

}  // namespace qmp
