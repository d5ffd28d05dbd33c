#include "qmp/collective.h"

#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "acp.h"
#include "qmp/failure.h"

namespace qmp {

namespace {

using Lanes = QMP_comm_struct::Lanes;

Lanes* lanes_to(Job& job, QMP_comm_struct& comm, int node) {
  Lanes& lanes = comm.lanes[node];
  if (lanes.in == nullptr) {
    const auto peer =
        static_cast<std::uint32_t>(comm.ranks[static_cast<std::size_t>(node)]);
    lanes.out = job.exchange.half({comm.number, kCollective, peer, false});
    lanes.in = job.exchange.half({comm.number, kCollective, peer, true});
    if (lanes.out == nullptr || lanes.in == nullptr) {
      comm.lanes.erase(node);
      (void)fail(QMP_NOMEM_ERR, "no memory for a channel to node %d", node);
      return nullptr;
    }
  }
  return &lanes;
}

/// A transfer for the time of one collective.
class Moment {
 public:
  Moment(void* data, std::size_t bytes, Half* half) : memory_(data, bytes) {
    transfer_.memory = &memory_;
    transfer_.half = half;
  }

  Transfer& transfer() { return transfer_; }

 private:
  MessageMemory memory_;
  Transfer transfer_;
};

QMP_status_t fail_cut_off() {
  return fail(QMP_ERROR, "a global operation was cut off: the job is ending");
}

QMP_status_t fail_size(std::size_t mine,
                       std::uint64_t theirs,
                       const std::string& peer) {
  return fail(QMP_BAD_MESSAGE,
              "a global operation of %zu bytes met one of %llu bytes at %s: "
              "the calls of all nodes must agree",
              mine, static_cast<unsigned long long>(theirs), peer.c_str());
}

QMP_status_t fail_late(const Job& job,
                       std::size_t bytes,
                       const std::string& peer) {
  return fail(QMP_TIMEOUT,
              "a global operation of %zu bytes with %s did not end within "
              "%g s: do all nodes call it? (QMP_WAIT_TIMEOUT) There are no "
              "more on this communicator",
              bytes, peer.c_str(), job.wait_timeout_ms / 1000.0);
}

QMP_status_t fail_out_of_step() {
  return fail(QMP_ERROR,
              "no global operations any more: an earlier one on this "
              "communicator timed out, so that its nodes are out of step");
}

/// What did not end in time, or is cut off, is forgotten.
QMP_status_t give_up(Job& job, Transfer* first, bool is_late) {
  const Transfer* late = first;
  while (late->next != nullptr && !late->is_active()) {
    late = late->next;
  }
  const std::size_t bytes = late->memory->size();
  const std::string peer = describe(late->half->id());
  job.exchange.abandon(first);
  return is_late ? fail_late(job, bytes, peer) : fail_cut_off();
}

QMP_status_t finish(Job& job, Transfer* first) {
  if (const int result = job.exchange.wait(first, job.wait_timeout_ms);
      result != 0) {
    return give_up(job, first, result > 0);
  }
  for (Transfer* each = first; each != nullptr; each = each->next) {
    if (each->length != each->memory->size()) {
      return fail_size(each->memory->size(), each->length,
                       describe(each->half->id()));
    }
    if (each->status != QMP_SUCCESS) {
      return fail(each->status, "a global operation of %zu bytes with %s: %s",
                  each->memory->size(), describe(each->half->id()).c_str(),
                  QMP_error_string(each->status));
    }
  }
  return QMP_SUCCESS;
}

QMP_status_t run(Job& job, Transfer* first) {
  job.exchange.start(first);
  return finish(job, first);
}

QMP_status_t swap_by_channel(
    Job& job, const Lanes& lanes, void* out, void* in, std::size_t bytes) {
  Moment sending(out, bytes, lanes.out);
  Moment receiving(in, bytes, lanes.in);
  sending.transfer().next = &receiving.transfer();
  return run(job, &sending.transfer());
}

/// Both partners do this in the same reduction, the first that they share.
QMP_status_t meet_partner(Job& job, Lanes& lanes) {
  auto pair = std::make_unique<Pair>(job.exchange.library());
  acp_ga_t mine = pair->address();
  acp_ga_t theirs = ACP_GA_NULL;
  QMP_status_t status =
      swap_by_channel(job, lanes, &mine, &theirs, sizeof mine);
  if (status != QMP_SUCCESS) {
    return status;
  }
  std::uint64_t can_i = pair->connect(theirs) ? 1 : 0;
  std::uint64_t can_they = 0;
  // From here on the partner may store into the box: it lives on.
  lanes.pair = std::move(pair);
  status = swap_by_channel(job, lanes, &can_i, &can_they, sizeof can_i);
  if (status != QMP_SUCCESS) {
    return status;
  }
  if (can_i == 0 || can_they == 0) {
    lanes.pair.reset();
  }
  lanes.has_met = true;
  return QMP_SUCCESS;
}

/// The other node of a step of a reduction, and the way to it. Sends to it and
/// receives from it alternate.
class Partner {
 public:
  Partner(Job& job, QMP_comm_struct& comm, int node)
      : job_(job), lanes_(lanes_to(job, comm, node)), node_(node) {
    status_ = lanes_ == nullptr ? QMP_NOMEM_ERR
              : lanes_->has_met ? QMP_SUCCESS
                                : meet_partner(job, *lanes_);
  }

  QMP_status_t send(void* data, std::size_t bytes) {
    if (status_ != QMP_SUCCESS || is_paired(bytes)) {
      return status_ != QMP_SUCCESS
                 ? status_
                 : outcome(lanes_->pair->send(data, bytes), bytes);
    }
    Moment sending(data, bytes, lanes_->out);
    return run(job_, &sending.transfer());
  }

  QMP_status_t receive(void* data, std::size_t bytes) {
    if (status_ != QMP_SUCCESS || is_paired(bytes)) {
      return status_ != QMP_SUCCESS
                 ? status_
                 : outcome(
                       lanes_->pair->receive(data, bytes, job_.wait_timeout_ms),
                       bytes);
    }
    Moment receiving(data, bytes, lanes_->in);
    return run(job_, &receiving.transfer());
  }

  QMP_status_t swap(void* out, void* in, std::size_t bytes) {
    if (status_ == QMP_SUCCESS && !is_paired(bytes)) {
      return swap_by_channel(job_, *lanes_, out, in, bytes);
    }
    const QMP_status_t status = send(out, bytes);
    return status != QMP_SUCCESS ? status : receive(in, bytes);
  }

 private:
  bool is_paired(std::size_t bytes) const {
    return lanes_->pair != nullptr && bytes <= kPairBytes;
  }

  QMP_status_t outcome(QMP_status_t status, std::size_t bytes) const {
    const auto peer = [this] {
      return "node " + std::to_string(node_);
    };
    switch (status) {
      case QMP_SUCCESS: return status;
      case QMP_BAD_MESSAGE:
        return fail_size(bytes, lanes_->pair->length(), peer());
      case QMP_TIMEOUT: return fail_late(job_, bytes, peer());
      default: return fail_cut_off();
    }
  }

  Job& job_;
  Lanes* lanes_;
  int node_;
  QMP_status_t status_;
};

/// Who of a reduction does what: see docs/qmp.md.
struct Plan {
  explicit Plan(const QMP_comm_struct& comm)
      : power(static_cast<int>(
            std::bit_floor(static_cast<unsigned>(comm.nodes())))),
        pairs(comm.nodes() - power),
        me(comm.me),
        block(me < 2 * pairs ? me / 2 : me - pairs) {}

  bool is_paired() const { return me < 2 * pairs; }

  int node_of(int of_block) const {
    return of_block < pairs ? 2 * of_block : of_block + pairs;
  }

  int power;
  int pairs;
  int me;
  int block;
};

QMP_status_t reduce_in(Job& job,
                       QMP_comm_struct& comm,
                       std::byte*& mine,
                       std::byte*& theirs,
                       std::size_t bytes,
                       const Operator& combine) {
  const Plan plan(comm);
  QMP_status_t status = QMP_SUCCESS;
  if (plan.is_paired() && plan.me % 2 == 1) {
    Partner lower(job, comm, plan.me - 1);
    status = lower.send(mine, bytes);
    return status != QMP_SUCCESS ? status : lower.receive(mine, bytes);
  }
  if (plan.is_paired()) {
    status = Partner(job, comm, plan.me + 1).receive(theirs, bytes);
    if (status != QMP_SUCCESS) {
      return status;
    }
    combine.apply(mine, theirs, bytes);
  }
  for (int mask = 1; mask < plan.power; mask *= 2) {
    const int block = plan.block ^ mask;
    Partner partner(job, comm, plan.node_of(block));
    status = partner.swap(mine, theirs, bytes);
    if (status != QMP_SUCCESS) {
      return status;
    }
    if (block < plan.block) {
      std::swap(mine, theirs);
    }
    combine.apply(mine, theirs, bytes);
  }
  return plan.is_paired() ? Partner(job, comm, plan.me + 1).send(mine, bytes)
                          : QMP_SUCCESS;
}

class Nothing final : public Operator {
 public:
  void apply(void* /*lower*/,
             void* /*higher*/,
             std::size_t /*bytes*/) const override {}
};

}  // namespace

QMP_status_t reduce(Job& job,
                    QMP_comm_struct& comm,
                    void* data,
                    std::size_t bytes,
                    const Operator& combine) {
  if (comm.nodes() == 1) {
    return QMP_SUCCESS;
  }
  if (comm.is_out_of_step) {
    return fail_out_of_step();
  }
  LibraryMemory& library = job.exchange.library();
  const bool is_short = bytes <= kEagerBytes;
  const std::size_t room = is_short ? kEagerBytes : (bytes + 63) / 64 * 64;
  Block block = is_short ? comm.scratch : Block{};
  if (!block) {
    block = library.allocate(2 * room);
    if (!block) {
      return fail(QMP_NOMEM_ERR, "no memory for a reduction of %zu bytes",
                  bytes);
    }
  }
  if (is_short) {
    comm.scratch = block;
  }
  std::byte* mine = block.memory;
  std::byte* theirs = block.memory + room;
  if (bytes > 0) {
    std::memcpy(mine, data, bytes);
  }
  const QMP_status_t status =
      reduce_in(job, comm, mine, theirs, bytes, combine);
  if (status == QMP_SUCCESS && bytes > 0) {
    std::memcpy(data, mine, bytes);
  }
  comm.is_out_of_step = status == QMP_TIMEOUT;
  // Into the block of one that timed out a partner may still write.
  if (!is_short && !comm.is_out_of_step) {
    library.free(block.memory);
  }
  return status;
}

namespace {

QMP_status_t broadcast_in(Job& job,
                          QMP_comm_struct& comm,
                          void* data,
                          std::size_t bytes) {
  const int nodes = comm.nodes();
  int mask = 1;
  for (; mask < nodes; mask *= 2) {
    if ((comm.me & mask) != 0) {
      const Lanes* lanes = lanes_to(job, comm, comm.me - mask);
      if (lanes == nullptr) {
        return QMP_NOMEM_ERR;
      }
      Moment receiving(data, bytes, lanes->in);
      const QMP_status_t status = run(job, &receiving.transfer());
      if (status != QMP_SUCCESS) {
        return status;
      }
      break;
    }
  }
  std::deque<Moment> sends;
  Transfer* first = nullptr;
  Transfer** link = &first;
  for (mask /= 2; mask > 0; mask /= 2) {
    if (comm.me + mask >= nodes) {
      continue;
    }
    const Lanes* lanes = lanes_to(job, comm, comm.me + mask);
    if (lanes == nullptr) {
      return QMP_NOMEM_ERR;
    }
    Transfer& send = sends.emplace_back(data, bytes, lanes->out).transfer();
    *link = &send;
    link = &send.next;
  }
  return run(job, first);
}

}  // namespace

QMP_status_t broadcast(Job& job,
                       QMP_comm_struct& comm,
                       void* data,
                       std::size_t bytes) {
  if (comm.is_out_of_step) {
    return fail_out_of_step();
  }
  const QMP_status_t status = broadcast_in(job, comm, data, bytes);
  comm.is_out_of_step = status == QMP_TIMEOUT;
  return status;
}

QMP_status_t meet(Job& job, QMP_comm_struct& comm) {
  return reduce(job, comm, nullptr, 0, Nothing());
}

QMP_status_t barrier(Job& job, QMP_comm_struct& comm) {
  if (&comm != job.world.get()) {
    return meet(job, comm);
  }
  job.barriers += job.is_barrier_open ? 0 : 1;
  const int result = acpx_sync_timeout(job.wait_timeout_ms);
  job.is_barrier_open = result == 1;
  switch (result) {
    case 0:
      // A node that leaves meets the others by the same barrier.
      return job.exchange.has_left_before(job.barriers)
                 ? fail(QMP_ERROR,
                        "QMP_barrier: rank %d has left by exit(0) or "
                        "QMP_finalize_msg_passing: all nodes have to call it",
                        (acp_rank() + acp_procs() - 1) % acp_procs())
                 : QMP_SUCCESS;
    case 1:
      return fail(QMP_TIMEOUT,
                  "QMP_barrier did not end within %g s: do all nodes call it? "
                  "(QMP_WAIT_TIMEOUT) The next call goes on with it",
                  job.wait_timeout_ms / 1000.0);
    default:
      return fail(QMP_ERROR, "QMP_barrier was cut off: %s",
                  acpx_strerror(acp_errno));
  }
}

}  // namespace qmp
