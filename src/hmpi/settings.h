// The settings of HMPI, from the environment. settings_table.h tells users
// about each of them.
#pragma once

#include <cstddef>
#include <string>

namespace hmpi {

struct Settings {
  /// Bytes that a message carries in its ring, at most kMostInlineBytes.
  std::size_t inline_bytes = std::size_t{4} << 10;
  /// Private data up to this many bytes are copied at once.
  std::size_t copy_bytes = std::size_t{8} << 10;
  /// A blocking send of up to this many bytes ends without its receiver.
  std::size_t detach_bytes = std::size_t{64} << 10;
  /// From this size on both ends copy.
  std::size_t both_from = std::size_t{256} << 10;
  /// Bytes of messages that one receiver has not asked for, until further ones
  /// wait at the sender.
  std::size_t kept_bytes = std::size_t{16} << 20;
  /// Whether a receiver may read private memory by the kernel's copy.
  bool has_kernel_copy = true;
  /// The heap of this process in library memory: bytes, or 0 for three quarters
  /// of ACP_HEAP_SIZE.
  std::size_t heap_bytes = 0;
  /// Blocks of malloc from this size on come from the heap; none: SIZE_MAX.
  std::size_t heap_from = std::size_t{64} << 10;
  /// Bytes of freed buffers that a process keeps for its next OPI_Alloc.
  std::size_t pool_bytes = std::size_t{256} << 20;
  /// Whether given buffers are protected in the giver.
  bool is_debug = false;
  /// Where the counters go at the end: "" nowhere, "on" to standard error, else
  /// into this file.
  std::string statistics;
  /// Whether receivers measure how long they copy: somebody shows the counters.
  bool has_clock = false;

  bool operator==(const Settings&) const = default;
};

/// Reads HMPI_INLINE, HMPI_COPY, HMPI_DETACH, HMPI_BOTH_FROM, HMPI_KEPT,
/// HMPI_CMA, HMPI_HEAP, HMPI_HEAP_FROM, HMPI_HEAP_SIZE, HMPI_POOL, HMPI_DEBUG
/// and HMPI_STATS. A text that is no value of its setting is named in
/// `mistake`, and nothing else is read.
Settings read_settings(std::string& mistake);

}  // namespace hmpi
