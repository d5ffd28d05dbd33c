// Lists. A position is the element's address, 0 at the end; acp/list.py makes
// iterators of it.
#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

acp_ga_t begin(acp_list_t list) {
  return acp_begin_list(list).elem;
}

acp_ga_t increment(acp_list_t list, acp_ga_t elem) {
  return acp_increment_list_it({list, elem}).elem;
}

acp_ga_t decrement(acp_list_t list, acp_ga_t elem) {
  return acp_decrement_list_it({list, elem}).elem;
}

acp_ga_t erase(acp_list_t list, acp_ga_t elem) {
  return acp_erase_list({list, elem}).elem;
}

acp_ga_t insert(acp_list_t list, acp_ga_t elem, Bytes bytes, int rank) {
  return acp_insert_list({list, elem}, bytes.element(), rank).elem;
}

void push_back(acp_list_t list, Bytes bytes, int rank) {
  acp_push_back_list(list, bytes.element(), rank);
}

void push_front(acp_list_t list, Bytes bytes, int rank) {
  acp_push_front_list(list, bytes.element(), rank);
}

void remove(acp_list_t list, Bytes bytes) {
  acp_remove_list(list, bytes.element());
}

/// Moves an element, or a range of another list, before the position.
void splice(acp_list_t list, acp_ga_t elem, acp_list_t from, acp_ga_t moved) {
  acp_splice_list({list, elem}, {from, moved});
}

void splice_range(acp_list_t list,
                  acp_ga_t elem,
                  acp_list_t from,
                  acp_ga_t start,
                  acp_ga_t end) {
  acp_splice_range_list({list, elem}, {from, start}, {from, end});
}

/// dereference_list(list, elem): address and size of the element's bytes.
PyObject* dereference(PyObject* /*module*/,
                      PyObject* const* arguments,
                      Py_ssize_t count,
                      PyObject* /*keywords*/) {
  Argument<acp_list_t> list;
  Argument<std::uint64_t> elem;
  if (!list.take(arguments[0]) || !elem.take(arguments[1])) return nullptr;
  acp_element_t element{};
  {
    const WithoutGil without;
    element = acp_dereference_list_it({list.value, elem.value});
  }
  return element.ga == ACP_GA_NULL
             ? raise_failure({"acp_dereference_list_it", arguments, count})
             : Py_BuildValue("KK", element.ga, element.size);
}

/// The comparison function of the sort or merge of this thread. ACP gives its
/// comparators no argument.
struct Comparison {
  PyObject* function = nullptr;
  bool has_raised = false;
};

thread_local Comparison* t_comparison = nullptr;

Object bytes_of(const acp_element_t& element) {
  return Object(PyBytes_FromStringAndSize(
      static_cast<const char*>(acp_query_address(element.ga)),
      static_cast<Py_ssize_t>(element.size)));
}

/// After an exception all elements are equal, so the sort ends soon.
int compare(const acp_element_t first, const acp_element_t second) {
  Comparison& mine = *t_comparison;
  if (mine.has_raised) return 0;
  const WithGil with;
  const Object a = bytes_of(first);
  const Object b = bytes_of(second);
  const Object result(a && b ? PyObject_CallFunctionObjArgs(
                                   mine.function, a.get(), b.get(), nullptr)
                             : nullptr);
  const long order = result ? PyLong_AsLong(result.get()) : -1;
  mine.has_raised = PyErr_Occurred() != nullptr;
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

/// Calls a function of ACP that compares elements by `function`.
template <typename Call>
PyObject* call_with_comparison(PyObject* function,
                               const CallText& text,
                               Call call) {
  Comparison comparison{function};
  Comparison* const before = std::exchange(t_comparison, &comparison);
  acp_errno = ACPX_OK;
  {
    const WithoutGil without;
    call();
  }
  t_comparison = before;
  if (comparison.has_raised) return nullptr;
  if (acp_errno != ACPX_OK) return raise_failure(text);
  Py_RETURN_NONE;
}

/// sort_list(list, compare)
PyObject* sort(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t count,
               PyObject* /*keywords*/) {
  Argument<acp_list_t> list;
  if (!list.take(arguments[0])) return nullptr;
  return call_with_comparison(arguments[1], {"acp_sort_list", arguments, count},
                              [&] { acp_sort_list(list.value, compare); });
}

/// merge_list(list, other, compare)
PyObject* merge(PyObject* /*module*/,
                PyObject* const* arguments,
                Py_ssize_t count,
                PyObject* /*keywords*/) {
  Argument<acp_list_t> list;
  Argument<acp_list_t> other;
  if (!list.take(arguments[0]) || !other.take(arguments[1])) return nullptr;
  return call_with_comparison(
      arguments[2], {"acp_merge_list", arguments, count},
      [&] { acp_merge_list(list.value, other.value, compare); });
}

}  // namespace

/// Positions are addresses here, and structures of C inside of the functions
/// above.
PyMethodDef* list_methods() {
  static PyMethodDef methods[] = {
      row<"acp_create_list", acp_create_list, Fails::kByZero>(),
      row<"acp_destroy_list", acp_destroy_list, Fails::kByErrno>(),
      row<"acp_size_list", acp_size_list, Fails::kByErrno>(),
      row<"acp_clear_list", acp_clear_list, Fails::kByErrno>(),
      row<"acp_begin_list", begin, Fails::kByErrno>(),
      row<"acp_increment_list_it", increment, Fails::kByErrno>(),
      row<"acp_decrement_list_it", decrement, Fails::kByErrno>(),
      row("dereference_list_it", dereference),
      row<"acp_erase_list", erase, Fails::kByErrno>(),
      row<"acp_insert_list", insert, Fails::kByErrno>(),
      row<"acp_push_back_list", push_back, Fails::kByErrno>(),
      row<"acp_push_front_list", push_front, Fails::kByErrno>(),
      row<"acp_remove_list", remove, Fails::kByErrno>(),
      row<"acp_reverse_list", acp_reverse_list, Fails::kByErrno>(),
      row<"acp_unique_list", acp_unique_list, Fails::kByErrno>(),
      row<"acp_assign_list", acp_assign_list, Fails::kByErrno>(),
      row<"acp_swap_list", acp_swap_list, Fails::kByErrno>(),
      row<"acp_splice_list", splice, Fails::kByErrno>(),
      row<"acp_splice_range_list", splice_range, Fails::kByErrno>(),
      row("sort_list", sort),
      row("merge_list", merge),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
