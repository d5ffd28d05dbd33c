// The way of log lines to standard error, which may never block its caller: the
// library logs while it holds the engine's mutex, and acprun logs in its event
// loop. A reader that does not read would otherwise stop a whole job.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/clock.h"

namespace acp {

/// Writes each line at once where that cannot block. Otherwise it keeps the
/// line, and a thread of its own writes it, which blocks for as long as the
/// reader wants. Lines keep their order. Lines beyond kRoom are counted, and a
/// line says how many they were when there is room again.
///
/// Thread-safe. Allocates no memory but the stack of its thread. A program has
/// one, in static memory, and never destroys it.
class LogOutput {
 public:
  /// Bytes that wait at most. A line of the library has 100 to 300.
  static constexpr std::size_t kRoom = 256 << 10;
  /// The rest of a longer line is left out.
  static constexpr std::size_t kMaxLine = 64 << 10;
  /// Callers wait for a slow reader so long, all lines together, until nothing
  /// waits any more. A burst of lines then loses none of them, and a reader
  /// that does not read delays nobody by more than this. Far below the silence
  /// after which a network gives up a rank, 10 s.
  static constexpr Duration kPatience = std::chrono::milliseconds(500);

  constexpr LogOutput() noexcept = default;
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;
  ~LogOutput() = default;

  /// Sets the beginning of each line, instead of "acp: ". A long one is
  /// truncated.
  void set_head(std::string_view head) noexcept;

  /// Writes or keeps a line: the head, `kind` unless it is "", `text`, and a
  /// newline.
  void put(std::string_view kind, std::string_view text) noexcept;

  /// Waits until no line waits, at most `limit`. False: some still wait.
  bool deliver(Duration limit) noexcept;

  /// The handlers of fork() use these. The child forgets the lines of its
  /// parent, which the parent delivers.
  void lock() noexcept { mutex_.lock(); }

  void unlock() noexcept { mutex_.unlock(); }

  void unlock_in_child() noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;

  std::string_view compose(std::string_view kind,
                           std::string_view text) noexcept;
  std::string_view compose_loss_note() noexcept;
  void keep(Lock& lock, std::string_view line) noexcept;
  bool has_room(std::size_t bytes) const noexcept;
  void append(std::string_view bytes) noexcept;
  std::size_t peek(char* piece, std::size_t size) const noexcept;
  void take(std::size_t bytes) noexcept;
  void drop_all() noexcept;
  template <typename Condition>
  bool await(Lock& lock, TimePoint until, Condition holds) noexcept;
  template <typename Condition>
  void be_patient(Lock& lock, Condition holds) noexcept;
  void note_change() noexcept;
  bool start_writer() noexcept;
  static void* run_writer(void* self);
  void write_kept(Lock& lock) noexcept;
  bool write_piece(Lock& lock) noexcept;

  std::mutex mutex_;  ///< Guards all fields below but turn_.
  // All zero at first, which takes no room in a file.
  std::array<char, 512> head_{};
  std::size_t head_size_ = 0;
  std::array<char, kMaxLine> line_{};  ///< The line that put() composes.
  std::array<char, kRoom> kept_{};     ///< A ring: whole lines, the oldest
                                       ///< without what is written of it.
  std::size_t begin_ = 0;              ///< Index of the oldest byte in kept_.
  std::size_t size_ = 0;               ///< Bytes in kept_.
  std::uint64_t lost_ = 0;             ///< Lines, since the last note.
  Duration waited_{};        ///< By callers, since nothing waited in kept_.
  bool has_writer_ = false;  ///< The thread runs, or deliver() writes.
  /// Moved with each change that a thread waits for, under the mutex. Its
  /// partner is await(), which reads it under the mutex and sleeps on it.
  std::atomic<std::uint32_t> turn_{0};
};

}  // namespace acp
