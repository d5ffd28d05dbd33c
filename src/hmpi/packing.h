// Derived types to bytes in a row, and back, by the MPI below.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace hmpi {

/// Writes all data of `count` elements to `to`, which has room for them.
void pack(const void* data, MPI_Count count, MPI_Datatype type, std::byte* to);

/// Writes `bytes` bytes into elements of a type, from the first element on. The
/// last element may get a part of its data.
void unpack(const std::byte* from,
            std::size_t bytes,
            void* data,
            MPI_Datatype type);

}  // namespace hmpi
