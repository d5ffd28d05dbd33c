// The memory of a process for keys. Every value that opens the job to whoever
// reads it lies here, or in the page of the host segment that has the job's
// secret. Nothing else of the process has a copy, so no core dump has one.
//
// The memory is one run of pages:
//   1. A core dump leaves it out (MADV_DONTDUMP).
//   2. It is not swapped out, as far as the limit of locked memory allows
//      (mlock). The run has 8 KiB, and memory that a process registers with an
//      RDMA device has a count of its own in the kernel.
//   3. A child made by fork() finds zeros there (MADV_WIPEONFORK).
//   4. Bytes that are given back are wiped first.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

namespace acp {

/// Zeroed bytes on a cache line of their own. Throws std::bad_alloc where the
/// system has no memory, as operator new does. Thread-safe.
std::byte* take_secret_memory(std::size_t bytes);

/// Wipes the bytes and takes them back. `at` and `bytes` are those of
/// take_secret_memory(). Thread-safe.
void return_secret_memory(std::byte* at, std::size_t bytes) noexcept;

/// Clears all vector registers of this processor. Functions of ciphers and
/// memcpy leave parts of keys there. Otherwise the first call of a function of
/// a shared library may save them on the stack.
void clear_vector_registers() noexcept;

/// Copies a secret, and leaves no part of it in a register.
void copy_secret(void* to, const void* from, std::size_t bytes) noexcept;

/// Wipes `kBytes` of the stack of this thread below the caller's frame, where
/// functions that have returned may have left keys. Not inlined: the room has
/// to lie where their frames lay.
template <std::size_t kBytes>
[[gnu::noinline]] void wipe_frames() noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): old bytes go
  std::array<std::byte, kBytes> room;
  ::explicit_bzero(room.data(), room.size());
}

/// Clears the registers, and wipes 16 KiB below the caller's frame, after
/// functions whose frames have not been measured.
void wipe_stack() noexcept;

/// Wipes an array in secret memory and gives it back.
class SecretDeleter {
 public:
  explicit SecretDeleter(std::size_t bytes = 0) noexcept : bytes_(bytes) {}

  template <typename T>
  void operator()(T* at) const noexcept {
    return_secret_memory(
        reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(at)),
        bytes_);
  }

 private:
  std::size_t bytes_;
};

/// `count` values in secret memory, all bytes zero. Move-only.
template <typename T>
using SecretArray = std::unique_ptr<T[], SecretDeleter>;

template <typename T>
SecretArray<T> make_secret_array(std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t bytes = count * sizeof(T);
  auto* const at = reinterpret_cast<T*>(take_secret_memory(bytes));
  return {at, SecretDeleter{bytes}};
}

/// A value in secret memory, all bytes zero. Copies of the pointer share it.
template <typename T>
std::shared_ptr<T> make_shared_secret() {
  static_assert(std::is_trivially_copyable_v<T>);
  auto* const at = reinterpret_cast<T*>(take_secret_memory(sizeof(T)));
  return {at, SecretDeleter{sizeof(T)}};
}

}  // namespace acp
