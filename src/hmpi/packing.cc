// Derived types to rows of bytes and back. MPI_Pack and MPI_Unpack do it in
// pieces that an int can count. Between equal processors both MPIs pack into
// the bytes of the data, one behind the other. An element above 2 GiB is a
// message of this process to itself.
#include "hmpi/packing.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

#include "hmpi/below.h"
#include "hmpi/types.h"

namespace hmpi {

namespace {

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  below.Type_get_extent_x(type, &lower, &extent);
  return static_cast<MPI_Aint>(extent);
}

/// A row of so many bytes, as one element of a type.
class RowType {
 public:
  explicit RowType(std::size_t bytes) {
    std::vector<int> lengths(bytes / kPiece, kPiece);
    if (bytes % kPiece != 0) {
      lengths.push_back(static_cast<int>(bytes % kPiece));
    }
    std::vector<MPI_Aint> places(lengths.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = static_cast<MPI_Aint>(i * kPiece);
    }
    below.Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                               places.data(), MPI_BYTE, &type_);
    below.Type_commit(&type_);
  }

  ~RowType() { below.Type_free(&type_); }

  RowType(const RowType&) = delete;
  RowType& operator=(const RowType&) = delete;

  MPI_Datatype type() const { return type_; }

 private:
  static constexpr int kPiece = 1 << 30;

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Data at MPI_BOTTOM have a type of absolute addresses. MPI_Pack of MPICH
/// takes no null pointer, so the elements become one of a type that begins at
/// an address of this object.
class Elements {
 public:
  Elements(const void* data, MPI_Count count, MPI_Datatype type)
      : data_(const_cast<void*>(data)),
        count_(static_cast<int>(count)),
        type_(type) {
    if (data == nullptr) {
      const MPI_Aint from_here = -reinterpret_cast<MPI_Aint>(this);
      below.Type_create_hindexed(1, &count_, &from_here, type, &moved_);
      below.Type_commit(&moved_);
      data_ = this;
      count_ = 1;
      type_ = moved_;
    }
  }

  ~Elements() {
    if (moved_ != MPI_DATATYPE_NULL) {
      below.Type_free(&moved_);
    }
  }

  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  void pack(std::byte* to, std::size_t bytes) const {
    if (bytes > INT_MAX) {
      const RowType row(bytes);
      move(data_, count_, type_, to, 1, row.type());
      return;
    }
    int position = 0;
    below.Pack(data_, count_, type_, to, static_cast<int>(bytes), &position,
               MPI_COMM_SELF);
  }

  void unpack(const std::byte* from, std::size_t bytes) const {
    if (bytes > INT_MAX) {
      const RowType row(bytes);
      move(from, 1, row.type(), data_, count_, type_);
      return;
    }
    int position = 0;
    below.Unpack(from, static_cast<int>(bytes), &position, data_, count_, type_,
                 MPI_COMM_SELF);
  }

 private:
  /// Only HMPI has messages on this communicator in the MPI below: those of
  /// the program are local.
  static void move(const void* from,
                   int from_count,
                   MPI_Datatype from_type,
                   void* to,
                   int to_count,
                   MPI_Datatype to_type) {
    below.Sendrecv(from, from_count, from_type, 0, 0, to, to_count, to_type, 0,
                   0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }

  void* data_;
  int count_;
  MPI_Datatype type_;
  MPI_Datatype moved_ = MPI_DATATYPE_NULL;
};

/// How many elements of `size` bytes are packed at a time.
MPI_Count elements_at_once(std::size_t size) {
  return std::max<MPI_Count>(1, static_cast<MPI_Count>(INT_MAX / size));
}

}  // namespace

void pack(const void* data, MPI_Count count, MPI_Datatype type, std::byte* to) {
  const std::size_t size = facts_of(type).size;
  const MPI_Aint extent = extent_of(type);
  const auto* from = static_cast<const std::byte*>(data);
  while (count > 0 && size != 0) {
    const MPI_Count some = std::min(count, elements_at_once(size));
    const std::size_t bytes = static_cast<std::size_t>(some) * size;
    Elements(from, some, type).pack(to, bytes);
    from += some * extent;
    to += bytes;
    count -= some;
  }
}

void unpack(const std::byte* from,
            std::size_t bytes,
            void* data,
            MPI_Datatype type) {
  const std::size_t size = facts_of(type).size;
  const MPI_Aint extent = extent_of(type);
  auto* to = static_cast<std::byte*>(data);
  auto count = static_cast<MPI_Count>(bytes / size);
  const std::size_t rest = bytes % size;
  while (count > 0) {
    const MPI_Count some = std::min(count, elements_at_once(size));
    const std::size_t part = static_cast<std::size_t>(some) * size;
    Elements(to, some, type).unpack(from, part);
    from += part;
    to += some * extent;
    count -= some;
  }
  if (rest != 0) {
    // The bytes that the message lacks stay as they are.
    std::vector<std::byte> element(size);
    pack(to, 1, type, element.data());
    std::memcpy(element.data(), from, rest);
    Elements(to, 1, type).unpack(element.data(), size);
  }
}

}  // namespace hmpi
