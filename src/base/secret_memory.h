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

#include <cstddef>
#include <memory>
#include <type_traits>

namespace acp {

/// Zeroed bytes on a cache line of their own. Throws std::bad_alloc where the
/// system has no memory, as operator new does. Thread-safe.
std::byte* take_secret_memory(std::size_t bytes);

/// Wipes the bytes and takes them back. `at` and `bytes` are those of
/// take_secret_memory(). Thread-safe.
void return_secret_memory(std::byte* at, std::size_t bytes) noexcept;

/// Clears the registers in which functions of ciphers and memcpy have parts of
/// keys. Otherwise the first call of a function of a shared library may save
/// them on the stack.
inline void clear_vector_registers() noexcept {
#if defined(__x86_64__)
  asm volatile(
      "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\t"
      "pxor %%xmm2, %%xmm2\n\tpxor %%xmm3, %%xmm3\n\t"
      "pxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"
      "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\t"
      "pxor %%xmm8, %%xmm8\n\tpxor %%xmm9, %%xmm9\n\t"
      "pxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
      "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\t"
      "pxor %%xmm14, %%xmm14\n\tpxor %%xmm15, %%xmm15" ::
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
            "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
            "xmm15");
#endif
}

/// Copies a secret, and leaves no part of it in a register.
void copy_secret(void* to, const void* from, std::size_t bytes) noexcept;

/// Wipes 16 KiB of the stack of this thread below the caller's frame, where
/// functions that have returned may have left keys.
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
