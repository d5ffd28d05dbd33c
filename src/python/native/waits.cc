// Waits with a time limit: for operations, the barrier, a word and a condition.
// Each returns False or None when the time is over, as a time-out is an answer.
#include "python/native/waits.h"

#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

PyObject* answer(Waited waited, const CallText& text) {
  switch (waited) {
    case Waited::kDone: Py_RETURN_TRUE;
    case Waited::kTimedOut: Py_RETURN_FALSE;
    case Waited::kFailed: return raise_failure(text);
    case Waited::kRaised: break;
  }
  return nullptr;
}

/// complete(handle=ALL, timeout=None)
PyObject* complete(PyObject* /*module*/,
                   PyObject* const* arguments,
                   Py_ssize_t positional,
                   PyObject* keywords) {
  std::array<PyObject*, 2> given{};
  if (!Names<2, "handle", "timeout">::arrange("complete", arguments, positional,
                                              keywords, given)) {
    return nullptr;
  }
  Argument<std::uint64_t> handle{ACP_HANDLE_ALL};
  TimeLimit limit;
  if (!handle.take(given[0]) || !limit.take(given[1])) return nullptr;
  return answer(wait_in_slices(limit,
                               [&handle](int slice_ms) {
                                 return acpx_complete_timeout(handle.value,
                                                              slice_ms);
                               }),
                {"acp_complete", given.data(), 1});
}

/// sync(timeout=None)
PyObject* sync(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t positional,
               PyObject* keywords) {
  std::array<PyObject*, 1> given{};
  TimeLimit limit;
  if (!Names<1, "timeout">::arrange("sync", arguments, positional, keywords,
                                    given) ||
      !limit.take(given[0])) {
    return nullptr;
  }
  return answer(wait_in_slices(limit, acpx_sync_timeout),
                {"acp_sync", given.data(), 0});
}

/// wait_word(word, unlike, timeout=None): the value seen, or None.
PyObject* wait_word(PyObject* /*module*/,
                    PyObject* const* arguments,
                    Py_ssize_t positional,
                    PyObject* keywords) {
  std::array<PyObject*, 3> given{};
  Argument<std::uint64_t> word;
  Argument<std::uint64_t> unlike;
  TimeLimit limit;
  if (!Names<1, "word", "unlike", "timeout">::arrange(
          "wait_word", arguments, positional, keywords, given) ||
      !word.take(given[0]) || !unlike.take(given[1]) || !limit.take(given[2])) {
    return nullptr;
  }
  std::uint64_t value = 0;
  const Waited waited = wait_in_slices(limit, [&](int slice_ms) {
    return acpx_wait_word(word.value, unlike.value, slice_ms, &value);
  });
  if (waited == Waited::kDone) return to_python(value);
  if (waited == Waited::kTimedOut) Py_RETURN_NONE;
  return answer(waited, {"acpx_wait_word", given.data(), 2});
}

/// The condition of wait_until, which ACP calls without the GIL.
struct Condition {
  PyObject* function = nullptr;
  bool has_raised = false;

  static int is_met(void* argument) {
    auto& self = *static_cast<Condition*>(argument);
    if (self.has_raised) return 1;
    const WithGil with;
    const Object result(PyObject_CallNoArgs(self.function));
    const int truth = result ? PyObject_IsTrue(result.get()) : -1;
    self.has_raised = truth < 0;
    return truth != 0 ? 1 : 0;
  }
};

/// wait_until(condition, timeout=None): an exception of the condition ends the
/// wait.
PyObject* wait_until(PyObject* /*module*/,
                     PyObject* const* arguments,
                     Py_ssize_t positional,
                     PyObject* keywords) {
  std::array<PyObject*, 2> given{};
  TimeLimit limit;
  if (!Names<1, "condition", "timeout">::arrange("wait_until", arguments,
                                                 positional, keywords, given) ||
      !limit.take(given[1])) {
    return nullptr;
  }
  Condition condition{given[0]};
  const Waited waited = wait_in_slices(limit, [&condition](int slice_ms) {
    return acpx_wait_until(&Condition::is_met, &condition, slice_ms);
  });
  if (condition.has_raised) return nullptr;
  return answer(waited, {"acpx_wait_until", given.data(), 1});
}

}  // namespace

PyMethodDef* wait_methods() {
  static PyMethodDef methods[] = {
      row("complete", complete,
          "complete(handle=ALL, timeout=None)\n--\n\nWaits until everything up "
          "to the handle is complete. False when the time is over."),
      row("sync", sync,
          "sync(timeout=None)\n--\n\nA barrier of all ranks. False when the "
          "time "
          "is over; the next call goes on with it."),
      row("wait_word", wait_word,
          "wait_word(word, unlike, timeout=None)\n--\n\nWaits until 8 bytes of "
          "this rank differ from a value. Returns what they are, or None."),
      row("wait_until", wait_until,
          "wait_until(condition, timeout=None)\n--\n\nWaits until a function "
          "returns true, and makes progress meanwhile."),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
