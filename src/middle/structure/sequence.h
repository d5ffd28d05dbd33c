// The operations that vectors and deques share: changes of bytes that lie in
// one piece. Called by vector_api.cc and deque_api.cc. `Access` is how a caller
// gets the bytes for itself: vector::FrozenVector or deque::LockedDeque.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "middle/structure/bytes.h"
#include "middle/structure/control.h"

namespace acp::middle::structure {

/// A range of a sequence. With kToTheEnd as `end` it reaches to the end.
struct Range {
  acp_ga_t handle;
  std::uint64_t start;
  std::uint64_t end;
};

inline constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};

/// Decides whether erase clamps a range that goes beyond the end, or fails.
enum class Beyond : std::uint8_t { kClamp, kFail };

/// Converts an offset to an iterator's int. A larger offset is clamped, and
/// acp_errno is set.
inline int index_of(std::uint64_t offset) {
  constexpr auto kMost =
      static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  if (offset > kMost) {
    acp_errno = ACPX_TOO_LARGE;
  }
  return static_cast<int>(std::min(offset, kMost));
}

/// The offset `n` bytes behind `index`, which may be negative. It is clamped to
/// `least` and to the largest int.
inline int advanced(int index, int n, int least) {
  return static_cast<int>(
      std::clamp<long long>(static_cast<long long>(index) + n, least,
                            std::numeric_limits<int>::max()));
}

/// The functions of chapters 4.3 and 4.4, by the names there. False: failed,
/// which is reported.
template <typename Access>
class Sequence {
 public:
  /// Allocates and zeroes the bytes first. The control comes last, so no other
  /// rank sees an unfinished sequence.
  static acp_ga_t create(const char* function,
                         std::uint64_t size,
                         std::uint64_t capacity,
                         int rank) {
    Site* site = Site::of_call(function);
    if (site == nullptr) {
      return ACP_GA_NULL;
    }
    Call call{site, function, Access::kKind, ACP_GA_NULL, ACP_GA_NULL, rank};
    if (!site->has_rank(rank)) {
      fail_rank(call, rank);
      return ACP_GA_NULL;
    }
    if (capacity > kMostBytes) {
      fail_numbers(call, ACPX_TOO_LARGE,
                   "{} bytes are too many; at most {} are possible", capacity,
                   kMostBytes);
      return ACP_GA_NULL;
    }
    Scratch scratch(*site);
    Shape shape;
    Block block;
    if (capacity != 0) {
      shape.capacity = rounded_capacity(capacity);
      shape.size = size;
      block.allocate(shape.capacity, rank);
      if (!block.is_good() ||
          (size != 0 && !fill_zero(scratch, block.ga(), size))) {
        return ACP_GA_NULL;
      }
      shape.body = block.ga();
    }
    scratch.clear();
    std::uint64_t fields[kFields];
    Access::fields_of(shape, fields);
    const acp_ga_t handle =
        create_control(scratch, function, Access::kKind, rank,
                       Access::live_sync(shape), fields);
    if (handle != ACP_GA_NULL) {
      block.give();
    }
    return handle;
  }

  static bool destroy(const char* function, acp_ga_t handle) {
    return with(function, handle, [](Scratch&, Access& access) {
      access.destroy();
      return true;
    });
  }

  /// Reads where the bytes are, in one round trip and without a lock.
  static bool read(const char* function,
                   acp_ga_t handle,
                   Shape& shape,
                   Call& call) {
    if (!begin_call(call, function, Access::kKind, handle)) {
      return false;
    }
    Scratch scratch(*call.site);
    View view{};
    if (!look(scratch, call, view)) {
      return false;
    }
    shape = Access::shape_in(view);
    return true;
  }

  static acp_ga_t at(const char* function, acp_ga_t handle, int offset) {
    acp_ga_t ga = ACP_GA_NULL;
    std::size_t bytes = 1;
    return find_bytes(function, handle, offset, ga, bytes) ? ga : ACP_GA_NULL;
  }

  /// Finds the address of `bytes` bytes at an offset. Sets `bytes` to those
  /// that the sequence has from there on, if they are fewer.
  static bool find_bytes(const char* function,
                         acp_ga_t handle,
                         int offset,
                         acp_ga_t& ga,
                         std::size_t& bytes) {
    Call call;
    Shape shape;
    if (!read(function, handle, shape, call)) {
      return false;
    }
    if (offset < 0 || static_cast<std::uint64_t>(offset) >= shape.size) {
      fail_numbers(call, ACPX_BAD_ADDRESS,
                   "the offset is {}; it has to be 0 or more, and below the "
                   "size, {}",
                   offset, shape.size);
      return false;
    }
    const auto first = static_cast<std::uint64_t>(offset);
    bytes = std::min<std::size_t>(bytes, shape.size - first);
    ga = bytes == 0 ? ACP_GA_NULL : shape.at(first);
    return true;
  }

  /// Finds the address and the size of a range.
  static bool find_range(const char* function,
                         const Range& range,
                         acp_ga_t& ga,
                         std::size_t& bytes) {
    Call call;
    Shape shape;
    if (!read(function, range.handle, shape, call)) {
      return false;
    }
    if (range.end > shape.size) {
      return fail_range(call, range.end, shape.size);
    }
    bytes = range.end - range.start;
    ga = bytes == 0 ? ACP_GA_NULL : shape.at(range.start);
    return true;
  }

  static bool clear(const char* function, acp_ga_t handle) {
    return with(function, handle, [](Scratch&, Access& access) {
      access.shape.size = 0;
      access.shape.head = 0;
      return access.commit();
    });
  }

  static bool reserve(const char* function,
                      acp_ga_t handle,
                      std::uint64_t capacity) {
    return with(function, handle, [=](Scratch&, Access& access) {
      return structure::reserve(access.call(), access.shape, capacity) &&
             access.commit();
    });
  }

  static bool pop_back(const char* function,
                       acp_ga_t handle,
                       std::uint64_t size) {
    return with(function, handle, [=](Scratch&, Access& access) {
      access.shape.size -= std::min(size, access.shape.size);
      return access.commit();
    });
  }

  static bool erase(const char* function,
                    acp_ga_t handle,
                    int index,
                    std::uint64_t size,
                    Beyond beyond) {
    return with(function, handle, [=](Scratch&, Access& access) {
      if (!has_offset(access, index)) {
        return false;
      }
      const auto first = static_cast<std::uint64_t>(index);
      const std::uint64_t there = access.shape.size - first;
      if (size > there && beyond == Beyond::kFail) {
        return fail_range(access.call(), first + size, access.shape.size);
      }
      return close_gap(access.call(), access.shape, first,
                       std::min(size, there)) &&
             access.commit();
    });
  }

  /// Reads the source before it locks. A source that is part of the body is
  /// copied, since the body moves.
  static bool insert(const char* function,
                     acp_ga_t handle,
                     int index,
                     acp_ga_t ga,
                     std::size_t size) {
    Call call;
    if (!begin_call(call, function, Access::kKind, handle)) {
      return false;
    }
    Scratch scratch(*call.site);
    Source source;
    if (!source.open(scratch, call, ga, size)) {
      return false;
    }
    Access access(call);
    return access.begin(scratch) && has_offset(access, index) &&
           source.leave(call, access.shape.body, access.shape.capacity) &&
           put_at(access, static_cast<std::uint64_t>(index), source.ga(), size);
  }

  static bool insert_range(const char* function,
                           acp_ga_t handle,
                           int index,
                           const Range& range) {
    return with_copy(function, handle, range,
                     [=](Access& access, Block& copy, std::uint64_t bytes) {
                       return has_offset(access, index) &&
                              put_at(access, static_cast<std::uint64_t>(index),
                                     copy.ga(), bytes);
                     });
  }

  static bool assign(const char* function,
                     acp_ga_t handle,
                     const Range& range) {
    return with_copy(function, handle, range,
                     [](Access& access, Block& copy, std::uint64_t bytes) {
                       replace(access.shape, copy, bytes);
                       return access.commit();
                     });
  }

  /// Has both for itself, that with the lower address first.
  static bool swap(const char* function, acp_ga_t handle1, acp_ga_t handle2) {
    Call call1;
    Call call2;
    if (!begin_call(call1, function, Access::kKind, handle1) ||
        !begin_call(call2, function, Access::kKind, handle2)) {
      return false;
    }
    Scratch scratch1(*call1.site);
    if (handle1 == handle2) {
      View view{};
      return look(scratch1, call1, view);
    }
    Scratch scratch2(*call1.site);
    const bool is_first = call1.control < call2.control;
    Access lower(is_first ? call1 : call2);
    Access upper(is_first ? call2 : call1);
    return lower.begin(scratch1) && upper.begin(scratch2) &&
           exchange(lower.call(), lower.shape, upper.call(), upper.shape) &&
           lower.commit() && upper.commit();
  }

  /// Makes a range of two iterators. False: they are of two sequences or in the
  /// wrong order (reported).
  static bool make_range(const char* function,
                         acp_ga_t start_handle,
                         int start,
                         acp_ga_t end_handle,
                         int end,
                         Range& range) {
    if (start_handle == end_handle && 0 <= start && start <= end) {
      range = {start_handle, static_cast<std::uint64_t>(start),
               static_cast<std::uint64_t>(end)};
      return true;
    }
    Call call;
    if (begin_call(call, function, Access::kKind, start_handle)) {
      if (start_handle != end_handle) {
        fail_numbers(call, ACPX_INVALID_ARGUMENT,
                     "start and end are of two {}s", name_of(Access::kKind));
      } else {
        fail_numbers(call, ACPX_INVALID_ARGUMENT,
                     "start has offset {} and end has offset {}; start has to "
                     "be 0 or more, and end not less",
                     start, end);
      }
    }
    return false;
  }

  /// The bytes from one iterator to another; 0 when they are of two sequences
  /// (reported).
  static int distance(const char* function,
                      acp_ga_t first_handle,
                      int first,
                      acp_ga_t last_handle,
                      int last) {
    if (first_handle == last_handle) {
      return last - first;
    }
    Range range{};
    make_range(function, first_handle, first, last_handle, last, range);
    return 0;
  }

 private:
  template <typename Work>
  static bool with(const char* function, acp_ga_t handle, const Work& work) {
    Call call;
    if (!begin_call(call, function, Access::kKind, handle)) {
      return false;
    }
    Scratch scratch(*call.site);
    Access access(call);
    return access.begin(scratch) && work(scratch, access);
  }

  /// Copies the range to the rank of the sequence, before it gets the bytes of
  /// the sequence. The range may be part of them, and a caller has only one
  /// sequence for itself at a time, but for swap.
  template <typename Work>
  static bool with_copy(const char* function,
                        acp_ga_t handle,
                        const Range& range,
                        const Work& work) {
    Call call;
    if (!begin_call(call, function, Access::kKind, handle)) {
      return false;
    }
    Scratch scratch(*call.site);
    Block copy;
    std::uint64_t bytes = 0;
    if (!take_copy(scratch, function, range, call.rank, copy, bytes)) {
      return false;
    }
    Access access(call);
    return access.begin(scratch) && work(access, copy, bytes);
  }

  static bool fail_range(const Call& call,
                         std::uint64_t end,
                         std::uint64_t size) {
    fail_numbers(call, ACPX_BAD_ADDRESS,
                 "the range ends at offset {}, and the size is {}", end, size);
    return false;
  }

  /// Whether `index` is the offset of a byte or the end. Reports one that is
  /// not.
  static bool has_offset(const Access& access, int index) {
    if (index >= 0 && static_cast<std::uint64_t>(index) <= access.shape.size) {
      return true;
    }
    fail_numbers(access.call(), ACPX_BAD_ADDRESS,
                 "the offset is {}; it has to be 0 to the size, {}", index,
                 access.shape.size);
    return false;
  }

  static bool put_at(Access& access,
                     std::uint64_t index,
                     acp_ga_t from,
                     std::uint64_t bytes) {
    Block outdated;
    return open_gap(access.call(), access.shape, index, bytes, outdated) &&
           move_all({{access.shape.at(index), from, bytes}}) && access.commit();
  }

  /// Copies a range, as it is at one time, to a block on `rank`. The source is
  /// free again when this returns.
  static bool take_copy(Scratch& scratch,
                        const char* function,
                        const Range& range,
                        int rank,
                        Block& copy,
                        std::uint64_t& bytes) {
    Call call;
    if (!begin_call(call, function, Access::kKind, range.handle)) {
      return false;
    }
    Access access(call);
    if (!access.begin(scratch)) {
      return false;
    }
    const std::uint64_t end =
        range.end == kToTheEnd ? access.shape.size : range.end;
    if (end > access.shape.size) {
      return fail_range(call, end, access.shape.size);
    }
    bytes = end - range.start;
    if (bytes == 0) {
      return true;
    }
    copy.allocate(rounded_capacity(bytes), rank);
    return copy.is_good() &&
           move_all({{copy.ga(), access.shape.at(range.start), bytes}});
  }
};

}  // namespace acp::middle::structure
