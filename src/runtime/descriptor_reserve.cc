// Takes descriptors and frees them. Called by LeaderListener before and after
// it accepts a connection. It never waits, and a lack of descriptors is no
// failure.
#include "runtime/descriptor_reserve.h"

#include <fcntl.h>
#include <sys/eventfd.h>

namespace acp::runtime {

void DescriptorReserve::hold(std::size_t count, int lowest) {
  if (held_.size() >= count) {
    held_.resize(count);
    return;
  }
  if (!model_) {
    model_.reset(::eventfd(0, EFD_CLOEXEC));
  }
  while (model_ && held_.size() < count) {
    UniqueFd one(::fcntl(model_.get(), F_DUPFD_CLOEXEC, lowest));
    if (!one) {
      return;
    }
    held_.push_back(std::move(one));
  }
}

}  // namespace acp::runtime
