// The functions of qmp.h for communicators. Programs call them. Split and free
// are collective; the others send nothing.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "acp.h"
#include "inbox/reserved_call.h"
#include "qmp.h"
#include "qmp/api_pair.h"
#include "qmp/collective.h"
#include "qmp/failure.h"
#include "qmp/job.h"
#include "qmp/operators.h"
#include "qmp/tree.h"

using qmp::fail;
using qmp::Job;

namespace {

/// Finds a number for a new communicator.
class LargestNumber final : public qmp::Operator {
 public:
  void apply(void* lower, void* higher, std::size_t /*bytes*/) const override {
    auto& mine = *static_cast<std::uint32_t*>(lower);
    mine = std::max(mine, *static_cast<std::uint32_t*>(higher));
  }

  std::uint8_t kind() const override { return qmp::kSplitNumber; }
};

/// Each node sets its own elements and leaves the others 0; the bits are or-ed.
class Union final : public qmp::Operator {
 public:
  void apply(void* lower, void* higher, std::size_t bytes) const override {
    auto* mine = static_cast<int*>(lower);
    const auto* theirs = static_cast<int*>(higher);
    for (std::size_t i = 0; i < bytes / sizeof(int); ++i) {
      mine[i] |= theirs[i];
    }
  }

  std::uint8_t kind() const override { return qmp::kSplitChoices; }
};

constexpr const char* kSplit = "QMP_comm_split";
constexpr const char* kFree = "QMP_comm_free";

struct Choice {
  int color;
  int key;
};

/// Collects the choice of every node of `comm`, by node.
QMP_status_t gather(Job& mine,
                    QMP_comm_struct& comm,
                    std::vector<Choice>& choices) {
  return qmp::reduce(mine, comm, kSplit, choices.data(),
                     choices.size() * sizeof(Choice), Union());
}

/// The nodes of `comm` with the color of this one, in their new order.
std::vector<int> members(const QMP_comm_struct& comm,
                         const std::vector<Choice>& choices) {
  std::vector<int> nodes;
  const auto choice = [&choices](int node) -> const Choice& {
    return choices[static_cast<std::size_t>(node)];
  };
  for (int node = 0; node < comm.nodes(); ++node) {
    if (choice(node).color == choice(comm.me).color) {
      nodes.push_back(node);
    }
  }
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](int a, int b) { return choice(a).key < choice(b).key; });
  return nodes;
}

int colors_in(const std::vector<Choice>& choices) {
  std::vector<int> colors;
  colors.reserve(choices.size());
  for (const Choice& each : choices) {
    colors.push_back(each.color);
  }
  std::sort(colors.begin(), colors.end());
  return static_cast<int>(std::unique(colors.begin(), colors.end()) -
                          colors.begin());
}

/// Revokes communicator `number`, which this node could not make. Other nodes
/// may have made it, and wait for this one there.
void refuse(Job& mine, const QMP_comm_struct& comm, std::uint32_t number) {
  std::vector<int> others = comm.ranks;
  std::erase(others, acp_rank());
  mine.exchange.revoke(mine.exchange.join(number, others),
                       {1, acp_rank(), QMP_ERROR, qmp::Cause::kOther, {}});
}

/// The members agree on a number before they exchange colors and keys. So when
/// the exchange fails, each can refuse that number, under which others may have
/// the communicator already.
QMP_status_t split(Job& mine,
                   QMP_comm_struct& comm,
                   Choice own,
                   QMP_comm_t* result) {
  // All members take the largest of their free numbers: none of them has used
  // it.
  std::uint32_t number = mine.next_comm;
  QMP_status_t status =
      qmp::reduce(mine, comm, kSplit, &number, sizeof number, LargestNumber());
  std::vector<Choice> choices(comm.ranks.size(), Choice{0, 0});
  choices[static_cast<std::size_t>(comm.me)] = own;
  if (status != QMP_SUCCESS) {
    return status;
  }
  mine.next_comm = number + 1;
  status = gather(mine, comm, choices);
  if (status != QMP_SUCCESS) {
    refuse(mine, comm, number);
    return status;
  }
  auto made = std::make_unique<QMP_comm_struct>();
  made->number = number;
  made->colors = colors_in(choices);
  made->color = own.color;
  made->key = own.key;
  made->is_built_in = false;
  for (const int node : members(comm, choices)) {
    if (node == comm.me) {
      made->me = made->nodes();
    }
    made->ranks.push_back(comm.ranks[static_cast<std::size_t>(node)]);
  }
  made->revocation = &mine.exchange.join(number, qmp::partner_ranks(*made));
  qmp::tell("QMP_comm_split: color %d, node %d of %d", made->color, made->me,
            made->nodes());
  *result = made.release();
  return QMP_SUCCESS;
}

QMP_status_t replace(const char* function,
                     QMP_comm_t Job::*which,
                     QMP_comm_t comm) {
  Job* mine = qmp::job_for(function);
  if (mine == nullptr) {
    return QMP_NOT_INITED;
  }
  if (comm == nullptr || comm->is_freed) {
    return fail(QMP_INVALID_ARG, "%s: the communicator %s", function,
                comm == nullptr ? "is NULL" : "was freed before");
  }
  mine->*which = comm;
  return QMP_SUCCESS;
}

QMP_comm_t look_up(QMP_comm_t Job::*which) {
  Job* mine = qmp::job();
  return mine != nullptr ? mine->*which : nullptr;
}

/// Keeps a communicator that cannot be freed until the job ends: messages still
/// go through it.
QMP_status_t keep(Job& mine, QMP_comm_t comm, QMP_status_t status) {
  if (!comm->is_kept) {
    comm->is_kept = true;
    mine.kept.emplace_back(comm);
  }
  return status;
}

/// Leaves an empty communicator behind, which every function refuses.
void bury(Job& mine, QMP_comm_t comm) {
  constexpr std::size_t kMost = 4096;
  *comm = QMP_comm_struct{};
  comm->me = -1;
  comm->colors = 0;
  comm->is_built_in = false;
  comm->is_freed = true;
  mine.freed.emplace_back(comm);
  if (mine.freed.size() > kMost) {
    mine.freed.pop_front();
  }
}

/// Order: refuse while a transfer is active, meet all nodes, end reports and
/// late grants, meet again, and free. A node that fails to meet keeps the
/// memory, because others may still write to it.
QMP_status_t free_comm(Job& mine, QMP_comm_t comm) {
  if (mine.exchange.has_active(comm->number)) {
    return fail(QMP_INVALID_OP,
                "%s: a send or receive on it is active; wait for it first",
                kFree);
  }
  // After the second meeting no node writes to this one here (docs/qmp.md,
  // "Freeing a communicator").
  QMP_status_t status = qmp::meet(mine, *comm, kFree);
  if (status != QMP_SUCCESS) {
    return keep(mine, comm, status);
  }
  mine.exchange.close(comm->number);
  acp_complete(ACP_HANDLE_ALL);
  status = qmp::meet(mine, *comm, kFree);
  if (status != QMP_SUCCESS) {
    return keep(mine, comm, status);
  }
  acp_complete(ACP_HANDLE_ALL);
  mine.exchange.forget(comm->number);
  mine.exchange.library().free(comm->scratch.memory);
  for (QMP_comm_t* each : {&mine.allocated, &mine.job, &mine.standard}) {
    if (*each == comm) {
      *each = mine.part ? mine.part.get() : mine.world.get();
    }
  }
  bury(mine, comm);
  return QMP_SUCCESS;
}

}  // namespace

extern "C" {

QMP_comm_t QMP_comm_get_allocated(void) {
  return look_up(&Job::allocated);
}

QMP_comm_t QMP_comm_get_job(void) {
  return look_up(&Job::job);
}

QMP_comm_t QMP_comm_get_default(void) {
  return look_up(&Job::standard);
}

QMP_status_t QMP_comm_set_allocated(QMP_comm_t comm) {
  return replace("QMP_comm_set_allocated", &Job::allocated, comm);
}

QMP_status_t QMP_comm_set_job(QMP_comm_t comm) {
  return replace("QMP_comm_set_job", &Job::job, comm);
}

QMP_status_t QMP_comm_set_default(QMP_comm_t comm) {
  return replace("QMP_comm_set_default", &Job::standard, comm);
}

QMP_status_t QMP_comm_split(QMP_comm_t comm,
                            int color,
                            int key,
                            QMP_comm_t* newcomm) {
  const inbox::ReservedCall call;
  Job* mine = qmp::job_to_begin(kSplit);
  if (mine == nullptr) {
    return qmp::last_failure().status;
  }
  if (comm == nullptr || newcomm == nullptr) {
    return fail(QMP_INVALID_ARG, "%s: %s is NULL", kSplit,
                comm == nullptr ? "the communicator" : "newcomm");
  }
  if (comm->is_freed) {
    return fail(QMP_INVALID_ARG, "%s: the communicator was freed before",
                kSplit);
  }
  return split(*mine, *comm, {color, key}, newcomm);
}

QMP_status_t QMP_comm_free(QMP_comm_t comm) {
  const inbox::ReservedCall call;
  Job* mine = qmp::job_to_begin(kFree);
  if (mine == nullptr) {
    return qmp::last_failure().status;
  }
  if (comm == nullptr || comm->is_built_in || comm->is_freed) {
    return fail(QMP_INVALID_ARG, "%s: %s", kFree,
                comm == nullptr ? "the communicator is NULL"
                : comm->is_freed
                    ? "the communicator was freed before"
                    : "this communicator is QMP's own; only one that "
                      "QMP_comm_split has made can be freed");
  }
  return free_comm(*mine, comm);
}

int QMP_comm_get_number_of_colors(QMP_comm_t comm) {
  return comm != nullptr ? comm->colors : 0;
}

int QMP_comm_get_color(QMP_comm_t comm) {
  return comm != nullptr ? comm->color : 0;
}

int QMP_comm_get_key(QMP_comm_t comm) {
  return comm != nullptr ? comm->key : 0;
}

QMP_API_PAIR(int, get_number_of_nodes, ()) {
  return comm != nullptr ? comm->nodes() : 0;
}

QMP_API_PAIR(int, get_node_number, ()) {
  return comm != nullptr ? comm->me : -1;
}

QMP_API_PAIR(QMP_bool_t, is_primary_node, ()) {
  return QMP_comm_get_node_number(comm) == 0 ? QMP_TRUE : QMP_FALSE;
}

}  // extern "C"
