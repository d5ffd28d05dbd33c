// The functions that the rows need of a message passing library. qmp_machine.cc
// implements them with QMP, mpi_machine.cc with MPI, for comparison. A failure
// ends the job.
#pragma once

#include <cstddef>
#include <vector>

namespace qmp_perf {

/// Joins and leaves the job.
void join(int* argc, char*** argv);
void leave();
int node();
int nodes();
const char* library();

enum class Way { kSend, kReceive };

/// `count` blocks of `block` bytes, `stride` bytes apart.
struct Shape {
  std::size_t block = 0;
  int count = 1;
  std::ptrdiff_t stride = 0;
};

/// A declared message, or several.
struct Handle;

Handle* declare(Way way, void* base, const Shape& shape, int peer);
/// Makes one message of several; the parts are gone.
Handle* together(const std::vector<Handle*>& handles);
void start(Handle* handle);
void wait(Handle* handle);
void free(Handle* handle);

void barrier();
void sum(double* values, int count);
void broadcast(void* buffer, std::size_t bytes);

/// Allocates memory as the library likes it, and frees everything allocated.
void* allocate(std::size_t bytes);
void free_all();

}  // namespace qmp_perf
