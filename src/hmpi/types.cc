// Asks the MPI below about types, and remembers the answers until a type ends.
#include "hmpi/types.h"

#include <vector>

#include "hmpi/below.h"
#include "hmpi/job.h"

namespace hmpi {

namespace {

int g_keyval = MPI_KEYVAL_INVALID;

/// Called by the MPI below when a type ends, in the program's thread.
int forget(MPI_Datatype type,
           int /*keyval*/,
           void* /*value*/,
           void* /*extra*/) {
  const Call call;  // Another thread may ask for a type of the same place.
  TypeFacts& facts = g_known_types.place_of(type);
  if (facts.type == type) {
    facts = TypeFacts{};
  }
  return MPI_SUCCESS;
}

/// Whether the bytes stand in the order of the type. Types whose size is their
/// extent may still be permuted, so only these constructors are trusted.
bool is_in_order(MPI_Datatype type) {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  below.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner == MPI_COMBINER_NAMED) {
    return true;
  }
  if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS) {
    return false;
  }
  std::vector<int> some_integers(static_cast<std::size_t>(integers) + 1);
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Aint unused = 0;
  below.Type_get_contents(type, integers, 0, 1, some_integers.data(), &unused,
                          &inner);
  const bool result = is_in_order(inner);
  below.Type_get_envelope(inner, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) {
    below.Type_free(&inner);
  }
  return result;
}

}  // namespace

void begin_types() {
  below.Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &g_keyval, nullptr);
}

/// A derived type gets an attribute, whose end tells of the end of the type.
const TypeFacts& learn_type(MPI_Datatype type) {
  TypeFacts& facts = g_known_types.place_of(type);
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count true_lower = 0;
  MPI_Count true_extent = 0;
  below.Type_size_x(type, &size);
  below.Type_get_extent_x(type, &lower, &extent);
  below.Type_get_true_extent_x(type, &true_lower, &true_extent);
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  below.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  const bool is_named = combiner == MPI_COMBINER_NAMED;
  if (!is_named) {
    // Calls forget() for a type that has the attribute already.
    below.Type_set_attr(type, g_keyval, nullptr);
  }
  facts.type = type;
  facts.size = static_cast<std::size_t>(size);
  facts.is_named = is_named;
  facts.is_plain = size == extent && lower == 0 && true_lower == 0 &&
                   true_extent == size && is_in_order(type);
  return facts;
}

}  // namespace hmpi
