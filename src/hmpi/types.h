// The facts of a type of MPI that messages depend on: its bytes, and whether
// they lie in a row in the order of the type.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hmpi {

struct TypeFacts {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::size_t size = 0;   ///< Bytes of data in an element.
  bool is_plain = false;  ///< A count of elements is a row of bytes.
  bool is_named = false;  ///< A type of MPI itself, which is never freed.
};

/// The facts of the types that were asked about, each at a place by a hash of
/// its handle. A newer type takes the place of an older one.
class KnownTypes {
 public:
  TypeFacts& place_of(MPI_Datatype type) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &type, sizeof type);
    return facts_[(bits * 0x9E37'79B9'7F4A'7C15) >> 56];
  }

 private:
  std::array<TypeFacts, 256> facts_{};
};

inline KnownTypes g_known_types;

/// Asks the MPI below about a type, and remembers the answers.
const TypeFacts& learn_type(MPI_Datatype type);

/// The facts of a valid type. Inside of the gate.
inline const TypeFacts& facts_of(MPI_Datatype type) {
  const TypeFacts& facts = g_known_types.place_of(type);
  return facts.type == type ? facts : learn_type(type);
}

/// Makes the attribute by which facts of a freed type are forgotten.
void begin_types();

}  // namespace hmpi
