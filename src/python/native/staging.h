// Global memory of this rank for the bytes that a call takes from Python and
// gives to it. Functions of ACP take addresses, and objects of Python have
// none.
#pragma once

#include <cstddef>
#include <vector>

#include <acp.h>

namespace acp::python {

/// Memory that this rank reaches by a pointer and all ranks by an address.
struct Piece {
  acp_ga_t ga = ACP_GA_NULL;
  std::byte* data = nullptr;
};

/// The pieces of one call. Each thread has a block of its own rank's heap, from
/// which small pieces are taken and given back like a stack. A large piece is a
/// block by itself. Calls may nest in a thread: a comparison function calls
/// ACP.
class Staging {
 public:
  Staging() noexcept;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  /// Takes a piece, aligned to 16. Without memory its address is ACP_GA_NULL,
  /// with acp_errno. Needs no GIL.
  Piece take(std::size_t size);
  /// Takes a piece and copies the bytes to it.
  Piece copy(const void* bytes, std::size_t size);

 private:
  std::size_t before_;  ///< bytes of the thread's block that outer calls use
  std::vector<acp_ga_t> blocks_;
};

/// Memory of the program as the source or the target of one call. Up to
/// kStagedBytes are copied through Staging; more are registered for the call.
class CallMemory {
 public:
  enum class Use { kSource, kTarget };

  CallMemory(void* data, std::size_t size, Use use);
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;
  /// Ends the registration. The call is over by then.
  ~CallMemory();

  /// ACP_GA_NULL: there is no memory, with acp_errno.
  acp_ga_t ga() const noexcept { return ga_; }

  /// After the call: copies staged bytes to the program's memory.
  void deliver() const noexcept;

 private:
  Staging staging_;
  void* data_;
  std::size_t size_;
  std::byte* staged_ = nullptr;
  acp_atkey_t key_ = ACP_ATKEY_NULL;
  acp_ga_t ga_ = ACP_GA_NULL;
};

/// Ends the blocks of all threads: acp_init, acp_reset and acp_finalize end the
/// heap that they are of.
void begin_another_life() noexcept;

}  // namespace acp::python
