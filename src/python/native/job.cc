// Start and end of the job, ranks, settings, and the error number. acp/job.py
// calls these functions.
#include <dlfcn.h>

#include <string>
#include <vector>

#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/staging.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

/// The words of a list of Python as a command line of C, which acp_init
/// changes.
class CommandLine {
 public:
  /// False with an exception set.
  bool take(PyObject* words) {
    const Object list(PySequence_List(words));
    if (!list) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
      const Object bytes(
          PyUnicode_EncodeFSDefault(PyList_GET_ITEM(list.get(), i)));
      if (!bytes) return false;
      texts_.emplace_back(PyBytes_AS_STRING(bytes.get()));
    }
    for (std::string& text : texts_)
      pointers_.push_back(text.data());
    count_ = static_cast<int>(pointers_.size());
    pointers_.push_back(nullptr);
    arguments_ = pointers_.data();
    return true;
  }

  int* count() { return &count_; }

  char*** arguments() { return &arguments_; }

  PyObject* to_list() const {
    Object list(PyList_New(count_));
    for (int i = 0; list && i < count_; ++i) {
      PyObject* word = PyUnicode_DecodeFSDefault(arguments_[i]);
      if (word == nullptr) return nullptr;
      PyList_SET_ITEM(list.get(), i, word);
    }
    return list.release();
  }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
  int count_ = 0;
  char** arguments_ = nullptr;
};

/// init(words): joins the job, and returns the words that are not ACP's. The
/// job's memory stays mapped until the process ends, so that a view which
/// outlives acp_finalize is no dangling pointer.
PyObject* init(PyObject* /*module*/, PyObject* words) {
  CommandLine line;
  if (!line.take(words)) return nullptr;
  int result = 0;
  {
    const WithoutGil without;
    result = acp_init(line.count(), line.arguments());
    if (result == 0 && acpx_hold_job() == 0) acpx_release_job();
  }
  if (result != 0) return raise_failure({"acp_init", &words, 1});
  begin_another_life();
  return line.to_list();
}

int finalize() {
  const int result = acp_finalize();
  begin_another_life();
  return result;
}

int reset(int rank) {
  const int result = acp_reset(rank);
  begin_another_life();
  return result;
}

PyObject* abort(PyObject* /*module*/, PyObject* text) {
  const char* words = PyUnicode_AsUTF8(text);
  if (words == nullptr) return nullptr;
  const std::string kept = words;
  const WithoutGil without;
  acp_abort(kept.c_str());
  Py_UNREACHABLE();
}

PyObject* strerror(PyObject* /*module*/, PyObject* code) {
  const long number = PyLong_AsLong(code);
  if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
  return PyUnicode_FromString(acpx_strerror(static_cast<int>(number)));
}

PyObject* version(PyObject* /*module*/, PyObject* /*unused*/) {
  return PyUnicode_FromString(acpx_version());
}

/// setting(name): the value in force, or None for a text.
PyObject* setting(PyObject* /*module*/, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  std::uint64_t value = 0;
  if (acpx_setting(text, &value) != 0) {
    return raise_failure({"acpx_setting", &name, 1});
  }
  return to_python(value);
}

/// count(name, amount).
PyObject* count(PyObject* /*module*/,
                PyObject* const* arguments,
                Py_ssize_t /*count*/,
                PyObject* /*keywords*/) {
  const char* name = PyUnicode_AsUTF8(arguments[0]);
  Argument<std::uint64_t> amount;
  if (name == nullptr || !amount.take(arguments[1])) return nullptr;
  if (acpx_count(name, amount.value) != 0) {
    return raise_failure({"acpx_count", arguments, 2});
  }
  Py_RETURN_NONE;
}

/// log(level, text): a line in the form of the library's own.
PyObject* log(PyObject* /*module*/,
              PyObject* const* arguments,
              Py_ssize_t /*count*/,
              PyObject* /*keywords*/) {
  Argument<int> level;
  const char* text = PyUnicode_AsUTF8(arguments[1]);
  if (text == nullptr || !level.take(arguments[0])) return nullptr;
  acpx_log(static_cast<acpx_log_level_t>(level.value), text);
  Py_RETURN_NONE;
}

/// The file of libacp in this process: acprun and acp_info are near it.
PyObject* library_file(PyObject* /*module*/, PyObject* /*unused*/) {
  Dl_info info{};
  // NOLINTNEXTLINE: dladdr takes a function as a pointer to data
  if (dladdr(reinterpret_cast<void*>(&acpx_version), &info) == 0) {
    Py_RETURN_NONE;
  }
  return PyUnicode_DecodeFSDefault(info.dli_fname);
}

}  // namespace

/// Functions that programs call have a text, which begins with the signature
/// that help() shows.
PyMethodDef* job_methods() {
  static PyMethodDef methods[] = {
      row("init", init, nullptr, METH_O),
      row<"acp_finalize", finalize, Fails::kByNonzero>(),
      row<"acp_reset", reset, Fails::kByNonzero>(),
      row("abort", abort, nullptr, METH_O),
      row<"acp_rank", acp_rank, Fails::kByNegative>(
          "rank()\n--\n\nThe number of this rank, 0 to procs() - 1."),
      row<"acp_procs", acp_procs, Fails::kByNegative>(
          "procs()\n--\n\nThe number of ranks of the job."),
      row<"acp_colors", acp_colors, Fails::kByNegative>(
          "colors()\n--\n\nThe number of independent network paths."),
      row("strerror", strerror, nullptr, METH_O),
      row("version", version, nullptr, METH_NOARGS),
      row("setting", setting, nullptr, METH_O),
      row("count", count),
      row("log", log),
      row("library_file", library_file, nullptr, METH_NOARGS),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
