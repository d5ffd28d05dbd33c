// Helpers of the cases of ownership passing and of memory.
#pragma once

#define HMPI_NO_RENAMES
#include "check.h"
#include "hmpi.h"

namespace mpi_check {

/// A buffer of OPI_Alloc, which has to work.
inline void* allocate(std::size_t bytes) {
  void* buffer = nullptr;
  CHECK_EQUAL(OPI_Alloc(&buffer, bytes), MPI_SUCCESS);
  CHECK(buffer != nullptr);
  CHECK_EQUAL(IS_SM_BUF(buffer), 1);
  return buffer;
}

inline unsigned char byte_at(std::size_t index, int salt) {
  return static_cast<unsigned char>((index * 131 + index / 251) ^
                                    (static_cast<unsigned>(salt) * 29 + 7));
}

inline void fill(void* memory, std::size_t bytes, int salt) {
  auto* at = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; i < bytes; ++i) {
    at[i] = byte_at(i, salt);
  }
}

inline bool is_filled(const void* memory, std::size_t bytes, int salt) {
  const auto* at = static_cast<const unsigned char*>(memory);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (at[i] != byte_at(i, salt)) {
      return false;
    }
  }
  return true;
}

inline bool all_on_one_host() {
  static const bool result = [] {
    MPI_Comm host = MPI_COMM_NULL;
    int size = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &host);
    MPI_Comm_size(host, &size);
    MPI_Comm_free(&host);
    return size == world_size;
  }();
  return result;
}

}  // namespace mpi_check
