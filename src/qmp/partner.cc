// Rounds of a reduction with one node. Called by reduce(); waits without a
// lock.
#include "qmp/partner.h"

#include <memory>
#include <utility>

#include "qmp/channel_round.h"

namespace qmp {

Partner::Partner(Operation& operation, int node)
    : operation_(operation),
      lanes_(operation.lanes_to(node)),
      rank_(operation.comm().ranks[static_cast<std::size_t>(node)]) {
  status_ = lanes_ == nullptr           ? QMP_NOMEM_ERR
            : lanes_->is_handshake_done ? QMP_SUCCESS
                                        : handshake();
}

QMP_status_t Partner::swap_words(std::uint64_t& out, std::uint64_t& in) {
  ChannelRound round(operation_, {operation_.tag().number, kHandshake});
  round.send(*lanes_, &out, sizeof out);
  round.receive(*lanes_, &in, sizeof in);
  return round.run();
}

/// Tells the partner where the box is, and then whether this node can use the
/// other box. Both partners call it in the first reduction that they share.
QMP_status_t Partner::handshake() {
  auto pair = std::make_unique<Pair>(operation_.job().exchange.library());
  std::uint64_t mine = pair->address();
  std::uint64_t theirs = ACP_GA_NULL;
  QMP_status_t status = swap_words(mine, theirs);
  if (status != QMP_SUCCESS) {
    return status;
  }
  std::uint64_t can_i = pair->connect(theirs) ? 1 : 0;
  std::uint64_t can_they = 0;
  // From here on the partner may store into the box, even if this fails.
  lanes_->pair = std::move(pair);
  status = swap_words(can_i, can_they);
  if (status != QMP_SUCCESS) {
    return status;
  }
  if (can_i == 0 || can_they == 0) {
    lanes_->pair.reset();
  }
  lanes_->is_handshake_done = true;
  return QMP_SUCCESS;
}

QMP_status_t Partner::send(void* data, std::size_t bytes) {
  if (status_ != QMP_SUCCESS) {
    return status_;
  }
  if (is_paired(bytes)) {
    return lanes_->pair->send(operation_.tag(), data, bytes)
               ? QMP_SUCCESS
               : operation_.fail_job_ending();
  }
  ChannelRound round(operation_, operation_.tag());
  round.send(*lanes_, data, bytes);
  return round.run();
}

QMP_status_t Partner::receive(void* data, std::size_t bytes) {
  if (status_ != QMP_SUCCESS) {
    return status_;
  }
  if (is_paired(bytes)) {
    return receive_in_pair(data, bytes);
  }
  ChannelRound round(operation_, operation_.tag());
  round.receive(*lanes_, data, bytes);
  return round.run();
}

QMP_status_t Partner::swap(void* out, void* in, std::size_t bytes) {
  if (status_ == QMP_SUCCESS && !is_paired(bytes)) {
    ChannelRound round(operation_, operation_.tag());
    round.send(*lanes_, out, bytes);
    round.receive(*lanes_, in, bytes);
    return round.run();
  }
  const QMP_status_t status = send(out, bytes);
  return status != QMP_SUCCESS ? status : receive(in, bytes);
}

QMP_status_t Partner::receive_in_pair(void* data, std::size_t bytes) {
  Pair& pair = *lanes_->pair;
  if (!pair.comes_soon()) {
    const QMP_status_t status = operation_.wait(rank_, &Pair::has_come, &pair);
    if (status != QMP_SUCCESS) {
      return status;
    }
  }
  if (pair.take(operation_.tag(), data, bytes)) {
    return QMP_SUCCESS;
  }
  Call theirs;
  (void)pair.peek(theirs.tag, theirs.bytes);
  theirs.tag.number = operation_.whole_number(theirs.tag.number);
  return operation_.fail_mismatch(theirs, rank_);
}

}  // namespace qmp
