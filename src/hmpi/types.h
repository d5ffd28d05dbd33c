// The facts of a type of MPI that messages depend on: its bytes, and whether
// they lie in a row in the order of the type.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace hmpi {

struct TypeFacts {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::size_t size = 0;   ///< Bytes of data in an element.
  bool is_plain = false;  ///< A count of elements is a row of bytes.
  bool is_named = false;  ///< A type of MPI itself, which is never freed.
};

/// The facts of a valid type. Inside of the gate.
const TypeFacts& facts_of(MPI_Datatype type);

/// Makes the attribute by which facts of a freed type are forgotten.
void begin_types();

}  // namespace hmpi
