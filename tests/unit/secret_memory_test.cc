// Tests the memory for keys: what a core dump, a child and a later owner see.
#include "base/secret_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace acp {

namespace {

using Key = std::array<std::uint8_t, 32>;

/// The flags of the mapping at `address`, from the kernel's list: "dd" is not
/// dumped, "lo" is locked.
std::string flags_at(const void* address) {
  std::ifstream file("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool is_here = false;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      is_here = wanted >= begin && wanted < end;
    } else if (is_here && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

bool is_zero(const std::byte* at, std::size_t bytes) {
  return std::all_of(at, at + bytes,
                     [](std::byte one) { return one == std::byte{0}; });
}

/// The exit status of a child that runs `part`.
template <typename Part>
int status_of_child(Part part) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(part() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("secret memory: no core dump has it", "[base][secret]") {
  const auto key = make_shared_secret<Key>();
  CHECK(flags_at(key.get()).find(" dd ") != std::string::npos);
}

TEST_CASE("secret memory: values are apart, and those of a process share pages",
          "[base][secret]") {
  std::vector<SecretArray<Key>> keys;
  for (int i = 0; i < 20; ++i) {
    keys.push_back(make_secret_array<Key>(2));
    CHECK(is_zero(reinterpret_cast<std::byte*>(keys.back().get()),
                  2 * sizeof(Key)));
    keys.back()[0].fill(static_cast<std::uint8_t>(i + 1));
    keys.back()[1].fill(static_cast<std::uint8_t>(i + 1));
  }
  for (int i = 0; i < 20; ++i) {
    Key same;
    same.fill(static_cast<std::uint8_t>(i + 1));
    CHECK(keys[i][0] == same);
    CHECK(keys[i][1] == same);
  }
  const auto [first, last] = std::minmax_element(
      keys.begin(), keys.end(),
      [](const auto& a, const auto& b) { return a.get() < b.get(); });
  CHECK(reinterpret_cast<std::uintptr_t>(last->get()) -
            reinterpret_cast<std::uintptr_t>(first->get()) <
        8192);
}

TEST_CASE("secret memory: a value is wiped when its last owner goes",
          "[base][secret]") {
  auto key = make_shared_secret<Key>();
  const auto* const at = reinterpret_cast<const std::byte*>(key.get());
  key->fill(7);
  auto same = key;
  key.reset();
  CHECK_FALSE(is_zero(at, sizeof(Key)));
  same.reset();
  CHECK(is_zero(at, sizeof(Key)));
  CHECK(reinterpret_cast<const std::byte*>(make_shared_secret<Key>().get()) ==
        at);
}

TEST_CASE("secret memory: a child of fork() finds zeros", "[base][secret]") {
  const auto key = make_shared_secret<Key>();
  key->fill(7);
  CHECK(status_of_child([&] { return (*key)[0] == 0; }) == 0);
  CHECK((*key)[0] == 7);
}

// The second user has no right to lock more than the limit says.
TEST_CASE("secret memory: it is there where no memory may be locked",
          "[base][secret]") {
  CHECK(status_of_child([] {
          const rlimit none{0, 0};
          if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0 ||
              (::geteuid() == 0 && ::setuid(64321) != 0)) {
            return false;
          }
          // More than a run has, so this one is new.
          const auto keys = make_secret_array<Key>(1024);
          keys[1023].fill(7);
          const std::string flags = flags_at(keys.get());
          return flags.find(" lo ") == std::string::npos &&
                 flags.find(" dd ") != std::string::npos;
        }) == 0);
}

#if defined(__x86_64__)

namespace {

/// Fills registers 0, 15, 16 and 31 with ones, calls clear_vector_registers(),
/// and returns what they have then. The last two need AVX-512. The call leaves
/// the 128 bytes below the stack pointer alone, which the compiler may use.
[[gnu::target("avx512f")]] std::array<std::uint8_t, 256> cleared_zmm() {
  std::array<std::uint8_t, 256> left{};
  asm volatile(
      "vpternlogd $0xff, %%zmm0, %%zmm0, %%zmm0\n\t"
      "vmovdqa64 %%zmm0, %%zmm15\n\tvmovdqa64 %%zmm0, %%zmm16\n\t"
      "vmovdqa64 %%zmm0, %%zmm31\n\t"
      "lea -128(%%rsp), %%rsp\n\tcall *%1\n\tlea 128(%%rsp), %%rsp\n\t"
      "vmovdqu64 %%zmm0, (%0)\n\tvmovdqu64 %%zmm15, 64(%0)\n\t"
      "vmovdqu64 %%zmm16, 128(%0)\n\tvmovdqu64 %%zmm31, 192(%0)\n\t"
      "vzeroupper"
      :
      : "b"(left.data()), "r"(&clear_vector_registers)
      : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
        "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
        "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",
        "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
  return left;
}

[[gnu::target("avx")]] std::array<std::uint8_t, 64> cleared_ymm() {
  std::array<std::uint8_t, 64> left{};
  asm volatile(
      "vcmptrueps %%ymm0, %%ymm0, %%ymm0\n\tvmovdqa %%ymm0, %%ymm15\n\t"
      "lea -128(%%rsp), %%rsp\n\tcall *%1\n\tlea 128(%%rsp), %%rsp\n\t"
      "vmovdqu %%ymm0, (%0)\n\tvmovdqu %%ymm15, 32(%0)\n\tvzeroupper"
      :
      : "b"(left.data()), "r"(&clear_vector_registers)
      : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
        "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
        "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
  return left;
}

}  // namespace

// memcpy of the C library uses as many registers as the processor has, and as
// many bits of each.
TEST_CASE("secret memory: every vector register is cleared", "[base][secret]") {
  if (__builtin_cpu_supports("avx")) {
    CHECK(cleared_ymm() == std::array<std::uint8_t, 64>{});
  }
  if (__builtin_cpu_supports("avx512vl")) {
    CHECK(cleared_zmm() == std::array<std::uint8_t, 256>{});
  }
}

#endif

}  // namespace acp
