// Vectors and deques of elements. Include <acp/acp.hpp>.
//
// acp/vector.h and acp/deque.h say which functions may run at the same time,
// and which errors they have; sizes and positions count elements here. Each
// function waits for the network.
#ifndef ACP_CPP_SEQUENCE_HPP
#define ACP_CPP_SEQUENCE_HPP

#include <algorithm>
#include <climits>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "acp/cpp/global_ptr.hpp"
#include "acp/cpp/owner.hpp"

namespace acp {
inline namespace face {

namespace detail {

struct vector_functions {
  using handle = acp_vector_t;
  using position = acp_vector_it_t;
  static constexpr auto destroy = acp_destroy_vector;
  static constexpr auto at = acp_at_vector;
  static constexpr auto size = acp_size_vector;
  static constexpr auto capacity = acp_capacity_vector;
  static constexpr auto reserve = acp_reserve_vector;
  static constexpr auto clear = acp_clear_vector;
  static constexpr auto push_back = acp_push_back_vector;
  static constexpr auto pop_back = acp_pop_back_vector;
  static constexpr auto insert = acp_insert_vector;
  static constexpr auto erase = acp_erase_vector;
  static constexpr auto swap = acp_swap_vector;
  static constexpr auto assign = acp_assign_vector;
};

struct deque_functions {
  using handle = acp_deque_t;
  using position = acp_deque_it_t;
  static constexpr auto destroy = acp_destroy_deque;
  static constexpr auto at = acp_at_deque;
  static constexpr auto size = acp_size_deque;
  static constexpr auto capacity = acp_capacity_deque;
  static constexpr auto reserve = acp_reserve_deque;
  static constexpr auto clear = acp_clear_deque;
  static constexpr auto push_back = acp_push_back_deque;
  static constexpr auto pop_back = acp_pop_back_deque;
  static constexpr auto insert = acp_insert_deque;
  static constexpr auto erase = acp_erase_deque;
  static constexpr auto swap = acp_swap_deque;
  static constexpr auto assign = acp_assign_deque;
};

/// Bytes of `i` elements as an offset of C. Throws where it has no int.
template <typename T>
int offset_of(std::size_t i) {
  if (i > static_cast<std::size_t>(INT_MAX) / sizeof(T)) {
    fail("an offset of more than INT_MAX bytes", ACPX_TOO_LARGE);
  }
  return static_cast<int>(i * sizeof(T));
}

/// The functions that vectors and deques have in common.
template <typename T, typename F>
class sequence : public owner<typename F::handle, F::destroy> {
  using base = owner<typename F::handle, F::destroy>;

 public:
  using value_type = T;
  class iterator;

  /// Elements now. One round trip.
  std::size_t size() const {
    return checked("size", [&] { return F::size(h()); }) / sizeof(T);
  }

  bool empty() const { return size() == 0; }

  /// Elements that it can have without growing.
  std::size_t capacity() const {
    return checked("capacity", [&] { return F::capacity(h()); }) / sizeof(T);
  }

  void reserve(std::size_t n) {
    checked("reserve", [&] { F::reserve(h(), n * sizeof(T)); });
  }

  void clear() {
    checked("clear", [&] { F::clear(h()); });
  }

  /// Adds an element at the end: one undivided change, also when all ranks
  /// push. Two round trips.
  void push_back(const T& value) {
    check_value<T>();
    const landing& place = land();
    store(place, 0, value);
    push_back(global_ptr<const T>(place.ga), 1);
  }

  /// Adds `n` elements, next to each other, from memory of any rank.
  void push_back(global_ptr<const T> from, std::size_t n) {
    checked("push_back", [&] { F::push_back(h(), from.ga(), n * sizeof(T)); });
  }

  /// Takes up to `n` elements off the end, which nobody gets.
  void pop_back(std::size_t n = 1) {
    checked("pop_back", [&] { F::pop_back(h(), n * sizeof(T)); });
  }

  /// The address of an element, valid as acp/vector.h and acp/deque.h say.
  /// Throws ACPX_BAD_ADDRESS behind the end.
  global_ptr<T> at(std::size_t i) const {
    const acp_ga_t ga = F::at(h(), offset_of<T>(i));
    if (ga == ACP_GA_NULL) {
      fail("at");
    }
    return global_ptr<T>(ga);
  }

  /// The element, which a read and an assignment each wait for. Two round
  /// trips.
  global_ref<T> operator[](std::size_t i) const { return *at(i); }

  /// Puts an element in at `i`; the ones behind move.
  void insert(std::size_t i, const T& value) {
    check_value<T>();
    const landing& place = land();
    store(place, 0, value);
    checked("insert", [&] { F::insert(position(i), place.ga, sizeof(T)); });
  }

  /// Takes `n` elements out from `i` on; the ones behind move.
  void erase(std::size_t i, std::size_t n = 1) {
    checked("erase", [&] { F::erase(position(i), n * sizeof(T)); });
  }

  /// Makes this one equal to `other`.
  void assign(const sequence& other) {
    checked("assign", [&] { F::assign(h(), other.h()); });
  }

  /// Exchanges the elements; each structure stays on its rank.
  void exchange_with(sequence& other) {
    checked("swap", [&] { F::swap(h(), other.h()); });
  }

  /// All elements from the first on, as they are when the walk comes to them.
  /// Reads up to 2,048 bytes at a time.
  iterator begin() const { return iterator(h(), size()); }

  std::default_sentinel_t end() const { return {}; }

  /// A copy of all elements.
  std::vector<T> to_vector() const {
    std::vector<T> all;
    for (const T& value : *this) {
      all.push_back(value);
    }
    return all;
  }

 protected:
  using base::base;

  typename F::handle h() const { return this->handle(); }

 private:
  typename F::position position(std::size_t i) const {
    return {h(), offset_of<T>(i)};
  }
};

/// A walk in the order of the elements. It keeps those that it has read ahead.
template <typename T, typename F>
class sequence<T, F>::iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  iterator() = default;

  iterator(typename F::handle handle, std::size_t size)
      : handle_(handle), size_(size) {
    read();
  }

  const T& operator*() const { return ahead_[at_]; }

  iterator& operator++() {
    ++next_;
    if (++at_ == ahead_.size()) {
      read();
    }
    return *this;
  }

  void operator++(int) { ++*this; }

  friend bool operator==(const iterator& it, std::default_sentinel_t) {
    return it.next_ >= it.size_;
  }

 private:
  void read() {
    check_value<T>();
    at_ = 0;
    ahead_.clear();
    const std::size_t n = std::min(size_ - next_, kValueBytes / sizeof(T));
    if (n == 0) {
      return;
    }
    const acp_ga_t from = F::at(handle_, offset_of<T>(next_));
    if (from == ACP_GA_NULL) {
      fail("at");
    }
    const landing& place = land();
    complete(issued("acp_copy",
                    acp_copy(place.ga, from, n * sizeof(T), ACP_HANDLE_NULL)));
    const T* first = reinterpret_cast<const T*>(place.memory);
    ahead_.assign(first, first + n);
  }

  typename F::handle handle_{};
  std::size_t size_ = 0;  ///< At the beginning of the walk.
  std::size_t next_ = 0;  ///< Position of the current element.
  std::size_t at_ = 0;    ///< Its place in ahead_.
  std::vector<T> ahead_;
};

}  // namespace detail

/// A growing array on one rank, which all ranks append to and read.
template <typename T>
class vector : public detail::sequence<T, detail::vector_functions> {
  using base = detail::sequence<T, detail::vector_functions>;

 public:
  /// No vector.
  vector() = default;

  /// Creates one. Not collective.
  ///
  /// @param size  elements at the start, whose bytes are 0
  /// @param rank  where it is, 0 .. acp::ranks() - 1
  /// Throws ACPX_BAD_RANK, ACPX_TOO_LARGE, ACPX_NO_MEMORY.
  explicit vector(std::size_t size, int rank = acp_rank())
      : base("acp_create_vector", acp_create_vector(size * sizeof(T), rank)) {
    detail::check_element<T>();
  }

  /// A view of a structure that another object owns.
  explicit vector(acp_vector_t handle) : base(handle) {}
};

/// A queue with two ends on one rank, which all ranks push to and take from.
template <typename T>
class deque : public detail::sequence<T, detail::deque_functions> {
  using base = detail::sequence<T, detail::deque_functions>;

 public:
  /// No deque.
  deque() = default;

  /// Creates an empty one. Not collective.
  ///
  /// @param capacity  elements that it can have without growing
  /// @param rank      where it is, 0 .. acp::ranks() - 1
  /// Throws ACPX_BAD_RANK, ACPX_TOO_LARGE, ACPX_NO_MEMORY.
  explicit deque(std::size_t capacity, int rank = acp_rank())
      : base("acp_create_deque", acp_create_deque(capacity * sizeof(T), rank)) {
    detail::check_element<T>();
  }

  /// A view of a structure that another object owns.
  explicit deque(acp_deque_t handle) : base(handle) {}

  /// Adds an element at the front. Two round trips.
  void push_front(const T& value) {
    detail::check_value<T>();
    const detail::landing& place = detail::land();
    detail::store(place, 0, value);
    detail::checked("push_front", [&] {
      acp_push_front_deque(this->handle(), place.ga, sizeof(T));
    });
  }

  /// Takes up to `n` elements off the front, which nobody gets.
  void pop_front(std::size_t n = 1) {
    detail::checked("pop_front", [&] {
      acp_pop_front_deque(this->handle(), n * sizeof(T));
    });
  }

  /// Takes the first element: of several takers each gets one of its own.
  /// Empty when there is none. Two round trips.
  std::optional<T> take_front() { return take(acpx_take_front_deque); }

  /// Takes the last element, like take_front().
  std::optional<T> take_back() { return take(acpx_take_back_deque); }

 private:
  std::optional<T> take(int (*function)(acp_deque_t, acp_ga_t, std::size_t)) {
    detail::check_value<T>();
    const detail::landing& place = detail::land();
    const int answer = function(this->handle(), place.ga, sizeof(T));
    if (answer < 0) {
      detail::fail("acpx_take_front_deque or acpx_take_back_deque");
    }
    return answer == 0 ? std::nullopt
                       : std::optional<T>(detail::load<T>(place.memory));
  }
};

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_SEQUENCE_HPP
