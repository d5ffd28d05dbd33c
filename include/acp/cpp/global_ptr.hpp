// Pointers to memory of any rank, and the operations on what they point to.
// Include <acp/acp.hpp>.
#ifndef ACP_CPP_GLOBAL_PTR_HPP
#define ACP_CPP_GLOBAL_PTR_HPP

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "acp/cpp/future.hpp"

namespace acp {
inline namespace face {

template <typename T>
class global_ref;

/// The address of a T on some rank: a number with arithmetic, which can be
/// stored, sent and published. It owns nothing.
template <typename T>
class global_ptr {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using difference_type = std::ptrdiff_t;

  constexpr global_ptr() = default;

  constexpr global_ptr(std::nullptr_t) {}

  constexpr explicit global_ptr(acp_ga_t ga) : ga_(ga) {}

  /// A pointer to const elements.
  constexpr operator global_ptr<const T>() const requires(!std::is_const_v<T>) {
    return global_ptr<const T>(ga_);
  }

  /// The global address of C; ACP_GA_NULL of a null pointer.
  constexpr acp_ga_t ga() const { return ga_; }

  constexpr explicit operator bool() const { return ga_ != ACP_GA_NULL; }

  /// The rank that has the element. Throws ACPX_BAD_ADDRESS (null) and
  /// ACPX_BAD_RANK.
  int rank() const {
    const int found = acp_query_rank(ga_);
    if (found < 0) {
      detail::fail("acp_query_rank");
    }
    return found;
  }

  /// The element as this process reaches it directly; null where it does not.
  /// See acpx_pointer. Does not block.
  T* local() const noexcept {
    const int before = acp_errno;
    void* pointer = acpx_pointer(ga_);
    acp_errno = before;
    return static_cast<T*>(pointer);
  }

  /// The element: a read of it waits, and an assignment too.
  global_ref<T> operator*() const { return global_ref<T>(*this); }

  global_ref<T> operator[](std::ptrdiff_t i) const { return *(*this + i); }

  /// The address of a member: `p->*&node::next`.
  template <typename Member, typename Class>
  requires std::is_same_v<Class, std::remove_const_t<T>>

  auto operator->*(Member Class::*member) const {
    alignas(T) const std::byte storage[sizeof(T)] = {};
    const auto* object = reinterpret_cast<const T*>(storage);
    const auto* part = reinterpret_cast<const std::byte*>(&(object->*member));
    using part_type =
        std::conditional_t<std::is_const_v<T>, const Member, Member>;
    return global_ptr<part_type>(ga_ + static_cast<acp_ga_t>(part - storage));
  }

  constexpr global_ptr& operator+=(std::ptrdiff_t n) {
    ga_ += static_cast<acp_ga_t>(n) * sizeof(T);
    return *this;
  }

  constexpr global_ptr& operator-=(std::ptrdiff_t n) { return *this += -n; }

  constexpr global_ptr& operator++() { return *this += 1; }

  constexpr global_ptr& operator--() { return *this -= 1; }

  friend constexpr global_ptr operator+(global_ptr p, std::ptrdiff_t n) {
    return p += n;
  }

  friend constexpr global_ptr operator-(global_ptr p, std::ptrdiff_t n) {
    return p -= n;
  }

  /// Elements between two pointers into one region.
  friend constexpr std::ptrdiff_t operator-(global_ptr a, global_ptr b) {
    return static_cast<std::ptrdiff_t>(a.ga_ - b.ga_) /
           static_cast<std::ptrdiff_t>(sizeof(T));
  }

  friend constexpr auto operator<=>(global_ptr, global_ptr) = default;

 private:
  acp_ga_t ga_ = ACP_GA_NULL;
};

static_assert(std::is_trivially_copyable_v<global_ptr<int>> &&
              sizeof(global_ptr<int>) == sizeof(acp_ga_t));

// ---- Values -----------------------------------------------------------------

/// Reads an element of any rank. One round trip. Throws as future::wait(), and
/// what acp_copy says. It is inlined always, because on memory of this host a
/// call would take 4 % of its instructions.
template <typename T>
[[gnu::always_inline]] inline std::remove_const_t<T> get(global_ptr<T> from) {
  detail::check_value<T>();
  const detail::landing& at = detail::land();
  detail::complete(detail::issued(
      "acp_copy", acp_copy(at.ga, from.ga(), sizeof(T), ACP_HANDLE_NULL)));
  return detail::load<std::remove_const_t<T>>(at.memory);
}

/// Starts to write an element of 8 bytes, which is copied in the call.
template <typename T>

requires(sizeof(T) == 8) future<> async_put(
    global_ptr<T> to, const std::type_identity_t<T>& value, order after = {}) {
  detail::check_element<T>();
  acpx_op_t op;  // The library reads no other member for this step.
  op.opcode = ACPX_PUT8;
  op.flags = 0;
  op.remote = to.ga();
  op.local = ACP_GA_NULL;
  op.size = sizeof(T);
  op.operand = std::bit_cast<std::uint64_t>(value);
  op.compare = 0;
  return future<>(
      detail::issued("acpx_post", acpx_post(&op, 1, after.handle())));
}

/// Writes an element of any rank, and waits until it is there. One round trip.
template <typename T>
void put(global_ptr<T> to, const std::type_identity_t<T>& value) {
  if constexpr (sizeof(T) == 8) {
    async_put(to, value).wait();
  } else {
    detail::check_value<T>();
    const detail::landing& at = detail::land();
    detail::store(at, 0, value);
    detail::complete(detail::issued(
        "acp_copy", acp_copy(to.ga(), at.ga, sizeof(T), ACP_HANDLE_NULL)));
  }
}

/// Starts to read an element.
template <typename T>
future<std::remove_const_t<T>> async_get(global_ptr<T> from, order after = {}) {
  detail::check_element<T>();
  detail::heap_block block(sizeof(T), acp_rank());
  const acp_handle_t handle = detail::issued(
      "acp_copy", acp_copy(block.ga(), from.ga(), sizeof(T), after.handle()));
  return {handle, std::move(block)};
}

/// Starts to copy `n` elements between any two ranks. Both ends belong to the
/// operation until it is complete.
template <typename T>
future<> copy(global_ptr<T> to,
              global_ptr<const std::type_identity_t<T>> from,
              std::size_t n,
              order after = {}) {
  detail::check_element<T>();
  return future<>(detail::issued(
      "acp_copy", acp_copy(to.ga(), from.ga(), n * sizeof(T), after.handle())));
}

/// Starts to copy `n` elements, then to add `add` to the word `signal` of the
/// receiving rank, which wakes its waiters. See acpx_put_signal.
template <typename T>
future<> put_signal(global_ptr<T> to,
                    global_ptr<const std::type_identity_t<T>> from,
                    std::size_t n,
                    global_ptr<std::uint64_t> signal,
                    std::uint64_t add = 1,
                    order after = {}) {
  detail::check_element<T>();
  return future<>(detail::issued(
      "acpx_put_signal", acpx_put_signal(to.ga(), from.ga(), n * sizeof(T),
                                         signal.ga(), add, after.handle())));
}

/// Waits until a word of this rank differs from `unlike`, and returns it. Not
/// in a progress step.
inline std::uint64_t wait_word(global_ptr<std::uint64_t> word,
                               std::uint64_t unlike) {
  std::uint64_t seen = 0;
  if (acpx_wait_word(word.ga(), unlike, -1, &seen) != 0) {
    detail::fail("acpx_wait_word");
  }
  return seen;
}

// ---- Atomics ----------------------------------------------------------------

namespace detail {

/// A word that the library's atomics change.
template <typename T>
concept word = std::is_trivially_copyable_v<T> && !std::is_const_v<T> &&
               (sizeof(T) == 4 || sizeof(T) == 8);

template <typename T>
concept integer_word = word<T> && std::is_integral_v<T>;

template <typename T>
using bits_of =
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

/// Calls the form of an atomic that fits T: `narrow` for 4 bytes, or `wide`.
template <typename T, typename Narrow, typename Wide>
auto pick(Narrow narrow, Wide wide) {
  if constexpr (sizeof(T) == 4) {
    return narrow;
  } else {
    return wide;
  }
}

/// Issues an atomic whose old value goes to `old`.
template <typename T, typename Function>
acp_handle_t issue(
    Function function, acp_ga_t old, global_ptr<T> word, T value, order after) {
  return issued("an atomic of ACP",
                function(old, word.ga(), std::bit_cast<bits_of<T>>(value),
                         after.handle()));
}

/// Issues an atomic, waits, and returns the old value.
template <typename T, typename Function>
T fetch(Function function, global_ptr<T> word, T value) {
  const landing& at = land();
  complete(issue(function, at.ga, word, value, order()));
  return load<T>(at.memory);
}

}  // namespace detail

/// Starts to add to a word; the old value is dropped. Wraps around.
template <detail::integer_word T>
future<> async_add(global_ptr<T> word,
                   std::type_identity_t<T> value,
                   order after = {}) {
  return future<>(detail::issue(detail::pick<T>(acp_add4, acp_add8),
                                detail::land().dropped, word, value, after));
}

/// Starts to add to a word, and gives its old value.
template <detail::integer_word T>
future<T> async_fetch_add(global_ptr<T> word,
                          std::type_identity_t<T> value,
                          order after = {}) {
  detail::heap_block block(sizeof(T), acp_rank());
  const acp_handle_t handle = detail::issue(detail::pick<T>(acp_add4, acp_add8),
                                            block.ga(), word, T{value}, after);
  return {handle, std::move(block)};
}

/// The following wait, and return the value before. Atomics of 4 and of 8 bytes
/// on one word are not atomic with each other. Throws what acp/gma.h says:
/// ACPX_MISALIGNED, ACPX_BAD_ADDRESS and others.
template <detail::integer_word T>
T fetch_add(global_ptr<T> word, std::type_identity_t<T> value) {
  return detail::fetch(detail::pick<T>(acp_add4, acp_add8), word, value);
}

template <detail::integer_word T>
T fetch_and(global_ptr<T> word, std::type_identity_t<T> value) {
  return detail::fetch(detail::pick<T>(acp_and4, acp_and8), word, value);
}

template <detail::integer_word T>
T fetch_or(global_ptr<T> word, std::type_identity_t<T> value) {
  return detail::fetch(detail::pick<T>(acp_or4, acp_or8), word, value);
}

template <detail::integer_word T>
T fetch_xor(global_ptr<T> word, std::type_identity_t<T> value) {
  return detail::fetch(detail::pick<T>(acp_xor4, acp_xor8), word, value);
}

template <detail::word T>
T exchange(global_ptr<T> word, std::type_identity_t<T> value) {
  return detail::fetch(detail::pick<T>(acp_swap4, acp_swap8), word, value);
}

/// Stores `desired` if the word has the bytes of `expected`. False: it has
/// others, which `expected` gets.
template <detail::word T>
bool compare_exchange(global_ptr<T> word,
                      std::type_identity_t<T>& expected,
                      std::type_identity_t<T> desired) {
  using bits = detail::bits_of<T>;
  const detail::landing& at = detail::land();
  const auto before = std::bit_cast<bits>(expected);
  detail::complete(detail::issued(
      "acp_cas", detail::pick<T>(acp_cas4, acp_cas8)(
                     at.ga, word.ga(), before, std::bit_cast<bits>(desired),
                     ACP_HANDLE_NULL)));
  expected = detail::load<T>(at.memory);
  return std::bit_cast<bits>(expected) == before;
}

/// The result of `*p` and `p[i]`. It becomes the element when it is read, and
/// writes it when it is assigned to. Each waits.
template <typename T>
class global_ref {
 public:
  explicit global_ref(global_ptr<T> at) : at_(at) {}

  operator std::remove_const_t<T>() const { return acp::get(at_); }

  const global_ref& operator=(const std::remove_const_t<T>& value) const {
    acp::put(at_, value);
    return *this;
  }

  /// Copies the element, as between two plain references.
  const global_ref& operator=(const global_ref& other) const {
    return *this = static_cast<std::remove_const_t<T>>(other);
  }

  global_ref(const global_ref&) = default;

  global_ptr<T> operator&() const { return at_; }

 private:
  global_ptr<T> at_;
};

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_GLOBAL_PTR_HPP
