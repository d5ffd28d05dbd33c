// Derived datatypes of bytes whose layout in memory is known, so that a program
// can fill and check buffers without MPI.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "check.h"
#include "payload.h"

namespace mpi_check {

/// A committed type of kElementBytes bytes. All layouts have one signature, so
/// one may be sent and another received. Owns the type.
class Layout {
 public:
  static constexpr int kElementBytes = 12;

  /// `offsets` says where each byte of an element lies, in the order of the
  /// type map. Takes the type, which is not committed yet.
  Layout(const char* layout_name,
         MPI_Datatype type,
         std::vector<int> offsets,
         int extent)
      : name(layout_name),
        type_(type),
        offsets_(std::move(offsets)),
        extent_(extent) {
    MPI_Type_commit(&type_);
  }

  Layout(Layout&& other) noexcept
      : name(other.name),
        type_(std::exchange(other.type_, MPI_DATATYPE_NULL)),
        offsets_(std::move(other.offsets_)),
        extent_(other.extent_) {}

  Layout& operator=(Layout&&) = delete;

  ~Layout() { free(); }

  /// Frees the type early. Messages that use it go on.
  void free() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }

  MPI_Datatype type() const { return type_; }

  /// Bytes of a buffer for this many elements.
  std::size_t span(int count) const {
    const int last = *std::max_element(offsets_.begin(), offsets_.end());
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(extent_) +
           static_cast<std::size_t>(last) + 1;
  }

  /// Where this byte of a message lies in the buffer.
  std::size_t place(std::size_t byte) const {
    const std::size_t element = byte / kElementBytes;
    return element * static_cast<std::size_t>(extent_) +
           static_cast<std::size_t>(offsets_[byte % kElementBytes]);
  }

  void scatter(std::byte* buffer, const std::vector<std::byte>& stream) const {
    for (std::size_t i = 0; i < stream.size(); ++i) {
      buffer[place(i)] = stream[i];
    }
  }

  /// Takes a message out of the buffer, and puts guard bytes in its place. The
  /// whole buffer must then be as new.
  std::vector<std::byte> gather(std::byte* buffer, std::size_t bytes) const {
    std::vector<std::byte> stream(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      stream[i] = std::exchange(buffer[place(i)], GuardedBuffer::kGuard);
    }
    return stream;
  }

  const char* name;

 private:
  MPI_Datatype type_;
  std::vector<int> offsets_;
  int extent_;
};

inline std::vector<int> plain_offsets() {
  std::vector<int> offsets(Layout::kElementBytes);
  std::iota(offsets.begin(), offsets.end(), 0);
  return offsets;
}

/// Offsets of blocks of equal length.
inline std::vector<int> block_offsets(std::initializer_list<int> starts) {
  const int length = Layout::kElementBytes / static_cast<int>(starts.size());
  std::vector<int> offsets;
  for (const int start : starts) {
    for (int i = 0; i < length; ++i)
      offsets.push_back(start + i);
  }
  return offsets;
}

inline Layout contiguous_layout() {
  MPI_Datatype type;
  MPI_Type_contiguous(12, MPI_BYTE, &type);
  return {"contiguous", type, plain_offsets(), 12};
}

inline Layout vector_layout() {
  MPI_Datatype type;
  MPI_Type_vector(3, 4, 7, MPI_BYTE, &type);
  return {"vector", type, block_offsets({0, 7, 14}), 18};
}

inline Layout indexed_layout() {
  MPI_Datatype type;
  const int lengths[] = {6, 6};
  const int starts[] = {1, 11};
  MPI_Type_indexed(2, lengths, starts, MPI_BYTE, &type);
  // The lower bound is 1, so the extent is 16 and not 17.
  return {"indexed", type, block_offsets({1, 11}), 16};
}

/// The second half is sent first.
inline Layout permuted_layout() {
  MPI_Datatype type;
  const int lengths[] = {6, 6};
  const MPI_Aint starts[] = {6, 0};
  const MPI_Datatype types[] = {MPI_BYTE, MPI_BYTE};
  MPI_Type_create_struct(2, lengths, starts, types, &type);
  return {"permuted", type, block_offsets({6, 0}), 12};
}

/// The four words of three bytes in reverse, by displacements in bytes.
inline Layout reversed_layout() {
  MPI_Datatype type;
  const MPI_Aint starts[] = {12, 8, 4, 0};
  MPI_Type_create_hindexed_block(4, 3, starts, MPI_BYTE, &type);
  return {"reversed", type, block_offsets({12, 8, 4, 0}), 15};
}

/// Elements with a gap behind each.
inline Layout resized_layout() {
  MPI_Datatype whole;
  MPI_Datatype type;
  MPI_Type_contiguous(12, MPI_BYTE, &whole);
  MPI_Type_create_resized(whole, 0, 20, &type);
  MPI_Type_free(&whole);
  return {"resized", type, plain_offsets(), 20};
}

/// Elements without a gap whose type is resized to begin later: the second
/// element lies between the halves of the first.
inline Layout interleaved_layout() {
  MPI_Datatype halves;
  MPI_Datatype type;
  MPI_Type_vector(2, 6, 100000, MPI_BYTE, &halves);
  MPI_Type_create_resized(halves, 0, 6, &type);
  MPI_Type_free(&halves);
  return {"interleaved", type, block_offsets({0, 100000}), 6};
}

/// The inner 3 x 4 bytes of an array of 5 x 6.
inline Layout subarray_layout() {
  MPI_Datatype type;
  const int sizes[] = {5, 6};
  const int inner[] = {3, 4};
  const int starts[] = {1, 1};
  MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_C, MPI_BYTE,
                           &type);
  return {"subarray", type, block_offsets({7, 13, 19}), 30};
}

/// A vector of a struct: two levels.
inline Layout nested_layout() {
  MPI_Datatype pair;
  MPI_Datatype type;
  const int lengths[] = {1, 2};
  const MPI_Aint starts[] = {3, 0};
  const MPI_Datatype types[] = {MPI_BYTE, MPI_BYTE};
  MPI_Type_create_struct(2, lengths, starts, types, &pair);
  MPI_Type_create_hvector(4, 1, 5, pair, &type);
  MPI_Type_free(&pair);
  return {"nested", type, {3, 0, 1, 8, 5, 6, 13, 10, 11, 18, 15, 16}, 19};
}

/// One of each, without the interleaved one, whose span is large.
inline std::vector<Layout> all_layouts() {
  std::vector<Layout> layouts;
  layouts.push_back(contiguous_layout());
  layouts.push_back(vector_layout());
  layouts.push_back(indexed_layout());
  layouts.push_back(permuted_layout());
  layouts.push_back(reversed_layout());
  layouts.push_back(resized_layout());
  layouts.push_back(subarray_layout());
  layouts.push_back(nested_layout());
  return layouts;
}

}  // namespace mpi_check
