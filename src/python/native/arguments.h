// Arguments of Python as those of C, and results of C as those of Python.
// call.h takes the converter of each type from here.
#pragma once

#include <climits>
#include <cstdint>

#include <acp.h>

#include "python/native/object.h"
#include "python/native/region.h"
#include "python/native/staging.h"

namespace acp::python {

/// Bytes that a function of ACP reads at an address: any object with the buffer
/// protocol, or acp.Memory of any rank, which is used where it is.
struct Bytes {
  acp_ga_t ga = ACP_GA_NULL;
  std::size_t size = 0;

  acp_element_t element() const noexcept { return {ga, size}; }
};

/// An argument from its Python object until the call is over. take() returns
/// false with an exception set. An argument that is left out is zero.
template <typename T>
struct Argument;

/// Numbers of 64 bits: sizes, handles, operands, and addresses, for which
/// acp.Memory may stand. A negative number means its two's complement.
template <>
struct Argument<std::uint64_t> {
  std::uint64_t value = 0;

  bool take(PyObject* object) {
    if (object == nullptr) return true;
    if (PyLong_CheckExact(object)) [[likely]] {
      return take_number(object);
    }
    if (const Region* region = as_region(object)) {
      value = region->ga;
      return is_open(region);
    }
    const Object index(PyNumber_Index(object));
    return index && take_number(index.get());
  }

 private:
  bool take_number(PyObject* number) {
    value = PyLong_AsUnsignedLongLong(number);
    if (value != ULLONG_MAX || PyErr_Occurred() == nullptr) [[likely]] {
      return true;
    }
    PyErr_Clear();
    value = static_cast<std::uint64_t>(PyLong_AsLongLong(number));
    return PyErr_Occurred() == nullptr;
  }
};

template <>
struct Argument<std::uint32_t> {
  std::uint32_t value = 0;

  bool take(PyObject* object) {
    Argument<std::uint64_t> wide;
    if (!wide.take(object)) return false;
    value = static_cast<std::uint32_t>(wide.value);
    if (wide.value == value || static_cast<std::int64_t>(wide.value) ==
                                   static_cast<std::int32_t>(value)) {
      return true;
    }
    PyErr_SetString(PyExc_OverflowError, "the number has more than 32 bits");
    return false;
  }
};

template <>
struct Argument<int> {
  int value = 0;

  bool take(PyObject* object) {
    if (object == nullptr) return true;
    const long wide = PyLong_AsLong(object);
    if (wide == -1 && PyErr_Occurred() != nullptr) return false;
    value = static_cast<int>(wide);
    if (value == wide) return true;
    PyErr_SetString(PyExc_OverflowError, "the number is no int of C");
    return false;
  }
};

/// A number that is 1 where it is left out.
struct Addend {
  std::uint64_t number = 1;
};

template <>
struct Argument<Addend> {
  Addend value;

  bool take(PyObject* object) {
    if (object == nullptr) return true;
    Argument<std::uint64_t> given;
    if (!given.take(object)) return false;
    value.number = given.value;
    return true;
  }
};

/// Structures, by the address that is their handle.
template <typename T>
struct HandleArgument {
  T value{};

  bool take(PyObject* object) {
    Argument<std::uint64_t> address;
    if (!address.take(object)) return false;
    value.ga = address.value;
    return true;
  }
};

template <>
struct Argument<acp_vector_t> : HandleArgument<acp_vector_t> {};

template <>
struct Argument<acp_deque_t> : HandleArgument<acp_deque_t> {};

template <>
struct Argument<acp_list_t> : HandleArgument<acp_list_t> {};

template <>
struct Argument<acp_set_t> : HandleArgument<acp_set_t> {};

template <>
struct Argument<acp_map_t> : HandleArgument<acp_map_t> {};

template <>
struct Argument<Bytes> {
  Bytes value;

  bool take(PyObject* object) {
    if (const Region* region = as_region(object)) {
      value = {region->ga, region->size};
      return is_open(region);
    }
    Buffer buffer;
    if (!buffer.take(object, PyBUF_SIMPLE)) return false;
    value = {staging_.copy(buffer.data(), buffer.size()).ga, buffer.size()};
    return true;
  }

  /// False, with acp_errno, if there was no memory to stage the bytes.
  bool is_staged() const noexcept { return value.ga != ACP_GA_NULL; }

 private:
  Staging staging_;
};

inline PyObject* to_python(std::uint64_t value) {
  return PyLong_FromUnsignedLongLong(value);
}

inline PyObject* to_python(int value) {
  return PyLong_FromLong(value);
}

inline PyObject* to_python(bool value) {
  return PyBool_FromLong(value ? 1 : 0);
}

/// A structure by its handle.
template <typename T>
auto to_python(const T& structure) -> decltype(to_python(structure.ga)) {
  return to_python(structure.ga);
}

}  // namespace acp::python
