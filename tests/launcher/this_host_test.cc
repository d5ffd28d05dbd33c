// Tests whether a name means this host when the resolver has to be asked. This
// program defines getaddrinfo itself, so the launcher's code asks a resolver of
// the test.
#include "launcher/this_host.h"

#include <netdb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <catch2/catch.hpp>

#include "base/host_facts.h"

namespace {

/// The answer of the resolver; a null pointer has it never answer. Each case
/// sets it before it asks.
const char* canonical_name = nullptr;

}  // namespace

extern "C" int getaddrinfo(const char* /*name*/,
                           const char* /*service*/,
                           const addrinfo* /*hints*/,
                           addrinfo** pai) {
  while (canonical_name == nullptr) {
    ::pause();
  }
  *pai = static_cast<addrinfo*>(std::calloc(1, sizeof(addrinfo)));
  (*pai)->ai_canonname = ::strdup(canonical_name);
  return 0;
}

extern "C" void freeaddrinfo(addrinfo* ai) {
  std::free(ai->ai_canonname);
  std::free(ai);
}

namespace acp::launcher {

TEST_CASE("this host: the resolver's name for it", "[launcher][nodefile]") {
  const std::string full = host_name() + ".resolved.invalid";
  canonical_name = full.c_str();
  CHECK(is_this_host(full));
  CHECK_FALSE(is_this_host(host_name() + ".another.invalid"));
}

TEST_CASE("this host: a resolver that never answers stops no start",
          "[launcher][nodefile]") {
  canonical_name = nullptr;
  ::alarm(60);  // ends this program if the question has no limit
  CHECK_FALSE(is_this_host(host_name() + ".resolved.invalid"));
  ::alarm(0);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

}  // namespace acp::launcher
