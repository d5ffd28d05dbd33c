// Lists of elements on any ranks. Include <acp/acp.hpp>. acp/list.h says which
// functions may run at the same time, and which errors they have.
#ifndef ACP_CPP_LIST_HPP
#define ACP_CPP_LIST_HPP

#include <cstddef>
#include <functional>
#include <iterator>

#include "acp/cpp/global_ptr.hpp"
#include "acp/cpp/owner.hpp"

namespace acp {
inline namespace face {

/// A list in both directions, whose elements are on any ranks. All ranks change
/// it and walk it. Each function waits for the network.
template <typename T>
class list : public detail::owner<acp_list_t, acp_destroy_list> {
  using base = detail::owner<acp_list_t, acp_destroy_list>;

 public:
  using value_type = T;

  /// A position, or the end. An element's position is good until it is erased.
  class iterator {
   public:
    using iterator_concept = std::bidirectional_iterator_tag;
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = T;
    using pointer = void;

    iterator() = default;

    explicit iterator(acp_list_it_t it) : it_(it) {}

    /// The position of C.
    acp_list_it_t it() const { return it_; }

    /// The address of the element. Throws ACPX_BAD_ADDRESS at the end.
    global_ptr<T> ptr() const {
      const acp_element_t element = acp_dereference_list_it(it_);
      if (element.ga == ACP_GA_NULL) {
        detail::fail("acp_dereference_list_it");
      }
      return global_ptr<T>(element.ga);
    }

    /// A copy of the element. One round trip behind an increment.
    T operator*() const { return acp::get(ptr()); }

    iterator& operator++() {
      it_ = detail::checked("acp_increment_list_it",
                            [&] { return acp_increment_list_it(it_); });
      return *this;
    }

    iterator& operator--() {
      it_ = detail::checked("acp_decrement_list_it",
                            [&] { return acp_decrement_list_it(it_); });
      return *this;
    }

    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }

    iterator operator--(int) {
      iterator before = *this;
      --*this;
      return before;
    }

    friend bool operator==(const iterator& a, const iterator& b) {
      return a.it_.list.ga == b.it_.list.ga && a.it_.elem == b.it_.elem;
    }

   private:
    acp_list_it_t it_{};
  };

  /// No list.
  list() = default;

  /// Creates an empty one, whose ends are on `rank`. Not collective. Throws
  /// ACPX_BAD_RANK, ACPX_NO_MEMORY.
  explicit list(int rank) : base("acp_create_list", acp_create_list(rank)) {
    detail::check_element<T>();
  }

  /// A view of a structure that another object owns.
  explicit list(acp_list_t handle) : base(handle) {}

  std::size_t size() const {
    return detail::checked("acp_size_list",
                           [&] { return acp_size_list(handle()); });
  }

  bool empty() const { return size() == 0; }

  iterator begin() const {
    return iterator(detail::checked("acp_begin_list",
                                    [&] { return acp_begin_list(handle()); }));
  }

  iterator end() const { return iterator(acp_end_list(handle())); }

  /// Adds an element at the end; it lies on `rank`. Two round trips, or three.
  void push_back(const T& value, int rank = acp_rank()) {
    with(value, "acp_push_back_list", [&](acp_element_t element) {
      acp_push_back_list(handle(), element, rank);
    });
  }

  /// Adds an element at the front, like push_back().
  void push_front(const T& value, int rank = acp_rank()) {
    with(value, "acp_push_front_list", [&](acp_element_t element) {
      acp_push_front_list(handle(), element, rank);
    });
  }

  void pop_back() {
    detail::checked("acp_pop_back_list", [&] { acp_pop_back_list(handle()); });
  }

  void pop_front() {
    detail::checked("acp_pop_front_list",
                    [&] { acp_pop_front_list(handle()); });
  }

  /// Puts a new element in before `at`. Returns its position.
  iterator insert(iterator at, const T& value, int rank = acp_rank()) {
    return iterator(with(value, "acp_insert_list", [&](acp_element_t element) {
      return acp_insert_list(at.it(), element, rank);
    }));
  }

  /// Takes an element out. Returns the position behind it.
  iterator erase(iterator at) {
    return iterator(detail::checked("acp_erase_list",
                                    [&] { return acp_erase_list(at.it()); }));
  }

  void clear() {
    detail::checked("acp_clear_list", [&] { acp_clear_list(handle()); });
  }

  /// Moves an element, of this list or another, before `at`. Its data stays
  /// where it is.
  void splice(iterator at, iterator element) {
    detail::checked("acp_splice_list",
                    [&] { acp_splice_list(at.it(), element.it()); });
  }

  void reverse() {
    detail::checked("acp_reverse_list", [&] { acp_reverse_list(handle()); });
  }

  /// Erases all elements with these bytes.
  void remove(const T& value) {
    with(value, "acp_remove_list",
         [&](acp_element_t element) { acp_remove_list(handle(), element); });
  }

  /// Erases elements that have the bytes of the one before them.
  void unique() {
    detail::checked("acp_unique_list", [&] { acp_unique_list(handle()); });
  }

  /// Sorts; equal elements keep their order. `less` compares copies of two
  /// elements. It must not use the list, and must not throw.
  template <typename Less = std::less<T>>
  void sort(Less less = {}) {
    const compare_scope<Less> scope(less);
    detail::checked("acp_sort_list", [&] {
      acp_sort_list(handle(), compare_scope<Less>::compare);
    });
  }

  /// Moves the elements of another sorted list into this one.
  template <typename Less = std::less<T>>
  void merge(list& other, Less less = {}) {
    const compare_scope<Less> scope(less);
    detail::checked("acp_merge_list", [&] {
      acp_merge_list(handle(), other.handle(), compare_scope<Less>::compare);
    });
  }

  /// Exchanges the elements of two lists.
  void exchange_with(list& other) {
    detail::checked("acp_swap_list",
                    [&] { acp_swap_list(handle(), other.handle()); });
  }

 private:
  template <typename Call>
  static auto with(const T& value, const char* function, const Call& call) {
    detail::check_value<T>();
    const detail::landing& place = detail::land();
    detail::store(place, 0, value);
    return detail::checked(function, [&] {
      return call(acp_element_t{place.ga, sizeof(T)});
    });
  }

  /// Gives the comparison to a function of C, which takes no argument for it.
  template <typename Less>
  class compare_scope {
   public:
    explicit compare_scope(Less& less)
        : before_(std::exchange(t_less, &less)) {}

    compare_scope(const compare_scope&) = delete;
    compare_scope& operator=(const compare_scope&) = delete;

    ~compare_scope() { t_less = before_; }

    static int compare(acp_element_t a, acp_element_t b) noexcept {
      const T& x = *static_cast<const T*>(acp_query_address(a.ga));
      const T& y = *static_cast<const T*>(acp_query_address(b.ga));
      return (*t_less)(x, y) ? -1 : (*t_less)(y, x) ? 1 : 0;
    }

   private:
    static inline thread_local Less* t_less = nullptr;
    Less* before_;
  };
};

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_LIST_HPP
