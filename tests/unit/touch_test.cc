// Probing memory by touching it, with faults caught by a signal handler.
#include "base/touch.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/memory_map.h"

namespace acp::gmm {

namespace {

constexpr std::size_t kPage = 4096;

/// Mapped pages between two pages that are not mapped.
class Pages {
 public:
  explicit Pages(std::size_t count, int flags = 0)
      : size_(count * kPage),
        all_(static_cast<std::byte*>(::mmap(nullptr,
                                            size_ + 2 * kPage,
                                            PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | flags,
                                            -1,
                                            0))) {
    REQUIRE(all_ != MAP_FAILED);
    REQUIRE(::munmap(all_, kPage) == 0);
    REQUIRE(::munmap(all_ + kPage + size_, kPage) == 0);
  }

  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  ~Pages() { ::munmap(start(), size_); }

  std::byte* start() const { return all_ + kPage; }

  void protect(std::size_t page, int protection) const {
    REQUIRE(::mprotect(start() + page * kPage, kPage, protection) == 0);
  }

  void unmap(std::size_t page) const {
    REQUIRE(::munmap(start() + page * kPage, kPage) == 0);
  }

 private:
  std::size_t size_;
  std::byte* all_;
};

MemoryMap::Obstacle obstacle_in(MemoryMap& map,
                                const std::byte* address,
                                std::size_t size) {
  return map.find_obstacle(reinterpret_cast<std::uintptr_t>(address), size);
}

}  // namespace

// The third of four pages is protected in each way, and unmapped. A touch must
// change no byte.
TEST_CASE("touch: tells memory that is there from memory that is not",
          "[gmm][touch]") {
  const FaultHandler handler;
  const Pages pages(4);
  std::memset(pages.start(), 7, 4 * kPage);
  CHECK(can_touch(pages.start() + 5, 4 * kPage - 5, Access::kRead));
  CHECK(can_touch(pages.start() + 5, 4 * kPage - 5, Access::kWrite));
  pages.protect(2, PROT_READ);
  CHECK(can_touch(pages.start(), 4 * kPage, Access::kRead));
  CHECK_FALSE(can_touch(pages.start(), 4 * kPage, Access::kWrite));
  CHECK(can_touch(pages.start(), 2 * kPage, Access::kWrite));
  CHECK_FALSE(can_touch(pages.start() + 2 * kPage - 1, 2, Access::kWrite));
  pages.protect(2, PROT_NONE);
  CHECK_FALSE(can_touch(pages.start(), 4 * kPage, Access::kRead));
  pages.unmap(2);
  CHECK_FALSE(can_touch(pages.start(), 4 * kPage, Access::kRead));
  CHECK_FALSE(can_touch(pages.start() + 2 * kPage, 1, Access::kWrite));
  CHECK(can_touch(pages.start() + 3 * kPage, kPage, Access::kWrite));
  for (const std::size_t at : {std::size_t{0}, 2 * kPage - 1, 4 * kPage - 1}) {
    CHECK(pages.start()[at] == std::byte{7});
  }
}

TEST_CASE("touch: copies memory that is there, and says when it is not",
          "[touch]") {
  const FaultHandler handler;
  const Pages pages(3);
  std::memset(pages.start(), 7, 3 * kPage);
  std::vector<std::byte> copy(2 * kPage);
  CHECK(copy_if_mapped(copy.data(), pages.start() + 5, copy.size()));
  CHECK(
      std::ranges::all_of(copy, [](std::byte b) { return b == std::byte{7}; }));
  pages.unmap(1);
  CHECK_FALSE(copy_if_mapped(copy.data(), pages.start() + 5, copy.size()));
  CHECK(copy_if_mapped(copy.data(), pages.start(), kPage));
  CHECK(copy_if_mapped(copy.data(), pages.start() + 2 * kPage, kPage));
}

TEST_CASE("touch: also in a thread that blocks all signals", "[gmm][touch]") {
  const FaultHandler handler;
  const Pages pages(1);
  pages.protect(0, PROT_NONE);
  bool can = true;
  std::thread([&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    can = can_touch(pages.start(), kPage, Access::kRead);
  }).join();
  CHECK_FALSE(can);
}

TEST_CASE("touch: faults of the program end it as before", "[gmm][touch]") {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // sanitizers have handlers of their own
    const FaultHandler handler;
    const Pages pages(1);
    pages.protect(0, PROT_NONE);
    (void)can_touch(pages.start(), kPage, Access::kRead);
    *const_cast<volatile std::byte*>(pages.start()) = std::byte{1};
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}

TEST_CASE("memory map: refuses what is not mapped or read-only",
          "[gmm][memory_map]") {
  MemoryMap map;
  const Pages pages(4);
  pages.protect(2, PROT_READ);
  const auto read_only = obstacle_in(map, pages.start(), 4 * kPage);
  CHECK(read_only.text == "is mapped r--p");
  CHECK(read_only.address ==
        reinterpret_cast<std::uintptr_t>(pages.start() + 2 * kPage));
  CHECK(obstacle_in(map, pages.start(), 2 * kPage).text.empty());
  CHECK(obstacle_in(map, pages.start() + 1, 2 * kPage).text ==
        "is mapped r--p");
  CHECK(obstacle_in(map, pages.start() - 1, 2).text == "is not mapped");
  CHECK(obstacle_in(map, pages.start() + 4 * kPage - 1, 2).text ==
        "is not mapped");
  // This page was mapped after the last look.
  const Pages more(2);
  CHECK(obstacle_in(map, more.start(), 2 * kPage).text.empty());
  std::byte on_stack{};
  CHECK(obstacle_in(map, &on_stack, 1).text.empty());
}

TEST_CASE("memory map: touches no page of a region", "[gmm][memory_map]") {
  constexpr std::size_t kPages = (std::size_t{1} << 30) / kPage;
  MemoryMap map;
  const Pages pages(kPages, MAP_NORESERVE);
  CHECK(obstacle_in(map, pages.start(), kPages * kPage).text.empty());
  std::vector<unsigned char> is_resident(kPages);
  REQUIRE(::mincore(pages.start(), kPages * kPage, is_resident.data()) == 0);
  std::size_t resident = 0;
  for (const unsigned char page : is_resident) {
    resident += page & 1U;
  }
  CHECK(resident == 0);
}

}  // namespace acp::gmm
