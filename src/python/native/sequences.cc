// Vectors and deques: bytes in a row. Offsets and sizes count bytes;
// acp/vector.py and acp/deque.py make elements of them.
#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

/// The functions that vectors and deques have in common, by the type.
template <typename S,
          auto kPushBack,
          auto kInsert,
          auto kErase,
          auto kAssignRange,
          typename It>
struct Sequence {
  static void push_back(S sequence, Bytes bytes) {
    kPushBack(sequence, bytes.ga, bytes.size);
  }

  static void insert(S sequence, int offset, Bytes bytes) {
    kInsert(It{sequence, offset}, bytes.ga, bytes.size);
  }

  static void erase(S sequence, int offset, std::size_t size) {
    kErase(It{sequence, offset}, size);
  }

  static void assign_range(S sequence, S source, int start, int end) {
    kAssignRange(sequence, It{source, start}, It{source, end});
  }
};

using Vector = Sequence<acp_vector_t,
                        acp_push_back_vector,
                        acp_insert_vector,
                        acp_erase_vector,
                        acp_assign_range_vector,
                        acp_vector_it_t>;
using Deque = Sequence<acp_deque_t,
                       acp_push_back_deque,
                       acp_insert_deque,
                       acp_erase_deque,
                       acp_assign_range_deque,
                       acp_deque_it_t>;

void push_front_deque(acp_deque_t deque, Bytes bytes) {
  acp_push_front_deque(deque, bytes.ga, bytes.size);
}

/// take(deque, size): the bytes, or None if the deque has fewer.
template <Text kName, auto kTake>
PyObject* take(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t count,
               PyObject* /*keywords*/) {
  Argument<acp_deque_t> deque;
  Argument<std::uint64_t> size;
  if (!deque.take(arguments[0]) || !size.take(arguments[1])) return nullptr;
  Staging staging;
  const Piece piece = staging.take(size.value);
  int taken = -1;
  if (piece.data != nullptr) {
    const WithoutGil without;
    taken = kTake(deque.value, piece.ga, size.value);
  }
  if (taken < 0) return raise_failure({kName.text, arguments, count});
  if (taken == 0) Py_RETURN_NONE;
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(piece.data),
                                   static_cast<Py_ssize_t>(size.value));
}

}  // namespace

/// Vectors come first. Deques have more functions, because they have two ends.
PyMethodDef* sequence_methods() {
  static PyMethodDef methods[] = {
      row<"acp_create_vector", acp_create_vector, Fails::kByZero>(),
      row<"acp_destroy_vector", acp_destroy_vector, Fails::kByErrno>(),
      row<"acp_size_vector", acp_size_vector, Fails::kByErrno>(),
      row<"acp_capacity_vector", acp_capacity_vector, Fails::kByErrno>(),
      row<"acp_clear_vector", acp_clear_vector, Fails::kByErrno>(),
      row<"acp_reserve_vector", acp_reserve_vector, Fails::kByErrno>(),
      row<"acp_at_vector", acp_at_vector, Fails::kByZero>(),
      row<"acp_pop_back_vector", acp_pop_back_vector, Fails::kByErrno>(),
      row<"acp_push_back_vector", Vector::push_back, Fails::kByErrno>(),
      row<"acp_insert_vector", Vector::insert, Fails::kByErrno>(),
      row<"acp_erase_vector", Vector::erase, Fails::kByErrno>(),
      row<"acp_assign_vector", acp_assign_vector, Fails::kByErrno>(),
      row<"acp_assign_range_vector", Vector::assign_range, Fails::kByErrno>(),
      row<"acp_swap_vector", acp_swap_vector, Fails::kByErrno>(),
      row<"acp_create_deque", acp_create_deque, Fails::kByZero>(),
      row<"acp_destroy_deque", acp_destroy_deque, Fails::kByErrno>(),
      row<"acp_size_deque", acp_size_deque, Fails::kByErrno>(),
      row<"acp_capacity_deque", acp_capacity_deque, Fails::kByErrno>(),
      row<"acp_clear_deque", acp_clear_deque, Fails::kByErrno>(),
      row<"acp_reserve_deque", acp_reserve_deque, Fails::kByErrno>(),
      row<"acp_at_deque", acp_at_deque, Fails::kByZero>(),
      row<"acp_push_back_deque", Deque::push_back, Fails::kByErrno>(),
      row<"acp_push_front_deque", push_front_deque, Fails::kByErrno>(),
      row("take_front_deque",
          take<"acpx_take_front_deque", acpx_take_front_deque>),
      row("take_back_deque",
          take<"acpx_take_back_deque", acpx_take_back_deque>),
      row<"acp_insert_deque", Deque::insert, Fails::kByErrno>(),
      row<"acp_erase_deque", Deque::erase, Fails::kByErrno>(),
      row<"acp_assign_deque", acp_assign_deque, Fails::kByErrno>(),
      row<"acp_swap_deque", acp_swap_deque, Fails::kByErrno>(),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
