// Copies, atomics, chains and signals: the hot calls. They are the functions of
// the package itself, without a layer of Python between. docs/decisions has
// what a put costs.
#include <array>

#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

using Copied = Names<1, "dst", "src", "size", "order">;
using Changed = Names<1, "dst", "src", "value", "order">;
using Compared = Names<1, "dst", "src", "oldval", "newval", "order">;
using Signalled = Names<2, "dst", "src", "size", "word", "add", "order">;

acp_handle_t put_signal(acp_ga_t dst,
                        acp_ga_t src,
                        std::size_t size,
                        acp_ga_t word,
                        Addend add,
                        acp_handle_t order) {
  return acpx_put_signal(dst, src, size, word, add.number, order);
}

/// fetch(name, ga, width, value[, new value]): posts an atomic on a word, waits
/// for it, and returns the old value.
template <Text kName, auto kPost4, auto kPost8>
PyObject* fetch(PyObject* /*module*/,
                PyObject* const* arguments,
                Py_ssize_t count,
                PyObject* /*keywords*/) {
  std::array<Argument<std::uint64_t>, 4> numbers;  // ga, width, value, value
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool is_given = static_cast<Py_ssize_t>(i) < count;
    if (!numbers[i].take(is_given ? arguments[i] : nullptr)) return nullptr;
  }
  const auto [ga, width, first, second] = std::tuple{
      numbers[0].value, numbers[1].value, numbers[2].value, numbers[3].value};
  std::uint64_t old = 0;
  bool is_good = false;
  {
    const WithoutGil without;
    Staging staging;
    const Piece result = staging.take(sizeof old);
    const acp_handle_t handle = result.data == nullptr ? ACP_HANDLE_NULL
                                : width == 4
                                    ? kPost4(result.ga, ga, first, second)
                                    : kPost8(result.ga, ga, first, second);
    is_good =
        handle != ACP_HANDLE_NULL && acpx_complete_timeout(handle, -1) == 0;
    if (is_good) std::memcpy(&old, result.data, width == 4 ? 4 : sizeof old);
  }
  return is_good ? to_python(old)
                 : raise_failure({kName.text, arguments, count});
}

template <auto kFunction, typename Word>
acp_handle_t post1(acp_ga_t result,
                   acp_ga_t word,
                   std::uint64_t value,
                   std::uint64_t /*unused*/) {
  return kFunction(result, word, static_cast<Word>(value), ACP_HANDLE_NULL);
}

template <auto kFunction, typename Word>
acp_handle_t post2(acp_ga_t result,
                   acp_ga_t word,
                   std::uint64_t expected,
                   std::uint64_t value) {
  return kFunction(result, word, static_cast<Word>(expected),
                   static_cast<Word>(value), ACP_HANDLE_NULL);
}

/// post(steps, order): a chain of tuples (opcode, flags, remote, local, size,
/// operand, compare).
PyObject* post(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t count,
               PyObject* /*keywords*/) {
  std::array<acpx_op_t, ACPX_MAX_STEPS + 1> steps{};
  const Object list(PySequence_Tuple(arguments[0]));
  Argument<std::uint64_t> order;
  if (!list || !order.take(count > 1 ? arguments[1] : nullptr)) return nullptr;
  const auto size = static_cast<std::size_t>(PyTuple_GET_SIZE(list.get()));
  // The library refuses one step too many by itself.
  const std::size_t taken = std::min(size, steps.size());
  for (std::size_t i = 0; i < taken; ++i) {
    unsigned int opcode = 0;
    acpx_op_t& step = steps[i];
    unsigned long long remote = 0;
    unsigned long long local = 0;
    unsigned long long bytes = 0;
    unsigned long long operand = 0;
    unsigned long long compare = 0;
    if (!PyArg_ParseTuple(
            PyTuple_GET_ITEM(list.get(), static_cast<Py_ssize_t>(i)),
            "IIKKKKK:step", &opcode, &step.flags, &remote, &local, &bytes,
            &operand, &compare)) {
      return nullptr;
    }
    step.opcode = static_cast<acpx_opcode_t>(opcode);
    step.remote = remote;
    step.local = local;
    step.size = bytes;
    step.operand = operand;
    step.compare = compare;
  }
  acp_handle_t handle = ACP_HANDLE_NULL;
  {
    const WithoutGil without;
    handle = acpx_post(steps.data(), taken, order.value);
  }
  return handle == ACP_HANDLE_NULL
             ? raise_failure({"acpx_post", arguments, count})
             : to_python(handle);
}

bool is_pending(acp_handle_t handle) {
  return acp_inquire(handle) != 0;
}

template <Text kName, auto kFunction>
PyMethodDef atomic(const char* text) {
  return row<kName, kFunction, Fails::kByZero, Changed>(text);
}

template <Text kName, auto kFunction4, auto kFunction8>
PyMethodDef fetching(const char* name) {
  return row(name, &fetch<kName, post1<kFunction4, std::uint32_t>,
                          post1<kFunction8, std::uint64_t>>);
}

}  // namespace

/// The texts begin with the signature that help() shows.
PyMethodDef* access_methods() {
  static PyMethodDef methods[] = {
      row<"acp_copy", acp_copy, Fails::kByZero, Copied>(
          "copy(dst, src, size, order=0)\n--\n\nStarts a copy between memory "
          "of "
          "any two ranks, and returns its handle."),
      row<"acpx_put_signal", put_signal, Fails::kByZero, Signalled>(
          "put_signal(dst, src, size, word, add=1, order=0)\n--\n\nStarts a "
          "copy, "
          "and then adds to a word of the target rank and wakes its waiters."),
      atomic<"acp_add4", acp_add4>("add4(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_add8", acp_add8>("add8(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_and4", acp_and4>("and4(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_and8", acp_and8>("and8(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_or4", acp_or4>("or4(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_or8", acp_or8>("or8(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_xor4", acp_xor4>("xor4(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_xor8", acp_xor8>("xor8(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_swap4", acp_swap4>("swap4(dst, src, value, order=0)\n--\n\n"),
      atomic<"acp_swap8", acp_swap8>("swap8(dst, src, value, order=0)\n--\n\n"),
      row<"acp_cas4", acp_cas4, Fails::kByZero, Compared>(
          "cas4(dst, src, oldval, newval, order=0)\n--\n\n"),
      row<"acp_cas8", acp_cas8, Fails::kByZero, Compared>(
          "cas8(dst, src, oldval, newval, order=0)\n--\n\n"),
      fetching<"acp_add", acp_add4, acp_add8>("fetch_add"),
      fetching<"acp_and", acp_and4, acp_and8>("fetch_and"),
      fetching<"acp_or", acp_or4, acp_or8>("fetch_or"),
      fetching<"acp_xor", acp_xor4, acp_xor8>("fetch_xor"),
      fetching<"acp_swap", acp_swap4, acp_swap8>("fetch_swap"),
      row("fetch_cas", &fetch<"acp_cas", post2<acp_cas4, std::uint32_t>,
                              post2<acp_cas8, std::uint64_t>>),
      row("post", post),
      row<"acpx_flush", acpx_flush, Fails::kByErrno>(
          "flush()\n--\n\nSends the chains that MORE and HOLD keep back."),
      row<"acp_inquire", is_pending, Fails::kByErrno, Names<0, "handle">>(
          "inquire(handle)\n--\n\nWhether an operation up to the handle is not "
          "complete yet."),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
