// Published names: pointers, structures and small values that any rank looks
// up. Include <acp/acp.hpp>. A value has the bytes that C, Fortran and Python
// publish too: of a structure the handle, of a global_ptr the address.
#ifndef ACP_CPP_NAMES_HPP
#define ACP_CPP_NAMES_HPP

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "acp/cpp/future.hpp"

namespace acp {
inline namespace face {

namespace detail {

/// A structure of this header, which is published as its handle.
template <typename S>
concept structure = requires(const S& s) {
  typename S::handle_type;
  s.handle();
};

template <typename S>
struct published {
  using type = S;
};

template <structure S>
struct published<S> {
  using type = typename S::handle_type;
};

template <typename S>
std::optional<S> look_up(const std::string& name, int timeout_ms) {
  using value_type = typename published<S>::type;
  static_assert(sizeof(value_type) <= ACPX_MAX_PUBLISHED,
                "a published value has 4,096 bytes at most: publish the "
                "address of a larger one");
  check_element<value_type>();
  alignas(value_type) std::byte memory[sizeof(value_type)];
  const int answer =
      acpx_lookup(name.c_str(), memory, sizeof memory, nullptr, timeout_ms);
  if (answer < 0) {
    fail("acpx_lookup");
  }
  return answer == 0 ? std::optional<S>(load<value_type>(memory))
                     : std::nullopt;
}

}  // namespace detail

/// Publishes a value, or the handle of a structure, for lookup() of all ranks.
/// Not collective. False: the name is taken, and keeps its value.
///
/// @param name  1 to ACPX_MAX_NAME bytes, without a zero
/// Throws ACPX_INVALID_ARGUMENT, ACPX_TOO_LARGE, ACPX_NO_MEMORY.
template <typename S>
bool publish(const std::string& name, const S& value) {
  int answer = 0;
  if constexpr (detail::structure<S>) {
    const auto handle = value.handle();
    answer = acpx_publish(name.c_str(), &handle, sizeof handle);
  } else {
    detail::check_element<S>();
    static_assert(sizeof(S) <= ACPX_MAX_PUBLISHED,
                  "a published value has 4,096 bytes at most: publish the "
                  "address of a larger one");
    answer = acpx_publish(name.c_str(), &value, sizeof value);
  }
  if (answer < 0) {
    detail::fail("acpx_publish");
  }
  return answer == 0;
}

/// Waits until the name is published, and returns the value. A structure that
/// was looked up belongs to its publisher: its end destroys nothing.
///
///     auto words = acp::lookup<acp::map<key, std::uint64_t>>("words");
///
/// Throws ACPX_INVALID_ARGUMENT and ACPX_TOO_LARGE for a value of another size.
template <typename S>
S lookup(const std::string& name) {
  return std::move(*detail::look_up<S>(name, -1));
}

/// lookup() with a limit; none if no rank has published the name by then.
template <typename S>
std::optional<S> lookup_for(const std::string& name,
                            std::chrono::nanoseconds time) {
  return detail::look_up<S>(name, detail::limit_of(time));
}

/// Removes a name. False: it was not published.
inline bool unpublish(const std::string& name) {
  const int answer = acpx_unpublish(name.c_str());
  if (answer < 0) {
    detail::fail("acpx_unpublish");
  }
  return answer == 0;
}

/// One structure for all ranks: rank `maker` makes it by `make` and publishes
/// it, and the others look it up. Not collective, but every rank that calls it
/// waits for the maker. The maker owns it: it leaves the block last, behind a
/// sync().
///
///     auto words = acp::share("words", 0,
///                             [] { return acp::set<int>(1000); });
template <typename Make>
auto share(const std::string& name, int maker, const Make& make) {
  using result = decltype(make());
  if (acp_rank() != maker) {
    return lookup<result>(name);
  }
  result made = make();
  if (!publish(name, made)) {
    detail::fail("acp::share, a name that is taken", ACPX_INVALID_ARGUMENT);
  }
  return made;
}

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_NAMES_HPP
