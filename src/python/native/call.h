// One template that makes a function of Python from a function of C: it
// converts the arguments, calls without the GIL, and raises an exception for a
// failure. Each table of the module is rows of it.
#pragma once

#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include <acp.h>

#include "python/native/arguments.h"
#include "python/native/errors.h"
#include "python/native/object.h"

namespace acp::python {

/// A text as an argument of a template.
template <std::size_t kSize>
struct Text {
  char text[kSize];  // NOLINT: a string literal

  // NOLINTNEXTLINE: converts a string literal
  constexpr Text(const char (&literal)[kSize]) {
    for (std::size_t i = 0; i < kSize; ++i)
      text[i] = literal[i];
  }
};

/// How a function of C tells that it has failed.
enum class Fails {
  kByZero,      ///< a handle, a key or an address
  kByNegative,  ///< a number or a code
  kByNonzero,   ///< a code
  kByErrno,     ///< only acp_errno tells
};

template <Fails kFails, typename Result>
bool has_failed(const Result& result) {
  if constexpr (kFails == Fails::kByErrno) {
    return acp_errno != ACPX_OK;
  } else if constexpr (kFails == Fails::kByNegative) {
    return result < 0;
  } else if constexpr (kFails == Fails::kByNonzero) {
    return result != 0;
  } else if constexpr (std::is_class_v<Result>) {
    return result.ga == ACP_GA_NULL;
  } else {
    return result == 0;
  }
}

/// The names of a function's parameters, of which the last `kOptional` may be
/// left out. Without names all arguments are positional, and trusted to be
/// there: these functions are called by the package alone.
template <int kOptional = 0, Text... kNames>
struct Names {
  static constexpr std::size_t kCount = sizeof...(kNames);

  /// Whether the arguments are in the order of the parameters as they are.
  static bool is_arranged(Py_ssize_t positional, PyObject* keywords) {
    return keywords == nullptr &&
           positional <= static_cast<Py_ssize_t>(kCount) &&
           positional >= static_cast<Py_ssize_t>(kCount) - kOptional;
  }

  /// Puts positional and keyword arguments into the order of the parameters.
  /// False with an exception.
  static bool arrange(const char* function,
                      PyObject* const* arguments,
                      Py_ssize_t positional,
                      PyObject* keywords,
                      std::array<PyObject*, kCount>& arranged) {
    constexpr std::array<const char*, kCount> kTexts = {kNames.text...};
    if (positional > static_cast<Py_ssize_t>(kCount)) {
      PyErr_Format(PyExc_TypeError, "%s takes %zu arguments, got %zd", function,
                   kCount, positional);
      return false;
    }
    for (Py_ssize_t i = 0; i < positional; ++i) {
      arranged[static_cast<std::size_t>(i)] = arguments[i];
    }
    const Py_ssize_t named =
        keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t k = 0; k < named; ++k) {
      PyObject* name = PyTuple_GET_ITEM(keywords, k);
      std::size_t at = 0;
      while (at < kCount &&
             PyUnicode_CompareWithASCIIString(name, kTexts[at]) != 0) {
        ++at;
      }
      if (at == kCount || arranged[at] != nullptr) {
        PyErr_Format(PyExc_TypeError, "%s: unexpected argument '%U'", function,
                     name);
        return false;
      }
      arranged[at] = arguments[positional + k];
    }
    for (std::size_t i = 0; i + kOptional < kCount; ++i) {
      if (arranged[i] == nullptr) {
        PyErr_Format(PyExc_TypeError, "%s: argument '%s' is missing", function,
                     kTexts[i]);
        return false;
      }
    }
    return true;
  }
};

/// Converts, calls and checks. `call` is for the text of an exception.
template <auto kFunction,
          Fails kFails,
          typename Result,
          typename... A,
          std::size_t... kI>
PyObject* convert_and_call(Result (* /*unused*/)(A...),
                           std::index_sequence<kI...> /*unused*/,
                           const CallText& call) {
  std::tuple<Argument<A>...> arguments;
  [[maybe_unused]] const auto at = [&call](std::size_t i) {
    return static_cast<Py_ssize_t>(i) < call.count ? call.arguments[i]
                                                   : nullptr;
  };
  if (!(std::get<kI>(arguments).take(at(kI)) && ...)) return nullptr;
  [[maybe_unused]] const auto is_ready = [](const auto& argument) {
    if constexpr (std::is_same_v<std::decay_t<decltype(argument)>,
                                 Argument<Bytes>>) {
      return argument.is_staged();
    } else {
      return true;
    }
  };
  if (!(is_ready(std::get<kI>(arguments)) && ...)) return raise_failure(call);
  if constexpr (kFails == Fails::kByErrno) acp_errno = ACPX_OK;
  if constexpr (std::is_void_v<Result>) {
    {
      const WithoutGil without;
      kFunction(std::get<kI>(arguments).value...);
    }
    if (acp_errno != ACPX_OK) return raise_failure(call);
    Py_RETURN_NONE;
  } else {
    Result result{};
    {
      const WithoutGil without;
      result = kFunction(std::get<kI>(arguments).value...);
    }
    if (has_failed<kFails>(result)) [[unlikely]] {
      return raise_failure(call);
    }
    if constexpr (kFails == Fails::kByNonzero) {
      Py_RETURN_NONE;
    } else {
      return to_python(result);
    }
  }
}

template <typename... A>
constexpr std::size_t count_of(auto(* /*unused*/)(A...)) {
  return sizeof...(A);
}

/// The function of Python for a function of C with this name.
template <Text kName,
          auto kFunction,
          Fails kFails,
          typename ParameterNames = Names<>>
PyObject* call(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t count,
               PyObject* keywords) {
  constexpr auto kArguments = std::make_index_sequence<count_of(kFunction)>();
  if constexpr (ParameterNames::kCount != 0) {
    static_assert(ParameterNames::kCount == kArguments.size());
    if (!ParameterNames::is_arranged(count, keywords)) [[unlikely]] {
      std::array<PyObject*, kArguments.size()> arranged{};
      if (!ParameterNames::arrange(kName.text, arguments, count, keywords,
                                   arranged)) {
        return nullptr;
      }
      auto given = static_cast<Py_ssize_t>(arranged.size());
      while (given > 0 &&
             arranged[static_cast<std::size_t>(given) - 1] == nullptr) {
        --given;
      }
      return convert_and_call<kFunction, kFails>(
          kFunction, kArguments, {kName.text, arranged.data(), given});
    }
  }
  return convert_and_call<kFunction, kFails>(kFunction, kArguments,
                                             {kName.text, arguments, count});
}

/// A row of a table of methods. Python has one type of function pointer for
/// all.
template <typename Function>
PyMethodDef row(const char* name,
                Function function,
                const char* text = nullptr,
                int flags = METH_FASTCALL | METH_KEYWORDS) {
  return {name,
          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          flags, text};
}

/// A function of C under its name without acp_ or acpx_.
template <Text kName,
          auto kFunction,
          Fails kFails,
          typename ParameterNames = Names<>>
PyMethodDef row(const char* text = nullptr) {
  const char* name = std::strchr(kName.text, '_') + 1;
  return row(name, &call<kName, kFunction, kFails, ParameterNames>, text);
}

}  // namespace acp::python
