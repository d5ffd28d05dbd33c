// One round of a global operation through channels. Called by Partner and by
// broadcasts; takes the lock of the process for short times, and may not hold
// it while it waits.
#include "qmp/channel_round.h"

#include <cstring>

namespace qmp {

namespace {

struct Looking {
  Exchange* exchange;
  Transfer* transfer;
};

bool has_ended(void* looking) {
  auto& what = *static_cast<Looking*>(looking);
  return what.exchange->has_ended(*what.transfer);
}

int rank_of(const Transfer& transfer) {
  return static_cast<int>(transfer.half->id().peer);
}

}  // namespace

Transfer* ChannelRound::add(void* data, std::size_t bytes, Half* half) {
  Transfer& made = parts_.emplace_back(data, bytes, half).transfer;
  if (parts_.size() > 1) {
    parts_[parts_.size() - 2].transfer.next = &made;
  }
  return &made;
}

void ChannelRound::send(const Lanes& lanes, void* data, std::size_t bytes) {
  const bool is_short = bytes <= kEnvelopeBytes;
  if (!is_sending_) {
    is_sending_ = true;
    out_.head = {tag_.number, tag_.kind, bytes};
    if (is_short && bytes > 0) {
      std::memcpy(out_.payload, data, bytes);
    }
  }
  add(&out_, sizeof(EnvelopeHead) + (is_short ? bytes : 0), lanes.out);
  if (!is_short) {
    add(data, bytes, lanes.out);
  }
}

void ChannelRound::receive(const Lanes& lanes, void* data, std::size_t bytes) {
  to_ = data;
  expected_ = bytes;
  envelope_ = add(&in_, sizeof in_, lanes.in);
  if (bytes > kEnvelopeBytes) {
    add(data, bytes, lanes.in);
  }
}

QMP_status_t ChannelRound::run() {
  if (parts_.empty()) {
    return QMP_SUCCESS;
  }
  Exchange& exchange = operation_.job().exchange;
  Revocation& revocation = *operation_.comm().revocation;
  if (!exchange.start_for(revocation, operation_.tag().number,
                          &parts_.front().transfer)) {
    return operation_.fail_revoked();
  }
  const QMP_status_t status = finish();
  if (status == QMP_SUCCESS) {
    exchange.end_for(revocation);
  } else {
    stop();
  }
  return status;
}

/// Waits for the envelope first: it shows whether the calls agree, before a
/// second message is waited for that may never come.
QMP_status_t ChannelRound::finish() {
  QMP_status_t status = QMP_SUCCESS;
  if (envelope_ != nullptr) {
    status = wait_for(*envelope_);
    if (status == QMP_SUCCESS) {
      status = open();
    }
  }
  for (Part& part : parts_) {
    if (status == QMP_SUCCESS && &part.transfer != envelope_) {
      status = wait_for(part.transfer);
    }
  }
  return status;
}

QMP_status_t ChannelRound::wait_for(Transfer& transfer) {
  Looking looking{&operation_.job().exchange, &transfer};
  if (!has_ended(&looking)) {
    const QMP_status_t status =
        operation_.wait(rank_of(transfer), &has_ended, &looking);
    if (status != QMP_SUCCESS) {
      return status;
    }
  }
  return transfer.status == QMP_SUCCESS
             ? QMP_SUCCESS
             : operation_.fail_transfer(transfer.status, rank_of(transfer));
}

QMP_status_t ChannelRound::open() {
  const Call theirs{{in_.head.number, static_cast<std::uint8_t>(in_.head.kind)},
                    in_.head.bytes};
  if (theirs.tag != tag_ || theirs.bytes != expected_) {
    return operation_.fail_mismatch(theirs, rank_of(*envelope_));
  }
  if (expected_ > 0 && expected_ <= kEnvelopeBytes) {
    std::memcpy(to_, in_.payload, expected_);
  }
  return QMP_SUCCESS;
}

/// Ends a round that has failed. The order matters: this node first ends its
/// own sends, then tells its partners, then waits until each sender has told as
/// well. No node waits for a partner before it has told, so these waits have no
/// cycle (invariant 11).
void ChannelRound::stop() {
  Exchange& exchange = operation_.job().exchange;
  exchange.stop_sends(&parts_.front().transfer);
  exchange.end_for(*operation_.comm().revocation);
  for (Part& part : parts_) {
    Looking looking{&exchange, &part.transfer};
    if (!has_ended(&looking)) {
      operation_.wait_until_parted(rank_of(part.transfer), &has_ended,
                                   &looking);
    }
  }
  exchange.abandon(&parts_.front().transfer);
}

}  // namespace qmp
