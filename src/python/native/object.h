// Python's objects in C++: references that release themselves, and the GIL.
#pragma once

// Python.h has to be the first header, because it chooses what the C library
// shows.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace acp::python {

/// A reference that this object owns; may be empty. Its user holds the GIL.
class Object {
 public:
  Object() = default;

  explicit Object(PyObject* owned) noexcept : object_(owned) {}

  Object(Object&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}

  Object& operator=(Object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  ~Object() { Py_XDECREF(object_); }

  explicit operator bool() const noexcept { return object_ != nullptr; }

  PyObject* get() const noexcept { return object_; }

  /// Gives the reference to the caller.
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

/// While it lives, other threads of Python run. Every call of ACP is made so,
/// because it may wait for a network or for another rank.
class WithoutGil {
 public:
  WithoutGil() noexcept : state_(PyEval_SaveThread()) {}

  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  ~WithoutGil() { PyEval_RestoreThread(state_); }

 private:
  PyThreadState* state_;
};

/// Takes the GIL in a function that ACP calls back.
class WithGil {
 public:
  WithGil() noexcept : state_(PyGILState_Ensure()) {}

  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

  ~WithGil() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

/// The bytes of an object with the buffer protocol, in one piece, until the end
/// of its life. The GIL is held where it begins and ends.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  ~Buffer() {
    if (is_taken_) PyBuffer_Release(&view_);
  }

  /// False, with an exception set, unless the object has such bytes. `flags` is
  /// PyBUF_SIMPLE, or PyBUF_WRITABLE for bytes that are written.
  bool take(PyObject* object, int flags) {
    is_taken_ = PyObject_GetBuffer(object, &view_, flags) == 0;
    return is_taken_;
  }

  void* data() const noexcept { return view_.buf; }

  std::size_t size() const noexcept {
    return static_cast<std::size_t>(view_.len);
  }

 private:
  Py_buffer view_{};
  bool is_taken_ = false;
};

}  // namespace acp::python
