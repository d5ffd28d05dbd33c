// The functions of qmp.h for message handles. Programs call them, one thread at
// a time for a handle. Each makes one call and takes no lock: declaration.cc
// and handle.cc do the work.
#include "qmp.h"
#include "qmp/api_pair.h"
#include "qmp/handle.h"
#include "qmp/job.h"
#include "qmp/profile.h"

using qmp::Direction;

extern "C" {

QMP_API_PAIR(QMP_msghandle_t,
             declare_receive_relative,
             (m, axis, dir, priority),
             QMP_msgmem_t m,
             int axis,
             int dir,
             [[maybe_unused]] int priority) {
  return qmp::declare_with_neighbour(function, comm, m, axis, dir,
                                     Direction::kReceive);
}

QMP_API_PAIR(QMP_msghandle_t,
             declare_send_relative,
             (m, axis, dir, priority),
             QMP_msgmem_t m,
             int axis,
             int dir,
             [[maybe_unused]] int priority) {
  return qmp::declare_with_neighbour(function, comm, m, axis, dir,
                                     Direction::kSend);
}

QMP_API_PAIR(QMP_msghandle_t,
             declare_receive_from,
             (m, rem_node_rank, priority),
             QMP_msgmem_t m,
             int rem_node_rank,
             [[maybe_unused]] int priority) {
  return qmp::declare_with_node(function, comm, m, rem_node_rank,
                                Direction::kReceive);
}

QMP_API_PAIR(QMP_msghandle_t,
             declare_send_to,
             (m, rem_node_rank, priority),
             QMP_msgmem_t m,
             int rem_node_rank,
             [[maybe_unused]] int priority) {
  return qmp::declare_with_node(function, comm, m, rem_node_rank,
                                Direction::kSend);
}

QMP_msghandle_t QMP_declare_multiple(QMP_msghandle_t msgh[], int num) {
  return qmp::declare_multiple("QMP_declare_multiple", msgh, num);
}

QMP_msghandle_t QMP_declare_send_recv_pairs(QMP_msghandle_t msgh[], int num) {
  return qmp::declare_multiple("QMP_declare_send_recv_pairs", msgh, num);
}

QMP_status_t QMP_change_address(QMP_msghandle_t msg, void* addr) {
  return qmp::change_addresses("QMP_change_address", msg, &addr, 1);
}

QMP_status_t QMP_change_address_multiple(QMP_msghandle_t msg,
                                         void* addr[],
                                         int naddr) {
  return qmp::change_addresses("QMP_change_address_multiple", msg, addr, naddr);
}

QMP_status_t QMP_clear_to_send(QMP_msghandle_t mh, QMP_clear_to_send_t cts) {
  return qmp::clear_to_send(mh, cts);
}

void QMP_free_msghandle(QMP_msghandle_t h) {
  qmp::free_handle(h);
}

QMP_status_t QMP_start(QMP_msghandle_t h) {
  return qmp::start(h);
}

QMP_bool_t QMP_is_complete(QMP_msghandle_t h) {
  return qmp::is_complete(h);
}

QMP_status_t QMP_wait(QMP_msghandle_t h) {
  const qmp::Timed timed;
  return qmp::wait(h);
}

QMP_status_t QMP_wait_all(QMP_msghandle_t h[], int num) {
  const qmp::Timed timed;
  return qmp::wait_all(h, num);
}

}  // extern "C"
