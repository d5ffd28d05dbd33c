// Sets and maps. Keys and values go and come as bytes; acp/set.py and
// acp/map.py make objects of them. A value is copied by acp_retrieve_map, which
// notices that another rank has removed the element meanwhile.
#include <vector>

#include <acp.h>
#include <acp/extension.h>

#include "python/native/call.h"
#include "python/native/tables_of_methods.h"

namespace acp::python {

namespace {

/// create(ranks, slots, rank)
template <Text kName, auto kCreate>
PyObject* create(PyObject* /*module*/,
                 PyObject* const* arguments,
                 Py_ssize_t count,
                 PyObject* /*keywords*/) {
  const Object list(PySequence_Tuple(arguments[0]));
  Argument<int> slots;
  Argument<int> home;
  if (!list || !slots.take(arguments[1]) || !home.take(arguments[2])) {
    return nullptr;
  }
  std::vector<int> ranks;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); ++i) {
    Argument<int> rank;
    if (!rank.take(PyTuple_GET_ITEM(list.get(), i))) return nullptr;
    ranks.push_back(rank.value);
  }
  acp_ga_t ga = ACP_GA_NULL;
  {
    const WithoutGil without;
    ga = kCreate(static_cast<int>(ranks.size()), ranks.data(), slots.value,
                 home.value)
             .ga;
  }
  return ga == ACP_GA_NULL ? raise_failure({kName.text, arguments, count})
                           : to_python(ga);
}

int insert_set(acp_set_t set, Bytes key) {
  return acp_insert_set(set, key.element());
}

void remove_set(acp_set_t set, Bytes key) {
  acp_remove_set(set, key.element());
}

bool has_key(acp_set_t set, Bytes key) {
  return acp_find_set(set, key.element()).elem != ACP_GA_NULL;
}

bool insert_map(acp_map_t map, Bytes key, Bytes value) {
  return acp_insert_map(map, {key.element(), value.element()}) == 1;
}

void remove_map(acp_map_t map, Bytes key) {
  acp_remove_map(map, key.element());
}

bool finds(acp_map_t map, acp_element_t key) {
  return acp_find_map(map, key).elem != ACP_GA_NULL;
}

bool has_key_map(acp_map_t map, Bytes key) {
  return finds(map, key.element());
}

/// The result of a look-up. The bytes of the value are staged.
struct Value {
  bool is_there = false;
  Piece piece;
  std::size_t size = 0;
};

/// Copies the value under a key, in a buffer that grows until it is longer than
/// the value. Fails by acp_errno.
Value retrieve(Staging& staging, acp_map_t map, acp_element_t key) {
  constexpr std::size_t kFirstBytes = 1024;
  for (std::size_t room = kFirstBytes;; room *= 8) {
    const Piece piece = staging.take(room);
    if (piece.data == nullptr) return {};
    const std::size_t size = acp_retrieve_map(map, {key, {piece.ga, room}});
    if (acp_errno != ACPX_OK) return {};
    if (size == 0) return {finds(map, key), piece, 0};
    if (size < room) return {true, piece, size};
  }
}

/// retrieve_map(map, key): the value, or None without such a key.
PyObject* retrieve_map(PyObject* /*module*/,
                       PyObject* const* arguments,
                       Py_ssize_t count,
                       PyObject* /*keywords*/) {
  Argument<acp_map_t> map;
  Argument<Bytes> key;
  if (!map.take(arguments[0]) || !key.take(arguments[1])) return nullptr;
  const CallText text{"acp_retrieve_map", arguments, count};
  if (!key.is_staged()) return raise_failure(text);
  Staging staging;
  Value value;
  acp_errno = ACPX_OK;
  {
    const WithoutGil without;
    value = retrieve(staging, map.value, key.value.element());
  }
  if (acp_errno != ACPX_OK) return raise_failure(text);
  if (!value.is_there) Py_RETURN_NONE;
  return PyBytes_FromStringAndSize(
      reinterpret_cast<const char*>(value.piece.data),
      static_cast<Py_ssize_t>(value.size));
}

/// upsert_add8_map(map, key, add): the value before, 0 of a new key.
PyObject* upsert_add8_map(PyObject* /*module*/,
                          PyObject* const* arguments,
                          Py_ssize_t count,
                          PyObject* /*keywords*/) {
  Argument<acp_map_t> map;
  Argument<Bytes> key;
  Argument<std::uint64_t> add;
  if (!map.take(arguments[0]) || !key.take(arguments[1]) ||
      !add.take(arguments[2])) {
    return nullptr;
  }
  std::uint64_t old = 0;
  int result = -1;
  if (key.is_staged()) {
    const WithoutGil without;
    result =
        acpx_upsert_add8_map(map.value, key.value.element(), add.value, &old);
  }
  return result < 0 ? raise_failure({"acpx_upsert_add8_map", arguments, count})
                    : to_python(old);
}

/// insert_map_n(map, pairs): pairs is a list of tuples of two objects with
/// bytes. Returns a list of whether each was inserted.
PyObject* insert_map_n(PyObject* /*module*/,
                       PyObject* const* arguments,
                       Py_ssize_t count,
                       PyObject* /*keywords*/) {
  Argument<acp_map_t> map;
  const Object list(PySequence_List(arguments[1]));
  if (!map.take(arguments[0]) || !list) return nullptr;
  const CallText text{"acpx_insert_map_n", arguments,
                      std::min<Py_ssize_t>(count, 1)};
  const Py_ssize_t size = PyList_GET_SIZE(list.get());
  Staging staging;
  std::vector<acp_pair_t> pairs(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    Py_buffer key;
    Py_buffer value;
    if (!PyArg_ParseTuple(PyList_GET_ITEM(list.get(), i), "y*y*:pair", &key,
                          &value)) {
      return nullptr;
    }
    const auto stage = [&staging](Py_buffer& bytes) -> acp_element_t {
      const auto length = static_cast<std::size_t>(bytes.len);
      const acp_ga_t ga = staging.copy(bytes.buf, length).ga;
      PyBuffer_Release(&bytes);
      return {ga, length};
    };
    acp_pair_t& pair = pairs[static_cast<std::size_t>(i)];
    pair = {stage(key), stage(value)};
    if (pair.first.ga == ACP_GA_NULL || pair.second.ga == ACP_GA_NULL) {
      return raise_failure(text);
    }
  }
  std::vector<int> results(pairs.size());
  int inserted = 0;
  {
    const WithoutGil without;
    inserted = acpx_insert_map_n(map.value, pairs.data(), pairs.size(),
                                 results.data());
  }
  if (inserted < 0) return raise_failure(text);
  Object answers(PyList_New(size));
  for (Py_ssize_t i = 0; answers && i < size; ++i) {
    PyList_SET_ITEM(answers.get(), i,
                    to_python(results[static_cast<std::size_t>(i)] == 1));
  }
  return answers.release();
}

/// A position between two calls of a walk. It is an object of bytes in Python.
template <typename It>
PyObject* next_position(const It& it) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(&it),
                                   sizeof it);
}

/// Copies the key at a position. Fails by acp_errno, and with an empty piece if
/// the element was removed before its bytes were read.
template <typename It>
acp_element_t copy_key(Staging& staging, const It& it, auto dereference) {
  const acp_element_t there = dereference(it);
  if (there.ga == ACP_GA_NULL) {
    if (acp_errno == ACPX_INVALID_ARGUMENT) acp_errno = ACPX_OK;  // removed
    return {ACP_GA_NULL, 0};
  }
  const Piece piece = staging.take(there.size);
  if (piece.data == nullptr) return {ACP_GA_NULL, 0};
  const acp_handle_t handle =
      acp_copy(piece.ga, there.ga, there.size, ACP_HANDLE_NULL);
  if (handle == ACP_HANDLE_NULL || acpx_complete_timeout(handle, -1) != 0) {
    return {ACP_GA_NULL, 0};
  }
  return {piece.ga, there.size};
}

Object bytes_at(const acp_element_t& element) {
  return Object(PyBytes_FromStringAndSize(
      static_cast<const char*>(acp_query_address(element.ga)),
      static_cast<Py_ssize_t>(element.size)));
}

/// The functions of a walk that sets and maps have by different names.
struct SetWalk {
  using Table = acp_set_t;
  using It = acp_set_it_t;
  static constexpr const char* kName = "acp_increment_set_it";

  static It begin(Table set, bool is_local) {
    return is_local ? acp_begin_local_set(set) : acp_begin_set(set);
  }

  static It increment(const It& it) { return acp_increment_set_it(it); }

  static acp_element_t key(const It& it) { return acp_dereference_set_it(it); }

  /// Whether the key is there: its copy may be of memory that was used again.
  static Value value(Staging& /*staging*/, Table set, acp_element_t key) {
    return {acp_find_set(set, key).elem != ACP_GA_NULL, {}, 0};
  }
};

struct MapWalk {
  using Table = acp_map_t;
  using It = acp_map_it_t;
  static constexpr const char* kName = "acp_increment_map_it";

  static It begin(Table map, bool is_local) {
    return is_local ? acp_begin_local_map(map) : acp_begin_map(map);
  }

  static It increment(const It& it) { return acp_increment_map_it(it); }

  static acp_element_t key(const It& it) {
    return acp_dereference_map_it(it).first;
  }

  static Value value(Staging& staging, Table map, acp_element_t key) {
    return retrieve(staging, map, key);
  }
};

/// walk(table, is_local, position): (position, key, value) of the next element
/// behind the position, or None at the end. position is None at the beginning.
/// Elements that other ranks remove meanwhile are passed over.
template <typename Walk>
PyObject* walk(PyObject* /*module*/,
               PyObject* const* arguments,
               Py_ssize_t count,
               PyObject* /*keywords*/) {
  Argument<typename Walk::Table> table;
  Argument<int> is_local;
  if (!table.take(arguments[0]) || !is_local.take(arguments[1])) return nullptr;
  typename Walk::It it{};
  const bool begins = arguments[2] == Py_None;
  if (!begins) {
    std::memcpy(&it, PyBytes_AS_STRING(arguments[2]), sizeof it);
  }
  Staging staging;
  acp_element_t key{};
  Value value;
  acp_errno = ACPX_OK;
  {
    const WithoutGil without;
    it = begins ? Walk::begin(table.value, is_local.value != 0)
                : Walk::increment(it);
    while (acp_errno == ACPX_OK && it.elem != ACP_GA_NULL) {
      key = copy_key(staging, it, Walk::key);
      if (key.ga != ACP_GA_NULL) {
        value = Walk::value(staging, table.value, key);
      }
      if (value.is_there || acp_errno != ACPX_OK) break;
      it = Walk::increment(it);
    }
  }
  if (acp_errno != ACPX_OK) {
    return raise_failure({Walk::kName, arguments, count});
  }
  if (it.elem == ACP_GA_NULL) Py_RETURN_NONE;
  const Object found = bytes_at(key);
  return Py_BuildValue("NOy#", next_position(it), found.get(),
                       reinterpret_cast<const char*>(value.piece.data),
                       static_cast<Py_ssize_t>(value.size));
}

}  // namespace

/// Functions whose arguments or results are bytes are written by hand above.
/// The template makes all others.
PyMethodDef* table_methods() {
  static PyMethodDef methods[] = {
      row("create_set", create<"acp_create_set", acp_create_set>),
      row<"acp_destroy_set", acp_destroy_set, Fails::kByErrno>(),
      row<"acp_insert_set", insert_set, Fails::kByErrno>(),
      row<"acp_remove_set", remove_set, Fails::kByErrno>(),
      row<"acp_find_set", has_key, Fails::kByErrno>(),
      row<"acp_size_set", acp_size_set, Fails::kByErrno>(),
      row<"acp_size_local_set", acp_size_local_set, Fails::kByErrno>(),
      row<"acp_clear_set", acp_clear_set, Fails::kByErrno>(),
      row<"acp_clear_local_set", acp_clear_local_set, Fails::kByErrno>(),
      row<"acp_assign_set", acp_assign_set, Fails::kByErrno>(),
      row<"acp_assign_local_set", acp_assign_local_set, Fails::kByErrno>(),
      row<"acp_merge_set", acp_merge_set, Fails::kByErrno>(),
      row<"acp_merge_local_set", acp_merge_local_set, Fails::kByErrno>(),
      row<"acp_move_set", acp_move_set, Fails::kByErrno>(),
      row<"acp_move_local_set", acp_move_local_set, Fails::kByErrno>(),
      row<"acp_swap_set", acp_swap_set, Fails::kByErrno>(),
      row("walk_set", walk<SetWalk>),
      row("create_map", create<"acp_create_map", acp_create_map>),
      row<"acp_destroy_map", acp_destroy_map, Fails::kByErrno>(),
      row<"acp_insert_map", insert_map, Fails::kByErrno>(),
      row("insert_map_n", insert_map_n),
      row<"acp_remove_map", remove_map, Fails::kByErrno>(),
      row<"acp_find_map", has_key_map, Fails::kByErrno>(),
      row("retrieve_map", retrieve_map),
      row("upsert_add8_map", upsert_add8_map),
      row<"acp_size_map", acp_size_map, Fails::kByErrno>(),
      row<"acp_size_local_map", acp_size_local_map, Fails::kByErrno>(),
      row<"acp_clear_map", acp_clear_map, Fails::kByErrno>(),
      row<"acp_clear_local_map", acp_clear_local_map, Fails::kByErrno>(),
      row<"acp_assign_map", acp_assign_map, Fails::kByErrno>(),
      row<"acp_assign_local_map", acp_assign_local_map, Fails::kByErrno>(),
      row<"acp_merge_map", acp_merge_map, Fails::kByErrno>(),
      row<"acp_merge_local_map", acp_merge_local_map, Fails::kByErrno>(),
      row<"acp_move_map", acp_move_map, Fails::kByErrno>(),
      row<"acp_move_local_map", acp_move_local_map, Fails::kByErrno>(),
      row<"acp_swap_map", acp_swap_map, Fails::kByErrno>(),
      row("walk_map", walk<MapWalk>),
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace acp::python
