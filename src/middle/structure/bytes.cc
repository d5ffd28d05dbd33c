// The bytes of vectors and deques: checked sources, gaps, growth and exchange.
// Called by sequence.h, vector.cc and deque.cc; lists and tables use its
// sources, copies and blocks. It takes no lock: the caller has locked or frozen
// the structure.
#include "middle/structure/bytes.h"

#include <algorithm>
#include <cstring>

#include "acp/gma.h"
#include "acp/malloc.h"
#include "middle/log.h"

namespace acp::middle::structure {

bool move_all(std::initializer_list<Move> moves) {
  acp_handle_t last = ACP_HANDLE_NULL;
  for (const Move& move : moves) {
    if (move.bytes == 0) {
      continue;
    }
    last = acp_copy(move.to, move.from, move.bytes, ACP_HANDLE_NULL);
    if (last == ACP_HANDLE_NULL) {
      return false;
    }
  }
  return last == ACP_HANDLE_NULL || finish(last);
}

// ---- Block ----------------------------------------------------------------

Block::Block(std::size_t bytes, int rank) {
  allocate(bytes, rank);
}

void Block::allocate(std::size_t bytes, int rank) {
  ga_ = structure::allocate(bytes, rank);
}

void Block::take(Block& other) {
  acp_free(ga_);
  ga_ = other.give();
}

Block::~Block() {
  if (ga_ != ACP_GA_NULL) {
    acp_free(ga_);
  }
}

// ---- Source ---------------------------------------------------------------

namespace {

/// Whether all bytes are in one region of this rank's memory.
bool is_readable(acp_ga_t ga, std::size_t bytes) {
  const int before = acp_errno;
  const auto* first = static_cast<const std::byte*>(acp_query_address(ga));
  const auto* last =
      static_cast<const std::byte*>(acp_query_address(ga + bytes - 1));
  acp_errno = before;
  return first != nullptr && last != nullptr &&
         last - first == static_cast<std::ptrdiff_t>(bytes) - 1;
}

/// Bytes of starter memory from `ga` to its end; 0: `ga` is elsewhere.
std::uint64_t starter_bytes_from(const Call& call, acp_ga_t ga) {
  std::uint64_t size = 0;
  const acp_ga_t start = acp_query_starter_ga(call.site->rank());
  (void)acpx_setting("ACP_STARTER_MEMORY", &size);
  return ga - start < size ? size - (ga - start) : 0;
}

/// Reports bytes that begin in memory of this rank and leave their region.
/// False: `ga` itself is in no region.
bool fail_excess(const Call& call, acp_ga_t ga, std::size_t bytes) {
  const int before = acp_errno;
  const bool is_somewhere = acp_query_address(ga) != nullptr;
  acp_errno = before;
  if (!is_somewhere) {
    return false;
  }
  const std::uint64_t left = starter_bytes_from(call, ga);
  acp_errno = ACPX_BAD_ADDRESS;
  log_error("{}: {} bytes at {:#x} leave their memory on rank {}, {}",
            text_of(call), bytes, ga, call.site->rank(),
            left != 0
                ? fmt::format("where starter memory has {} bytes from there; "
                              "acprun --acp-startermemsize enlarges it",
                              left)
                : std::string("where fewer bytes are registered"));
  return true;
}

}  // namespace

/// An address may be a pointer, one that has not arrived, or one behind a
/// region's end. Each has its own remedy.
void fail_no_memory(const Call& call, acp_ga_t ga) {
  if (ga == ACP_GA_NULL) {
    fail_text(call, ACPX_BAD_ADDRESS,
              "the address given is ACP_GA_NULL: not queried, or not received "
              "yet");
    return;
  }
  const int before = acp_errno;
  const int rank = acp_query_rank(ga);
  acp_errno = before;
  if (rank < 0) {
    fail_address(call, ACPX_BAD_ADDRESS, "no memory of a rank at", ga,
                 "a pointer's global address is acp_query_ga's");
    return;
  }
  std::uint64_t size = 0;
  (void)acpx_setting("ACP_STARTER_MEMORY", &size);
  acp_errno = before;
  if (ga == acp_query_starter_ga(rank) + size) {
    fail_address(call, ACPX_BAD_ADDRESS, "starter memory ends at", ga,
                 "acprun --acp-startermemsize enlarges it");
    return;
  }
  fail_address(call, ACPX_BAD_ADDRESS, "no region of this rank has", ga,
               "it is behind the end of one, or was unregistered");
}

bool copy_checked(acp_ga_t to, acp_ga_t from, std::size_t bytes) {
  const NamedCall name;
  // Without operations under way, a failure is that of this copy, or of one
  // that another thread begins just now. In the second case this copy counts as
  // failed as well.
  const int rounds = acpx_complete_timeout(ACP_HANDLE_ALL, 0) == 1 ? 2 : 1;
  for (int round = 0; round < rounds; ++round) {
    const acp_handle_t handle = acp_copy(to, from, bytes, ACP_HANDLE_NULL);
    if (handle == ACP_HANDLE_NULL) {
      return false;
    }
    if (acpx_complete_timeout(handle, -1) == 0) {
      return true;
    }
  }
  return false;
}

/// Own memory is used where it is. Another rank's bytes go to the scratch, or
/// to a block on the structure's rank when they are too many for the scratch.
bool Source::open(Scratch& scratch,
                  const Call& call,
                  acp_ga_t ga,
                  std::size_t bytes) {
  ga_ = ga;
  bytes_ = bytes;
  is_mine_ = true;
  if (bytes == 0) {
    return true;
  }
  if (bytes > kMostBytes) {
    fail_numbers(call, ACPX_TOO_LARGE,
                 "{} bytes are too many; at most {} are possible", bytes,
                 kMostBytes);
    return false;
  }
  const int before = acp_errno;
  const int rank = acp_query_rank(ga);
  acp_errno = before;
  if (rank == call.site->rank() && is_readable(ga, bytes)) {
    return true;
  }
  if (rank == call.site->rank() && fail_excess(call, ga, bytes)) {
    return false;
  }
  if (rank < 0 || rank == call.site->rank()) {
    fail_no_memory(call, ga);
    return false;
  }
  if (bytes <= kScratchDataBytes) {
    ga_ = scratch.data_ga();
    return copy_checked(ga_, ga, bytes);
  }
  block_.allocate(bytes, call.rank);
  ga_ = block_.ga();
  is_mine_ = call.rank == call.site->rank();
  return block_.is_good() && copy_checked(ga_, ga, bytes);
}

bool Source::leave(const Call& call, acp_ga_t body, std::size_t body_bytes) {
  if (bytes_ == 0 || ga_ + bytes_ <= body || body + body_bytes <= ga_) {
    return true;
  }
  Block copy(bytes_, call.rank);
  if (!copy.is_good() || !move_all({{copy.ga(), ga_, bytes_}})) {
    return false;
  }
  block_.take(copy);
  ga_ = block_.ga();
  is_mine_ = call.rank == call.site->rank();
  return true;
}

bool Source::add_put(Chain& chain, acp_ga_t to) const {
  if (is_mine_ && bytes_ != 0) {
    chain.put(to, ga_, bytes_);
  }
  return is_mine_;
}

// ---- Shapes ---------------------------------------------------------------

namespace {

/// Moves the bytes to a new body with a gap at `index`. The old body stays
/// until the next growth, because callers may have addresses in it. `outdated`
/// gets the body that was kept until now.
bool rebuild(const Call& call,
             Shape& shape,
             std::uint64_t index,
             std::uint64_t gap,
             std::uint64_t capacity,
             Block& outdated) {
  if (capacity > kMostBytes) {
    fail_numbers(call, ACPX_TOO_LARGE,
                 "{} bytes are too many; at most {} are possible", capacity,
                 kMostBytes);
    return false;
  }
  Block block(capacity, call.rank);
  if (!block.is_good()) {
    return false;
  }
  const std::uint64_t size = shape.size + gap;
  // A deque gets half of the free room in front. The head is a multiple of 64,
  // so that elements keep their alignment.
  const std::uint64_t head =
      call.kind == Kind::kDeque ? (capacity - size) / 2 / 64 * 64 : 0;
  const acp_ga_t body = block.ga();
  if (!move_all(
          {{body + head, shape.at(0), index},
           {body + head + index + gap, shape.at(index), shape.size - index}})) {
    return false;
  }
  outdated.own(shape.old_body);
  shape = {block.give(), capacity, head, size, shape.body};
  return true;
}

std::uint64_t grown(const Call& call, const Shape& shape, std::uint64_t size) {
  // A deque that is at most half full keeps its capacity and is only recentred.
  const bool is_roomy = call.kind == Kind::kDeque && size <= shape.capacity / 2;
  return is_roomy ? shape.capacity
                  : std::max(2 * shape.capacity, rounded_capacity(size));
}

}  // namespace

/// Prefers moving the shorter side of the gap; grows the body when neither side
/// has room.
bool open_gap(const Call& call,
              Shape& shape,
              std::uint64_t index,
              std::uint64_t bytes,
              Block& outdated) {
  const std::uint64_t tail = shape.size - index;
  if (call.kind == Kind::kDeque && shape.size == 0 && bytes <= shape.capacity) {
    shape.head = (shape.capacity - bytes) / 2 / 64 * 64;
  }
  // A push at one end uses the room of that end only. If it used the other
  // end's room it would have to move all bytes, on every push.
  const bool is_at_front = shape.size != 0 && index == 0;
  const bool is_at_back = shape.size != 0 && tail == 0;
  const bool is_deque = call.kind == Kind::kDeque;
  const bool has_front = is_deque && !is_at_back && shape.head >= bytes;
  const bool has_back = (!is_deque || !is_at_front) && shape.body != 0 &&
                        shape.head + shape.size + bytes <= shape.capacity;
  if (has_front && (index < tail || !has_back)) {
    if (!move_all({{shape.at(0) - bytes, shape.at(0), index}})) {
      return false;
    }
    shape.head -= bytes;
    shape.size += bytes;
    return true;
  }
  if (has_back) {
    if (!move_all({{shape.at(index + bytes), shape.at(index), tail}})) {
      return false;
    }
    shape.size += bytes;
    return true;
  }
  return rebuild(call, shape, index, bytes,
                 grown(call, shape, shape.size + bytes), outdated);
}

bool close_gap(const Call& call,
               Shape& shape,
               std::uint64_t index,
               std::uint64_t bytes) {
  const std::uint64_t behind = shape.size - index - bytes;
  if (call.kind == Kind::kDeque && index < behind) {
    if (!move_all({{shape.at(bytes), shape.at(0), index}})) {
      return false;
    }
    shape.head += bytes;
    shape.size -= bytes;
    return true;
  }
  if (!move_all({{shape.at(index), shape.at(index + bytes), behind}})) {
    return false;
  }
  shape.size -= bytes;
  return true;
}

bool reserve(const Call& call, Shape& shape, std::uint64_t capacity) {
  Block outdated;
  return capacity <= shape.capacity ||
         rebuild(call, shape, shape.size, 0,
                 rounded_capacity(std::min(capacity, kMostBytes + 1)),
                 outdated);
}

void replace(Shape& shape, Block& block, std::uint64_t bytes) {
  if (!block.is_good()) {
    shape.size = 0;
    return;
  }
  acp_free(shape.old_body);
  shape = {block.give(), rounded_capacity(bytes), 0, bytes, shape.body};
}

bool fill_zero(Scratch& scratch, acp_ga_t to, std::size_t bytes) {
  std::size_t done = std::min(bytes, kScratchDataBytes);
  std::memset(scratch.data(), 0, done);
  if (!move_all({{to, scratch.data_ga(), done}})) {
    return false;
  }
  while (done < bytes) {
    const std::size_t next = std::min(done, bytes - done);
    if (!move_all({{to + done, to, next}})) {
      return false;
    }
    done += next;
  }
  return true;
}

/// On one rank the two shapes are swapped. On two ranks both new bodies are
/// allocated and filled before either shape changes.
bool exchange(const Call& a, Shape& shape_a, const Call& b, Shape& shape_b) {
  if (a.rank == b.rank) {
    std::swap(shape_a, shape_b);
    return true;
  }
  Block block_a;
  Block block_b;
  if (shape_b.size != 0) {
    block_a.allocate(rounded_capacity(shape_b.size), a.rank);
  }
  if (shape_a.size != 0) {
    block_b.allocate(rounded_capacity(shape_a.size), b.rank);
  }
  if ((shape_b.size != 0 && !block_a.is_good()) ||
      (shape_a.size != 0 && !block_b.is_good()) ||
      !move_all({{block_a.ga(), shape_b.at(0), shape_b.size},
                 {block_b.ga(), shape_a.at(0), shape_a.size}})) {
    return false;
  }
  const std::uint64_t size_a = shape_a.size;
  replace(shape_a, block_a, shape_b.size);
  replace(shape_b, block_b, size_a);
  return true;
}

}  // namespace acp::middle::structure
