// Registered memory, the heap, addresses, and copies between global memory and
// objects of Python. acp/memory.py calls these functions.
#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

std::uint64_t number_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// register_memory(buffer, color): the key and the address of the bytes. The
/// caller keeps the buffer until unregister_memory.
PyObject* register_memory(PyObject* /*module*/,
                          PyObject* const* arguments,
                          Py_ssize_t count,
                          PyObject* /*keywords*/) {
  const CallText text{"acp_register_memory", arguments, count};
  Buffer buffer;
  Argument<int> color;
  if (!buffer.take(arguments[0], PyBUF_WRITABLE) || !color.take(arguments[1])) {
    return nullptr;
  }
  acp_atkey_t key = ACP_ATKEY_NULL;
  {
    const WithoutGil without;
    key = acp_register_memory(buffer.data(), buffer.size(), color.value);
  }
  if (key == ACP_ATKEY_NULL) return raise_failure(text);
  const acp_ga_t ga = acp_query_ga(key, buffer.data());
  return Py_BuildValue("KKK", key, ga, number_of(buffer.data()));
}

/// The pointer to memory that this process can load and store, or 0. To ask is
/// no failure.
std::uint64_t pointer(acp_ga_t ga) {
  const int before = acp_errno;
  void* found = acpx_pointer(ga);
  acp_errno = before;
  return number_of(found);
}

/// Copies between global memory and memory of this process, and waits.
bool copy_and_wait(acp_ga_t to, acp_ga_t from, std::size_t size) {
  if (to == ACP_GA_NULL || from == ACP_GA_NULL) return false;
  const acp_handle_t handle = acp_copy(to, from, size, ACP_HANDLE_NULL);
  return size == 0 ||
         (handle != ACP_HANDLE_NULL && acpx_complete_timeout(handle, -1) == 0);
}

bool read_to(void* data, acp_ga_t from, std::size_t size) {
  const CallMemory memory(data, size, CallMemory::Use::kTarget);
  if (!copy_and_wait(memory.ga(), from, size)) return false;
  memory.deliver();
  return true;
}

/// read(ga, size): the bytes there.
PyObject* read(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t count,
               PyObject* /*keywords*/) {
  Argument<std::uint64_t> from;
  Argument<std::uint64_t> size;
  if (!from.take(arguments[0]) || !size.take(arguments[1])) return nullptr;
  Object bytes(
      PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size.value)));
  if (!bytes) return nullptr;
  bool is_good = false;
  {
    const WithoutGil without;
    is_good = read_to(PyBytes_AS_STRING(bytes.get()), from.value, size.value);
  }
  return is_good ? bytes.release()
                 : raise_failure({"acp_copy", arguments, count});
}

/// read_into(ga, buffer): fills the buffer with the bytes there.
PyObject* read_into(PyObject* /*module*/,
                    PyObject* const* arguments,
                    Py_ssize_t count,
                    PyObject* /*keywords*/) {
  Argument<std::uint64_t> from;
  Buffer buffer;
  if (!from.take(arguments[0]) || !buffer.take(arguments[1], PyBUF_WRITABLE)) {
    return nullptr;
  }
  bool is_good = false;
  {
    const WithoutGil without;
    is_good = read_to(buffer.data(), from.value, buffer.size());
  }
  if (!is_good) return raise_failure({"acp_copy", arguments, count});
  Py_RETURN_NONE;
}

/// write(ga, bytes): complete when it returns.
PyObject* write(PyObject* /*module*/,
                PyObject* const* arguments,
                Py_ssize_t count,
                PyObject* /*keywords*/) {
  Argument<std::uint64_t> to;
  Buffer buffer;
  if (!to.take(arguments[0]) || !buffer.take(arguments[1], PyBUF_SIMPLE)) {
    return nullptr;
  }
  bool is_good = false;
  {
    const WithoutGil without;
    const CallMemory memory(buffer.data(), buffer.size(),
                            CallMemory::Use::kSource);
    is_good = copy_and_wait(to.value, memory.ga(), buffer.size());
  }
  if (!is_good) return raise_failure({"acp_copy", arguments, count});
  Py_RETURN_NONE;
}

}  // namespace

/// Functions that programs call have names of parameters, and a text for
/// help().
PyMethodDef* memory_methods() {
  static PyMethodDef methods[] = {
      row("register_memory", register_memory),
      row<"acp_unregister_memory", acp_unregister_memory, Fails::kByNonzero>(),
      row<"acp_malloc", acp_malloc, Fails::kByZero>(),
      row<"acp_free", acp_free, Fails::kByErrno>(),
      row<"acpx_trim_malloc", acpx_trim_malloc, Fails::kByNonzero>(
          "trim_malloc()\n--\n\nReturns the free blocks that this rank keeps "
          "at "
          "hand to their heaps."),
      row<"acp_query_starter_ga", acp_query_starter_ga, Fails::kByZero>(),
      row<"acp_query_rank", acp_query_rank, Fails::kByNegative, Names<0, "ga">>(
          "query_rank(ga)\n--\n\nThe rank that a global address belongs to."),
      row<"acp_query_color", acp_query_color, Fails::kByNegative,
          Names<0, "ga">>(
          "query_color(ga)\n--\n\nThe color of a global address."),
      row<"acpx_pointer", pointer, Fails::kByErrno>(),
      row<"acpx_atomics_agree", acpx_atomics_agree, Fails::kByNegative,
          Names<0, "rank">>(
          "atomics_agree(rank)\n--\n\n1 where CPU atomics of the rank and the "
          "library's are atomic with each other."),
      row<"acpx_announce_memory", acpx_announce_memory, Fails::kByNonzero,
          Names<0, "ga", "size", "rank">>(
          "announce_memory(ga, size, rank)\n--\n\nTells a rank how its network "
          "reaches memory of this rank."),
      row("read", read),
      row("read_into", read_into),
      row("write", write),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
