// The functions of qmp.h for memory and for message memory. Programs call them;
// nothing is sent here.
#include <bit>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "inbox/reserved_call.h"
#include "qmp.h"
#include "qmp/failure.h"
#include "qmp/handle.h"
#include "qmp/handle_table.h"
#include "qmp/job.h"
#include "qmp/message_memory.h"

using qmp::fail_null;
using qmp::MessageMemory;
using qmp::Run;

namespace {

/// The memories of QMP_allocate_memory that the program has.
using Memories = qmp::HandleTable<qmp::Block, QMP_mem_t*>;

Memories& memories() {
  // Never destroyed, like the tables of handle.h.
  static Memories* const table = new Memories;
  return *table;
}

constexpr const char* kFreedBefore =
    "%s: the memory was freed before, or was never %s";

/// Gives the memory to the program. nullptr: no memory for a handle.
QMP_msgmem_t as_handle(const char* function, MessageMemory* memory) {
  QMP_msgmem_t handle = qmp::message_memories().add(memory);
  if (handle == nullptr) {
    memory->release();
    return fail_null(QMP_NOMEM_ERR, "%s: no memory for a further handle",
                     function);
  }
  return handle;
}

std::byte* bytes_at(void* base) {
  return static_cast<std::byte*>(base);
}

QMP_msgmem_t declare(const char* function, std::vector<Run> runs) {
  const inbox::ReservedCall call;
  if (qmp::job_to_begin(function) == nullptr) {
    return nullptr;
  }
  return as_handle(function, new MessageMemory(std::move(runs)));
}

/// Makes room for as many runs as the program asks for. False, reported: there
/// is no memory. The size is the program's, so it may not use the reserve.
bool make_room(const char* function, std::vector<Run>& runs, int count) {
  try {
    runs.reserve(static_cast<std::size_t>(count));
    return true;
  } catch (const std::bad_alloc&) {
    (void)qmp::fail(QMP_NOMEM_ERR, "%s: no memory for %d runs of bytes",
                    function, count);
    return false;
  }
}

/// Whether the argument `name` of `function` is not negative. Otherwise it
/// reports that.
bool is_count(const char* function, const char* name, long long count) {
  if (count < 0) {
    (void)qmp::fail(QMP_INVALID_ARG, "%s: %s is %lld; it has to be 0 or more",
                    function, name, count);
  }
  return count >= 0;
}

/// Checks one strided memory. `index` stands behind the names of the arguments
/// in the message: "[2]" in an array, otherwise "".
bool is_run(const char* function,
            const std::string& index,
            const void* base,
            std::size_t blksize,
            int nblocks) {
  if (!is_count(function, ("nblocks" + index).c_str(), nblocks)) {
    return false;
  }
  if (base == nullptr && blksize > 0 && nblocks > 0) {
    (void)qmp::fail(QMP_INVALID_ARG,
                    "%s: base%s is NULL, for %d blocks of %zu bytes", function,
                    index.c_str(), nblocks, blksize);
    return false;
  }
  return true;
}

/// Every failure names `function`, which the program has called, and sets the
/// error of its cause: no job, a wrong alignment, or no room in library memory.
QMP_mem_t* allocate(const char* function,
                    std::size_t bytes,
                    std::size_t alignment) {
  const inbox::ReservedCall call;
  qmp::Job* mine = qmp::job_to_begin(function);
  if (mine == nullptr) {
    return nullptr;
  }
  if (alignment != QMP_ALIGN_ANY && !std::has_single_bit(alignment)) {
    return fail_null(QMP_INVALID_ARG, "%s: alignment %zu is no power of two",
                     function, alignment);
  }
  const qmp::Block block = mine->exchange.library().allocate(bytes, alignment);
  if (!block) {
    return fail_null(QMP_NOMEM_ERR, "%s: no %zu bytes left", function, bytes);
  }
  QMP_mem_t* handle = memories().add(new qmp::Block(block));
  if (handle == nullptr) {
    return fail_null(QMP_NOMEM_ERR, "%s: no memory for a further handle",
                     function);
  }
  return handle;
}

}  // namespace

extern "C" {

QMP_mem_t* QMP_allocate_aligned_memory(size_t nbytes,
                                       size_t alignment,
                                       int flags) {
  // The flags are hints, and one kind of memory serves all of them best.
  static_cast<void>(flags);
  return allocate("QMP_allocate_aligned_memory", nbytes, alignment);
}

QMP_mem_t* QMP_allocate_memory(size_t nbytes) {
  return allocate("QMP_allocate_memory", nbytes, QMP_ALIGN_DEFAULT);
}

void* QMP_get_memory_pointer(QMP_mem_t* mem) {
  const qmp::Block* block = memories().find(mem);
  if (block == nullptr && mem != nullptr) {
    return fail_null(QMP_INVALID_ARG, kFreedBefore, "QMP_get_memory_pointer",
                     "allocated");
  }
  return block != nullptr ? block->memory : nullptr;
}

void QMP_free_memory(QMP_mem_t* mem) {
  if (mem == nullptr) {
    return;
  }
  const inbox::ReservedCall call;
  const std::unique_ptr<qmp::Block> block(memories().remove(mem));
  qmp::Job* mine = qmp::job_for("QMP_free_memory");
  if (mine != nullptr && block == nullptr) {
    (void)qmp::fail(QMP_INVALID_ARG, kFreedBefore, "QMP_free_memory",
                    "allocated");
  } else if (mine != nullptr) {
    mine->exchange.library().free(block->memory);
  }
}

QMP_msgmem_t QMP_declare_msgmem(const void* mem, size_t nbytes) {
  const inbox::ReservedCall call;
  if (qmp::job_to_begin("QMP_declare_msgmem") == nullptr) {
    return nullptr;
  }
  if (mem == nullptr && nbytes > 0) {
    return fail_null(QMP_INVALID_ARG,
                     "QMP_declare_msgmem: mem is NULL, for %zu bytes", nbytes);
  }
  return as_handle("QMP_declare_msgmem",
                   new MessageMemory(const_cast<void*>(mem), nbytes));
}

QMP_msgmem_t QMP_declare_strided_msgmem(void* base,
                                        size_t blksize,
                                        int nblocks,
                                        ptrdiff_t stride) {
  const char* function = "QMP_declare_strided_msgmem";
  if (qmp::job_for(function) == nullptr ||
      !is_run(function, "", base, blksize, nblocks)) {
    return nullptr;
  }
  return declare(function, {{bytes_at(base), blksize,
                             static_cast<std::size_t>(nblocks), stride}});
}

// Every run is checked first: message memories have no failure of their own.
QMP_msgmem_t QMP_declare_strided_array_msgmem(void* base[],
                                              size_t blksize[],
                                              int nblocks[],
                                              ptrdiff_t stride[],
                                              int num) {
  const char* function = "QMP_declare_strided_array_msgmem";
  if (qmp::job_for(function) == nullptr || !is_count(function, "num", num)) {
    return nullptr;
  }
  const bool is_given = base != nullptr && blksize != nullptr &&
                        nblocks != nullptr && stride != nullptr;
  if (!is_given && num > 0) {
    return fail_null(QMP_INVALID_ARG, "%s: %s is NULL, and num is %d", function,
                     base == nullptr      ? "base"
                     : blksize == nullptr ? "blksize"
                     : nblocks == nullptr ? "nblocks"
                                          : "stride",
                     num);
  }
  std::vector<Run> runs;
  if (!make_room(function, runs, num)) {
    return nullptr;
  }
  for (int i = 0; i < num; ++i) {
    if (!is_run(function, "[" + std::to_string(i) + "]", base[i], blksize[i],
                nblocks[i])) {
      return nullptr;
    }
    runs.push_back({bytes_at(base[i]), blksize[i],
                    static_cast<std::size_t>(nblocks[i]), stride[i]});
  }
  return declare(function, std::move(runs));
}

// The types are those that programs know.
// NOLINTBEGIN(readability-non-const-parameter)
QMP_msgmem_t QMP_declare_indexed_msgmem(
    void* base, int blocklen[], int index[], int elemsize, int count) {
  const char* function = "QMP_declare_indexed_msgmem";
  if (qmp::job_for(function) == nullptr ||
      !is_count(function, "count", count) ||
      !is_count(function, "elemsize", elemsize)) {
    return nullptr;
  }
  if (count > 0 &&
      (base == nullptr || blocklen == nullptr || index == nullptr)) {
    return fail_null(QMP_INVALID_ARG, "%s: %s is NULL, and count is %d",
                     function,
                     base == nullptr       ? "base"
                     : blocklen == nullptr ? "blocklen"
                                           : "index",
                     count);
  }
  std::vector<Run> runs;
  if (!make_room(function, runs, count)) {
    return nullptr;
  }
  for (int i = 0; i < count; ++i) {
    if (blocklen[i] < 0) {
      return fail_null(QMP_INVALID_ARG,
                       "%s: blocklen[%d] is %d; it has to be 0 or more",
                       function, i, blocklen[i]);
    }
    runs.push_back({bytes_at(base) + std::ptrdiff_t{index[i]} * elemsize,
                    static_cast<std::size_t>(blocklen[i]) *
                        static_cast<std::size_t>(elemsize),
                    1, 0});
  }
  return declare(function, std::move(runs));
}

// NOLINTEND(readability-non-const-parameter)

void QMP_free_msgmem(QMP_msgmem_t m) {
  if (m == nullptr || qmp::job() == nullptr) {
    return;
  }
  const inbox::ReservedCall call;
  if (MessageMemory* memory = qmp::message_memories().remove(m)) {
    memory->release();
  } else {
    (void)qmp::fail(QMP_INVALID_ARG, kFreedBefore, "QMP_free_msgmem",
                    "declared");
  }
}

}  // extern "C"
