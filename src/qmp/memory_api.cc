// The functions of qmp.h for memory and for message memory. Programs call them;
// nothing is sent here.
#include <bit>
#include <new>
#include <vector>

#include "qmp.h"
#include "qmp/failure.h"
#include "qmp/job.h"
#include "qmp/message_memory.h"

using qmp::fail_null;
using qmp::MessageMemory;
using qmp::Run;

struct QMP_mem_struct {
  qmp::Block block;
};

namespace {

QMP_msgmem_t as_handle(MessageMemory* memory) {
  return reinterpret_cast<QMP_msgmem_t>(memory);
}

std::byte* bytes_at(void* base) {
  return static_cast<std::byte*>(base);
}

QMP_msgmem_t declare(std::vector<Run> runs) {
  return as_handle(new MessageMemory(std::move(runs)));
}

/// Every failure names `function`, which the program has called, and sets the
/// error of its cause: no job, a wrong alignment, or no room in library memory.
QMP_mem_t* allocate(const char* function,
                    std::size_t bytes,
                    std::size_t alignment) {
  qmp::Job* mine = qmp::job_for(function);
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
  return new QMP_mem_struct{block};
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
  return mem != nullptr ? mem->block.memory : nullptr;
}

void QMP_free_memory(QMP_mem_t* mem) {
  if (mem == nullptr) {
    return;
  }
  if (qmp::Job* mine = qmp::job_for("QMP_free_memory")) {
    mine->exchange.library().free(mem->block.memory);
  }
  delete mem;
}

QMP_msgmem_t QMP_declare_msgmem(const void* mem, size_t nbytes) {
  if (qmp::job_for("QMP_declare_msgmem") == nullptr) {
    return nullptr;
  }
  if (mem == nullptr && nbytes > 0) {
    return fail_null(QMP_INVALID_ARG, "QMP_declare_msgmem: NULL, %zu bytes",
                     nbytes);
  }
  return as_handle(new MessageMemory(const_cast<void*>(mem), nbytes));
}

QMP_msgmem_t QMP_declare_strided_msgmem(void* base,
                                        size_t blksize,
                                        int nblocks,
                                        ptrdiff_t stride) {
  return QMP_declare_strided_array_msgmem(&base, &blksize, &nblocks, &stride,
                                          1);
}

// Every run is checked first: message memories have no failure of their own.
QMP_msgmem_t QMP_declare_strided_array_msgmem(void* base[],
                                              size_t blksize[],
                                              int nblocks[],
                                              ptrdiff_t stride[],
                                              int num) {
  if (qmp::job_for("QMP_declare_strided_msgmem") == nullptr) {
    return nullptr;
  }
  const bool is_given = base != nullptr && blksize != nullptr &&
                        nblocks != nullptr && stride != nullptr;
  if (num < 0 || (!is_given && num > 0)) {
    return fail_null(QMP_INVALID_ARG,
                     "QMP_declare_strided_msgmem: NULL, or %d runs", num);
  }
  std::vector<Run> runs;
  for (int i = 0; i < num; ++i) {
    if (nblocks[i] < 0 ||
        (base[i] == nullptr && blksize[i] > 0 && nblocks[i] > 0)) {
      return fail_null(QMP_INVALID_ARG,
                       "QMP_declare_strided_msgmem: run %d: %d blocks, base %p",
                       i, nblocks[i], base[i]);
    }
    runs.push_back({bytes_at(base[i]), blksize[i],
                    static_cast<std::size_t>(nblocks[i]), stride[i]});
  }
  return declare(std::move(runs));
}

// The types are those that programs know.
// NOLINTBEGIN(readability-non-const-parameter)
QMP_msgmem_t QMP_declare_indexed_msgmem(
    void* base, int blocklen[], int index[], int elemsize, int count) {
  if (qmp::job_for("QMP_declare_indexed_msgmem") == nullptr) {
    return nullptr;
  }
  if (count < 0 || elemsize < 0 ||
      (count > 0 &&
       (base == nullptr || blocklen == nullptr || index == nullptr))) {
    return fail_null(QMP_INVALID_ARG,
                     "QMP_declare_indexed_msgmem: NULL, or %d blocks of "
                     "elements of %d bytes",
                     count, elemsize);
  }
  std::vector<Run> runs;
  for (int i = 0; i < count; ++i) {
    if (blocklen[i] < 0) {
      return fail_null(QMP_INVALID_ARG,
                       "QMP_declare_indexed_msgmem: block %d has %d elements",
                       i, blocklen[i]);
    }
    runs.push_back({bytes_at(base) + std::ptrdiff_t{index[i]} * elemsize,
                    static_cast<std::size_t>(blocklen[i]) *
                        static_cast<std::size_t>(elemsize),
                    1, 0});
  }
  return declare(std::move(runs));
}

// NOLINTEND(readability-non-const-parameter)

void QMP_free_msgmem(QMP_msgmem_t m) {
  if (m != nullptr && qmp::job() != nullptr) {
    reinterpret_cast<MessageMemory*>(m)->release();
  }
}

}  // extern "C"
