// Tests of acpx_hold_job and acpx_release_job: a layer above ACP and a program
// share a job. `hold MODE`, with a main() of its own, on any number of ranks.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "acp.h"
#include "acp/extension.h"
#include "conformance/expect.h"

namespace {

#define EXPECT_FAILS(call, code) EXPECT_FAILURE(call, -1, code)

int g_begins = 0;
int g_ends = 0;

int begin_module(void* /*arg*/) {
  ++g_begins;
  return acp_sync();
}

int end_module(void* /*arg*/) {
  ++g_ends;
  return acp_sync();
}

/// A module of the program, with a word that the right neighbour writes.
int add_module() {
  acpx_module_t module{};
  module.name = "of the program";
  module.bytes = 128;
  module.init = begin_module;
  module.fini = end_module;
  return acpx_add_module(&module);
}

void use_module(int module) {
  const int rank = acp_rank();
  const int right = (rank + 1) % acp_procs();
  const acp_ga_t mine = acpx_module_ga(module, rank);
  auto* words = static_cast<std::uint64_t*>(acp_query_address(mine));
  EXPECT(words[0] == 0);  // The left neighbour may have written words[1].
  words[0] = 42 + static_cast<std::uint64_t>(rank);
  acp_complete(
      acp_copy(acpx_module_ga(module, right) + 8, mine, 8, ACP_HANDLE_NULL));
  EXPECT(acp_sync() == 0);
  const int left = (rank + acp_procs() - 1) % acp_procs();
  EXPECT(words[1] == 42 + static_cast<std::uint64_t>(left));
}

/// A block of the layer, in memory that stays mapped.
unsigned char* take_block() {
  const acp_ga_t block = acp_malloc(100'000, acp_rank());
  EXPECT(block != ACP_GA_NULL);
  auto* bytes = static_cast<unsigned char*>(acpx_pointer(block));
  EXPECT(bytes != nullptr);
  std::memset(bytes, 0x5A, 100'000);
  return bytes;
}

bool is_whole(const unsigned char* bytes) {
  for (int i = 0; i < 100'000; ++i) {
    if (bytes[i] != 0x5A) return false;
  }
  return true;
}

/// The layer begins the job; the program knows nothing of it.
void begin_by_layer(int argc, char** argv) {
  EXPECT(acpx_hold_job() == 0);
  EXPECT_FAILS(acpx_hold_job(), ACPX_ALREADY_INITIALIZED);
  EXPECT_FAILS(acp_finalize(), ACPX_NOT_INITIALIZED);
  EXPECT_FAILS(acp_reset(acp_rank()), ACPX_UNSUPPORTED);
  unsigned char* block = take_block();
  const int module = add_module();
  EXPECT(module >= 0);
  EXPECT(g_begins == 0);
  EXPECT(acp_init(&argc, &argv) == 0);
  EXPECT(argc == 3 && std::string_view(argv[2]) == "mine");
  EXPECT(g_begins == 1);
  EXPECT_FAILS(acp_init(nullptr, nullptr), ACPX_ALREADY_INITIALIZED);
  EXPECT_FAILS(add_module(), ACPX_ALREADY_INITIALIZED);
  use_module(module);
  EXPECT(acp_finalize() == 0);
  EXPECT(g_ends == 1);
  EXPECT_FAILS(acp_finalize(), ACPX_NOT_INITIALIZED);
  EXPECT_FAILS(acp_init(nullptr, nullptr), ACPX_FINALIZED);
  EXPECT(acp_sync() == 0);  // The layer goes on.
  EXPECT(acpx_release_job() == 0);
  EXPECT(g_ends == 1);
  EXPECT_FAILS(acp_sync(), ACPX_FINALIZED);
  EXPECT(is_whole(block));
  std::memset(block, 0, 100'000);
}

/// The program begins the job, and leaves it before the layer does.
void begin_by_program(bool layer_is_last) {
  const int module = add_module();
  EXPECT(acp_init(nullptr, nullptr) == 0);
  EXPECT(acpx_hold_job() == 0);
  EXPECT_FAILS(acp_init(nullptr, nullptr), ACPX_ALREADY_INITIALIZED);
  unsigned char* block = take_block();
  use_module(module);
  if (layer_is_last) {
    EXPECT(acp_finalize() == 0);
    EXPECT(g_begins == 1 && g_ends == 1);
    EXPECT(acp_procs() > 0 && is_whole(block));
    EXPECT(acpx_release_job() == 0);
  } else {
    EXPECT(acpx_release_job() == 0);
    EXPECT(acp_procs() > 0);
    EXPECT(g_ends == 0);
    EXPECT(acp_finalize() == 0);
  }
  EXPECT(g_begins == 1 && g_ends == 1);
  EXPECT_FAILS(acp_sync(), ACPX_FINALIZED);
  EXPECT_FAILS(acpx_hold_job(), ACPX_FINALIZED);
  EXPECT_FAILS(acpx_release_job(), ACPX_INVALID_ARGUMENT);
  EXPECT(is_whole(block));
}

/// The program never calls ACP.
void layer_alone() {
  EXPECT_FAILS(acpx_release_job(), ACPX_INVALID_ARGUMENT);
  EXPECT(acpx_hold_job() == 0);
  EXPECT(acp_sync() == 0);
  EXPECT(acpx_release_job() == 0);
}

/// Runs a child in which `change` writes the block, and answers with its
/// status.
template <typename Change>
int status_of_child(Change change) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(change());
  }
  int status = -1;
  EXPECT(::waitpid(child, &status, 0) == child);
  return status;
}

/// The parent and the other ranks never see what a child writes.
void fork_children() {
  EXPECT(acpx_hold_job() == 0);
  unsigned char* block = take_block();
  const auto change = [block] {
    const bool was_whole = is_whole(block);
    std::memset(block, 1, 100'000);
    acp_errno = 0;
    const bool fails = acpx_release_job() == -1 && acp_sync() == -1;
    return was_whole && block[99'999] == 1 && fails ? 0 : 1;
  };
  EXPECT(status_of_child(change) == 0);
  EXPECT(is_whole(block));
  EXPECT(acpx_release_job() == 0);
  EXPECT(status_of_child(change) == 0);
  EXPECT(is_whole(block));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "layer-begins") {
    begin_by_layer(argc, argv);
  } else if (mode == "program-begins") {
    begin_by_program(true);
  } else if (mode == "layer-ends-first") {
    begin_by_program(false);
  } else if (mode == "layer-alone") {
    layer_alone();
  } else if (mode == "fork") {
    fork_children();
  } else {
    std::fprintf(stderr, "hold: no mode '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
  }
  return g_failures == 0 ? 0 : 1;
}
