// The interface of machine.h over MPI. Called by main.cc and rows.cc of
// mpi_perf. It may use nothing of QMP or ACP, so that the two programs compare
// two libraries.
#include <mpi.h>

#include <cstdlib>

#include "machine.h"

namespace qmp_perf {

/// Persistent requests, as a QMP on top of MPI uses them.
struct Handle {
  std::vector<MPI_Request> requests;
};

namespace {

std::vector<void*>& allocated() {
  static std::vector<void*> all;
  return all;
}

}  // namespace

void join(int* argc, char*** argv) {
  MPI_Init(argc, argv);
}

void leave() {
  MPI_Finalize();
}

int node() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int nodes() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

const char* library() {
  return "MPI";
}

Handle* declare(Way way, void* base, const Shape& shape, int peer) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(shape.count, static_cast<int>(shape.block),
                          shape.stride, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Request request = MPI_REQUEST_NULL;
  if (way == Way::kSend) {
    MPI_Send_init(base, 1, type, peer, 0, MPI_COMM_WORLD, &request);
  } else {
    MPI_Recv_init(base, 1, type, peer, 0, MPI_COMM_WORLD, &request);
  }
  MPI_Type_free(&type);
  return new Handle{{request}};
}

Handle* together(const std::vector<Handle*>& handles) {
  auto* all = new Handle;
  for (Handle* each : handles) {
    all->requests.insert(all->requests.end(), each->requests.begin(),
                         each->requests.end());
    delete each;
  }
  return all;
}

void start(Handle* handle) {
  MPI_Startall(static_cast<int>(handle->requests.size()),
               handle->requests.data());
}

void wait(Handle* handle) {
  MPI_Waitall(static_cast<int>(handle->requests.size()),
              handle->requests.data(), MPI_STATUSES_IGNORE);
}

void free(Handle* handle) {
  for (MPI_Request& request : handle->requests) {
    MPI_Request_free(&request);
  }
  delete handle;
}

void barrier() {
  MPI_Barrier(MPI_COMM_WORLD);
}

void sum(double* values, int count) {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
}

void broadcast(void* buffer, std::size_t bytes) {
  MPI_Bcast(buffer, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory);
  allocated().push_back(memory);
  return memory;
}

void free_all() {
  for (void* memory : allocated()) {
    MPI_Free_mem(memory);
  }
  allocated().clear();
}

}  // namespace qmp_perf
