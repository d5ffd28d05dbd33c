// The exception of acp.hpp, and what its parts share. Include <acp/acp.hpp>.
#ifndef ACP_CPP_ERROR_HPP
#define ACP_CPP_ERROR_HPP

#include <stdexcept>
#include <string>
#include <type_traits>

#include "acp.h"
#include "acp/extension.h"

// The inline namespace keeps these names apart from those inside the library.
namespace acp {
inline namespace face {

/// A call has failed. what() names the function and the reason; the line that
/// the library has written to stderr has ranks and values.
class error : public std::runtime_error {
 public:
  /// @param function  name of the C function that failed
  /// @param code      its code, such as ACPX_NO_MEMORY
  error(const char* function, int code)
      : std::runtime_error(std::string(function) + ": " + acpx_strerror(code)),
        code_(code) {}

  /// A code of acp_errno.
  int code() const noexcept { return code_; }

 private:
  int code_;
};

namespace detail {

/// Throws what acp_errno says.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail(const char* function) {
  throw error(function, acp_errno);
}

[[noreturn, gnu::cold, gnu::noinline]] inline void fail(const char* function,
                                                        int code) {
  throw error(function, code);
}

/// Calls a function that reports a failure in acp_errno alone.
template <typename Call>
auto checked(const char* function, const Call& call) {
  acp_errno = 0;
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    if (acp_errno != 0) [[unlikely]] {
      fail(function);
    }
  } else {
    const auto result = call();
    if (acp_errno != 0) [[unlikely]] {
      fail(function);
    }
    return result;
  }
}

/// Refuses a type that cannot be an element. Each class and function checks it
/// first, so that a compiler shows this text and not one of the library's
/// inside.
template <typename T>
constexpr void check_element() {
  static_assert(std::is_trivially_copyable_v<T>,
                "ACP passes the bytes of an element to other ranks: the type "
                "has to be trivially copyable (no std::string, no "
                "std::vector, no virtual function, no copy constructor)");
}

template <typename K>
constexpr void check_key() {
  check_element<K>();
  static_assert(std::has_unique_object_representations_v<K>,
                "ACP compares the bytes of keys: the type may have no padding "
                "and no floating-point numbers");
}

}  // namespace detail

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_ERROR_HPP
