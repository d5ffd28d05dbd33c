// Sets of keys and maps of values under keys, spread over ranks by hash.
// Include <acp/acp.hpp>. acp/set.h and acp/map.h say which functions may run at
// the same time, and which errors they have.
#ifndef ACP_CPP_TABLE_HPP
#define ACP_CPP_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "acp/cpp/global_ptr.hpp"
#include "acp/cpp/owner.hpp"

namespace acp {
inline namespace face {

/// Ranks of a table: all of the job.
inline std::vector<int> all_ranks() {
  std::vector<int> all(static_cast<std::size_t>(acp_procs()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

namespace detail {

/// A key in the landing, as functions of C take it.
template <typename K>
acp_element_t key_at(const landing& place, const K& key) {
  store(place, 0, key);
  return {place.ga, sizeof(K)};
}

/// A walk over a table in no particular order. It meets each element once that
/// is there all the time. F has the functions of C, and read(), which gives the
/// value of a position, or none if the element was removed meanwhile.
template <typename F>
class table_range {
 public:
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = typename F::value_type;
    using difference_type = std::ptrdiff_t;

    iterator() = default;

    explicit iterator(typename F::position at) : at_(at) { settle(); }

    const value_type& operator*() const { return *value_; }

    const value_type* operator->() const { return &*value_; }

    iterator& operator++() {
      advance();
      settle();
      return *this;
    }

    void operator++(int) { ++*this; }

    friend bool operator==(const iterator& it, std::default_sentinel_t) {
      return it.at_.elem == ACP_GA_NULL;
    }

   private:
    void advance() {
      at_ = checked("increment", [&] { return F::next(at_); });
    }

    /// Goes on to an element that is still there, and reads it.
    void settle() {
      value_.reset();
      while (at_.elem != ACP_GA_NULL && !(value_ = F::read(at_))) {
        advance();
      }
    }

    typename F::position at_{};
    std::optional<value_type> value_;
  };

  table_range(typename F::handle handle, bool is_local)
      : handle_(handle), is_local_(is_local) {}

  iterator begin() const {
    return iterator(checked("begin", [&] {
      return is_local_ ? F::begin_local(handle_) : F::begin_all(handle_);
    }));
  }

  std::default_sentinel_t end() const { return {}; }

 private:
  typename F::handle handle_;
  bool is_local_;
};

/// The address of a position's key and value; empty elements if another rank
/// has removed it. `dereference` is the function of C.
template <typename Function, typename Position>
auto address_of(Function dereference, Position at) {
  acp_errno = 0;
  const auto found = dereference(at);
  if (acp_errno != 0 && acp_errno != ACPX_INVALID_ARGUMENT) {
    fail("dereference");
  }
  return found;
}

template <typename K>
struct set_walk {
  using handle = acp_set_t;
  using position = acp_set_it_t;
  using value_type = K;
  static constexpr auto next = acp_increment_set_it;
  static constexpr auto begin_all = acp_begin_set;
  static constexpr auto begin_local = acp_begin_local_set;

  static std::optional<K> read(position at) {
    const acp_element_t key = address_of(acp_dereference_set_it, at);
    if (key.size != sizeof(K)) {
      return std::nullopt;
    }
    return acp::get(global_ptr<K>(key.ga));
  }
};

template <typename K, typename V>
struct map_walk {
  using handle = acp_map_t;
  using position = acp_map_it_t;
  using value_type = std::pair<K, V>;
  static constexpr auto next = acp_increment_map_it;
  static constexpr auto begin_all = acp_begin_map;
  static constexpr auto begin_local = acp_begin_local_map;

  /// Both copies are one flight.
  static std::optional<std::pair<K, V>> read(position at) {
    const acp_pair_t pair = address_of(acp_dereference_map_it, at);
    if (pair.first.size != sizeof(K) || pair.second.size != sizeof(V)) {
      return std::nullopt;
    }
    const landing& place = land();
    issued("acp_copy",
           acp_copy(place.ga, pair.first.ga, sizeof(K), ACP_HANDLE_NULL));
    complete(issued("acp_copy", acp_copy(place.second(), pair.second.ga,
                                         sizeof(V), ACP_HANDLE_NULL)));
    return std::pair<K, V>(load<K>(place.memory),
                           load<V>(place.memory + landing::kSecond));
  }
};

}  // namespace detail

/// A set of keys. Each function waits for the network.
template <typename K>
class set : public detail::owner<acp_set_t, acp_destroy_set> {
  using base = detail::owner<acp_set_t, acp_destroy_set>;

 public:
  using key_type = K;
  using value_type = K;
  using range = detail::table_range<detail::set_walk<K>>;

  /// No set.
  set() = default;

  /// Creates an empty one over some ranks. Not collective.
  ///
  /// @param slots  keys that each rank is to have, 1 or more; more are slower
  /// @param over   ranks that share it, each once
  /// @param rank   which rank has the directory
  /// Throws ACPX_INVALID_ARGUMENT, ACPX_BAD_RANK, ACPX_TOO_LARGE,
  /// ACPX_NO_MEMORY.
  explicit set(int slots,
               const std::vector<int>& over = all_ranks(),
               int rank = acp_rank())
      : base("acp_create_set",
             acp_create_set(
                 static_cast<int>(over.size()), over.data(), slots, rank)) {
    detail::check_key<K>();
  }

  /// A view of a structure that another object owns.
  explicit set(acp_set_t handle) : base(handle) {}

  /// Puts a key in. Two round trips; one if it is there already.
  void insert(const K& key) {
    detail::checked("acp_insert_set",
                    [&] { return acp_insert_set(handle(), in_landing(key)); });
  }

  /// One round trip.
  bool contains(const K& key) const {
    return detail::checked("acp_find_set", [&] {
             return acp_find_set(handle(), in_landing(key)).elem;
           }) != ACP_GA_NULL;
  }

  /// Takes a key out, if it is there.
  void erase(const K& key) {
    detail::checked("acp_remove_set",
                    [&] { acp_remove_set(handle(), in_landing(key)); });
  }

  std::size_t size() const {
    return detail::checked("acp_size_set",
                           [&] { return acp_size_set(handle()); });
  }

  bool empty() const { return size() == 0; }

  void clear() {
    detail::checked("acp_clear_set", [&] { acp_clear_set(handle()); });
  }

  /// All keys, or those on this rank.
  auto begin() const { return range(handle(), false).begin(); }

  std::default_sentinel_t end() const { return {}; }

  range local() const { return range(handle(), true); }

 private:
  static acp_element_t in_landing(const K& key) {
    detail::check_value<K>();
    return detail::key_at(detail::land(), key);
  }
};

/// A map of values under keys. Each function waits for the network.
template <typename K, typename V>
class map : public detail::owner<acp_map_t, acp_destroy_map> {
  using base = detail::owner<acp_map_t, acp_destroy_map>;

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = std::pair<K, V>;
  using range = detail::table_range<detail::map_walk<K, V>>;

  /// No map.
  map() = default;

  /// Creates an empty one over some ranks. Not collective.
  ///
  /// @param slots  elements that each rank is to have, 1 or more; more are
  ///               slower
  /// @param over   ranks that share it, each once
  /// @param rank   which rank has the directory
  /// Throws ACPX_INVALID_ARGUMENT, ACPX_BAD_RANK, ACPX_TOO_LARGE,
  /// ACPX_NO_MEMORY.
  explicit map(int slots,
               const std::vector<int>& over = all_ranks(),
               int rank = acp_rank())
      : base("acp_create_map",
             acp_create_map(
                 static_cast<int>(over.size()), over.data(), slots, rank)) {
    detail::check_key<K>();
    detail::check_element<V>();
  }

  /// A view of a structure that another object owns.
  explicit map(acp_map_t handle) : base(handle) {}

  /// Puts a value under a key that is not there yet. False: it was there, and
  /// keeps its value. Two round trips, or one.
  bool insert(const K& key, const V& value) {
    const detail::landing& place = land();
    detail::store(place, detail::landing::kSecond, value);
    return detail::checked("acp_insert_map", [&] {
             return acp_insert_map(handle(), {detail::key_at(place, key),
                                              {place.second(), sizeof(V)}});
           }) == 1;
  }

  /// The value under a key, or none. One round trip; three if key and value
  /// take more than 32 bytes. Throws ACPX_INVALID_ARGUMENT if the value has
  /// another size than V.
  std::optional<V> find(const K& key) const {
    const detail::landing& place = land();
    const std::size_t bytes = detail::checked("acp_retrieve_map", [&] {
      return acp_retrieve_map(
          handle(), {detail::key_at(place, key), {place.second(), sizeof(V)}});
    });
    if (bytes == 0) {
      return std::nullopt;
    }
    if (bytes != sizeof(V)) {
      detail::fail("acp::map::find, a shorter value", ACPX_INVALID_ARGUMENT);
    }
    return detail::load<V>(place.memory + detail::landing::kSecond);
  }

  bool contains(const K& key) const { return static_cast<bool>(ptr(key)); }

  /// Where the value under a key is, for atomics; null if the key is not there.
  /// The value does not move until its key is removed.
  global_ptr<V> ptr(const K& key) const {
    const acp_element_t element = detail::key_at(land(), key);
    acp_pair_t found{};
    if (acpx_find_map_n(handle(), &element, 1, &found) < 0) {
      detail::fail("acpx_find_map_n");
    }
    return global_ptr<V>(found.second.ga);
  }

  /// Adds to the value of 8 bytes under a key, which is inserted if it is not
  /// there. Returns the value before, 0 of a new key. One undivided operation.
  V add(const K& key,
        V value) requires(detail::integer_word<V> && sizeof(V) == 8) {
    std::uint64_t old = 0;
    if (acpx_upsert_add8_map(handle(), detail::key_at(land(), key),
                             static_cast<std::uint64_t>(value), &old) < 0) {
      detail::fail("acpx_upsert_add8_map");
    }
    return static_cast<V>(old);
  }

  /// Takes a key out with its value, if it is there.
  void erase(const K& key) {
    detail::checked("acp_remove_map", [&] {
      acp_remove_map(handle(), detail::key_at(land(), key));
    });
  }

  /// Inserts several pairs, with up to 16 in flight at a time. Returns how many
  /// were inserted; keys that were there keep their values.
  std::size_t insert(std::span<const std::pair<K, V>> pairs) {
    constexpr std::size_t kPair = room_of(sizeof(K)) + room_of(sizeof(V));
    const detail::heap_block block(pairs.size() * kPair, acp_rank());
    auto* memory = static_cast<std::byte*>(acp_query_address(block.ga()));
    std::vector<acp_pair_t> elements(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const std::size_t at = i * kPair;
      const std::size_t value_at = at + room_of(sizeof(K));
      std::memcpy(memory + at, &pairs[i].first, sizeof(K));
      std::memcpy(memory + value_at, &pairs[i].second, sizeof(V));
      elements[i] = {{block.ga() + at, sizeof(K)},
                     {block.ga() + value_at, sizeof(V)}};
    }
    const int inserted =
        acpx_insert_map_n(handle(), elements.data(), elements.size(), nullptr);
    if (inserted < 0) {
      detail::fail("acpx_insert_map_n");
    }
    return static_cast<std::size_t>(inserted);
  }

  /// Where the values of several keys are, with up to 16 in flight at a time;
  /// null for a key that is not there.
  std::vector<global_ptr<V>> ptrs(std::span<const K> keys) const {
    constexpr std::size_t kKey = room_of(sizeof(K));
    const detail::heap_block block(keys.size() * kKey, acp_rank());
    auto* memory = static_cast<std::byte*>(acp_query_address(block.ga()));
    std::vector<acp_element_t> elements(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::memcpy(memory + i * kKey, &keys[i], sizeof(K));
      elements[i] = {block.ga() + i * kKey, sizeof(K)};
    }
    std::vector<acp_pair_t> found(keys.size());
    if (acpx_find_map_n(handle(), elements.data(), elements.size(),
                        found.data()) < 0) {
      detail::fail("acpx_find_map_n");
    }
    std::vector<global_ptr<V>> values;
    for (const acp_pair_t& pair : found) {
      values.emplace_back(pair.second.ga);
    }
    return values;
  }

  std::size_t size() const {
    return detail::checked("acp_size_map",
                           [&] { return acp_size_map(handle()); });
  }

  bool empty() const { return size() == 0; }

  void clear() {
    detail::checked("acp_clear_map", [&] { acp_clear_map(handle()); });
  }

  /// All elements, or those on this rank, as pairs.
  auto begin() const { return range(handle(), false).begin(); }

  std::default_sentinel_t end() const { return {}; }

  range local() const { return range(handle(), true); }

 private:
  static const detail::landing& land() {
    detail::check_value<K>();
    detail::check_value<V>();
    return detail::land();
  }

  /// Bytes of a key or value among others, which are aligned to 8.
  static constexpr std::size_t room_of(std::size_t bytes) {
    return (bytes + 7) / 8 * 8;
  }
};

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_TABLE_HPP
