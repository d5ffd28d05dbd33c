// The interface of machine.h over QMP. Called by main.cc and rows.cc of
// qmp_perf. It may use nothing of MPI.
#include "machine.h"
#include "qmp.h"

namespace qmp_perf {

struct Handle {
  QMP_msghandle_t handle;
};

namespace {

void check(QMP_status_t status) {
  if (status != QMP_SUCCESS) {
    QMP_abort(1);
  }
}

Handle* made(QMP_msghandle_t handle) {
  if (handle == nullptr) {
    QMP_abort(1);
  }
  return new Handle{handle};
}

std::vector<QMP_mem_t*>& allocated() {
  static std::vector<QMP_mem_t*> all;
  return all;
}

}  // namespace

void join(int* argc, char*** argv) {
  check(QMP_init_msg_passing(argc, argv, QMP_THREAD_SINGLE, nullptr));
}

void leave() {
  QMP_finalize_msg_passing();
}

int node() {
  return QMP_get_node_number();
}

int nodes() {
  return QMP_get_number_of_nodes();
}

const char* library() {
  return "QMP";
}

Handle* declare(Way way, void* base, const Shape& shape, int peer) {
  QMP_msgmem_t memory = shape.count == 1
                            ? QMP_declare_msgmem(base, shape.block)
                            : QMP_declare_strided_msgmem(
                                  base, shape.block, shape.count, shape.stride);
  Handle* handle =
      made(way == Way::kSend ? QMP_declare_send_to(memory, peer, 0)
                             : QMP_declare_receive_from(memory, peer, 0));
  QMP_free_msgmem(memory);
  return handle;
}

Handle* together(const std::vector<Handle*>& handles) {
  std::vector<QMP_msghandle_t> parts;
  parts.reserve(handles.size());
  for (Handle* each : handles) {
    parts.push_back(each->handle);
    delete each;
  }
  return made(
      QMP_declare_multiple(parts.data(), static_cast<int>(parts.size())));
}

void start(Handle* handle) {
  check(QMP_start(handle->handle));
}

void wait(Handle* handle) {
  check(QMP_wait(handle->handle));
}

void free(Handle* handle) {
  QMP_free_msghandle(handle->handle);
  delete handle;
}

void barrier() {
  check(QMP_barrier());
}

void sum(double* values, int count) {
  check(count == 1 ? QMP_sum_double(values)
                   : QMP_sum_double_array(values, count));
}

void broadcast(void* buffer, std::size_t bytes) {
  check(QMP_broadcast(buffer, bytes));
}

void* allocate(std::size_t bytes) {
  QMP_mem_t* memory = QMP_allocate_memory(bytes);
  if (memory == nullptr) {
    QMP_abort(1);
  }
  allocated().push_back(memory);
  return QMP_get_memory_pointer(memory);
}

void free_all() {
  for (QMP_mem_t* memory : allocated()) {
    QMP_free_memory(memory);
  }
  allocated().clear();
}

}  // namespace qmp_perf
