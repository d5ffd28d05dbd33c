// Protects given pages by mprotect; see protection.h.
#include "hmpi/protection.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <span>

#include "hmpi/log.h"

namespace hmpi {

namespace {

/// False: there is no page, or the kernel refuses it.
bool protect(const Pages& pages, int access) noexcept {
  return pages.bytes != 0 && ::mprotect(pages.begin, pages.bytes, access) == 0;
}

struct sigaction g_action_before;  // NOLINT(*-non-const-global-variables)

/// The instruction runs again after the return, under the action of before.
void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  g_protection.explain(info->si_addr);
  ::sigaction(signal, &g_action_before, nullptr);
}

}  // namespace

constinit Protection g_protection;

void Protection::begin() {
  struct sigaction action {};

  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, &g_action_before);
  is_on_.store(true);
}

void Protection::forbid(void* buffer, std::size_t bytes, int rank, int tag) {
  if (!is_on()) {
    return;
  }
  const Pages pages = whole_pages(buffer, bytes);
  const std::lock_guard lock(lock_);
  if (make_room() && protect(pages, PROT_NONE)) {
    given_[count_++] = {pages, rank, tag};
  }
}

/// Takes memory of the system: memory of malloc may be of the heap, which calls
/// allow() for what comes back to it.
bool Protection::make_room() noexcept {
  if (count_ < room_) {
    return true;
  }
  const std::size_t bytes = room_ * sizeof(Given);
  const std::size_t more = bytes == 0 ? std::size_t{64} << 10 : 2 * bytes;
  void* memory = bytes == 0 ? ::mmap(nullptr, more, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                            : ::mremap(given_, room_ * sizeof(Given), more,
                                       MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) {
    return false;
  }
  given_ = static_cast<Given*>(memory);
  room_ = more / sizeof(Given);
  return true;
}

void Protection::allow(const void* buffer, std::size_t bytes) noexcept {
  if (!is_on()) {
    return;
  }
  // Less than a page, too: the buffer may have been given with more bytes.
  const auto* begin = static_cast<const std::byte*>(buffer);
  const std::byte* end = begin + std::max(bytes, std::size_t{1});
  const std::lock_guard lock(lock_);
  for (std::size_t i = 0; i < count_;) {
    Given& given = given_[i];
    if (given.pages.begin < end &&
        begin < given.pages.begin + given.pages.bytes) {
      (void)protect(given.pages, PROT_READ | PROT_WRITE);
      given = given_[--count_];
    } else {
      ++i;
    }
  }
}

bool Protection::has_given(const void* buffer) noexcept {
  if (!is_on()) {
    return false;
  }
  const auto* at = static_cast<const std::byte*>(buffer);
  const std::lock_guard lock(lock_);
  return std::ranges::any_of(std::span(given_, count_), [&](const Given& each) {
    return at >= each.pages.begin && at < each.pages.begin + each.pages.bytes;
  });
}

/// In a handler of signals, so it takes no lock: the thread that has it may be
/// this one.
void Protection::explain(const void* address) noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  for (const Given& given : std::span(given_, count_)) {
    if (at < given.pages.begin || at >= given.pages.begin + given.pages.bytes) {
      continue;
    }
    std::array<char, 400> text{};
    const int length = std::snprintf(
        text.data(), text.size(),
        "HMPI: error: %s: %p was used, in a buffer that OPI_Give has passed to "
        "rank %d with tag %d: give a copy, or use it after it was taken back\n",
        g_who.data(), address, given.rank, given.tag);
    (void)!::write(STDERR_FILENO, text.data(),
                   static_cast<std::size_t>(length));
    return;
  }
}

}  // namespace hmpi
