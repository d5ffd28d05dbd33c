// Tests of acpx_add_module and acpx_module_ga: order of calls, memory, resets.
// It prints nothing itself: the harness's main() runs the cases, and a
// destructor checks the calls that acp_finalize has made.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

constexpr std::size_t kBytes = 1000;

/// The calls so far: "+a" is the init of a, "-a" its fini.
std::string& events() {
  static std::string text;
  return text;
}

struct Module {
  char name = 0;
  std::size_t bytes = 0;
  int number = -1;
};

Module g_modules[] = {{'a', kBytes}, {'b', 0}, {'c', 3 * kBytes}};

/// Checks that the memory is zeroed, aligned, of that rank, and not part of
/// another module's.
void check_memory(const Module& module) {
  if (module.bytes == 0) return;
  const acp_ga_t mine = acpx_module_ga(module.number, acp_rank());
  EXPECT(mine != ACP_GA_NULL);
  EXPECT_EQ(mine % 64, 0U);
  auto* bytes = static_cast<unsigned char*>(acp_query_address(mine));
  EXPECT(bytes != nullptr);
  for (std::size_t i = 0; i < module.bytes; ++i) {
    EXPECT_EQ(int{bytes[i]}, 0);
  }
}

int init(void* arg) {
  const auto& module = *static_cast<Module*>(arg);
  events() += '+';
  events() += module.name;
  check_memory(module);
  // Everything works in an init function, also barriers and operations.
  EXPECT_EQ(acp_sync(), 0);
  if (module.bytes != 0) {
    const acp_ga_t right =
        acpx_module_ga(module.number, spmd::right_of(acp_rank()));
    const acp_ga_t mine = acpx_module_ga(module.number, acp_rank());
    auto* words = static_cast<std::uint64_t*>(acp_query_address(mine));
    words[0] = 0xfeed;
    EXPECT_DONE(acp_copy(right + 8, mine, 8, ACP_HANDLE_NULL));
    EXPECT_EQ(acp_sync(), 0);
    EXPECT_EQ(words[1], 0xfeedU);
  }
  return 0;
}

int fini(void* arg) {
  const auto& module = *static_cast<Module*>(arg);
  events() += '-';
  events() += module.name;
  EXPECT_EQ(acp_sync(), 0);
  if (module.bytes != 0) {
    auto* words = static_cast<std::uint64_t*>(
        acp_query_address(acpx_module_ga(module.number, acp_rank())));
    EXPECT_EQ(words[1], 0xfeedU);
  }
  return 0;
}

/// Adds the modules before main(), checks the end after it.
class Registration {
 public:
  Registration() {
    for (Module& module : g_modules) {
      acpx_module_t description{};
      description.name = "test";
      description.bytes = module.bytes;
      description.init = init;
      description.fini = fini;
      description.arg = &module;
      module.number = acpx_add_module(&description);
    }
    events();  // The caller keeps it alive longer than this object.
  }

  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  ~Registration() {
    if (events().empty()) return;  // --list
    const std::string& text = events();
    const bool is_right = text == "+a+b+c-c-b-a+a+b+c-c-b-a";
    if (!is_right) {
      std::fprintf(stderr, "modules were called as %s\n", text.c_str());
      _exit(1);
    }
  }
};

const Registration kRegistration;

}  // namespace

SPMD_CASE(acpx_add_module_numbers,
          "acpx_add_module: numbers from 0 on, too late after acp_init") {
  for (std::size_t i = 0; i < std::size(g_modules); ++i) {
    EXPECT(g_modules[i].number >= 0);
    EXPECT(i == 0 || g_modules[i].number > g_modules[i - 1].number);
  }
  acpx_module_t late{};
  late.name = "late";
  EXPECT_FAILS(acpx_add_module(&late), -1, ACPX_ALREADY_INITIALIZED);
}

SPMD_CASE(acpx_module_ga_addresses,
          "acpx_module_ga: of every rank; no module, no rank fail") {
  for (int rank = 0; rank < acp_procs(); ++rank) {
    EXPECT_EQ(acp_query_rank(acpx_module_ga(g_modules[0].number, rank)), rank);
  }
  EXPECT_FAILS(acpx_module_ga(-1, 0), ACP_GA_NULL, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_module_ga(1000, 0), ACP_GA_NULL, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_module_ga(g_modules[0].number, -1), ACP_GA_NULL,
               ACPX_BAD_RANK);
  EXPECT_FAILS(acpx_module_ga(g_modules[0].number, acp_procs()), ACP_GA_NULL,
               ACPX_BAD_RANK);
  EXPECT_EQ(events(), "+a+b+c");
}

SPMD_CASE(modules_and_acp_reset,
          "acp_reset: fini in reverse order, init in order, memory zero") {
  EXPECT_EQ(acp_reset(spmd::right_of(acp_rank())), 0);
  EXPECT_EQ(events(), "+a+b+c-c-b-a+a+b+c");
}
