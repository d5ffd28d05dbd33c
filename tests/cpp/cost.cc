// Runs one operation many times, by acp.hpp or by acp.h, for a count of its
// instructions: cpp_cost {cpp|c} OPERATION. cost_test.sh counts in
// measure(). The operations go to memory of this rank, which takes the fewest
// instructions inside of the library: the share of acp.hpp is the largest.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acp/acp.hpp"

namespace {

constexpr int kTimes = 2000;

struct Setting {
  acp::allocated<std::uint64_t> words{64};
  acp::map<std::uint64_t, std::uint64_t> map{1000};
  acp::vector<std::uint64_t> vector{0};
};

/// The checks that a careful program in C has.
void check(bool is_good) {
  if (!is_good) acp_abort("cpp_cost");
}

void run_cpp(Setting& s, const char* what) {
  const acp::global_ptr<std::uint64_t> word = s.words.ptr();
  std::uint64_t sum = 0;
  const auto repeat = [](const auto& call) {
    for (std::uint64_t i = 0; i < kTimes; ++i)
      call(i);
  };
  if (std::strcmp(what, "put8") == 0) {
    repeat([&](std::uint64_t i) { acp::async_put(word, i); });
  } else if (std::strcmp(what, "get8") == 0) {
    repeat([&](std::uint64_t) { sum += acp::get(word); });
  } else if (std::strcmp(what, "add8") == 0) {
    repeat([&](std::uint64_t i) { acp::async_add(word, i); });
  } else if (std::strcmp(what, "find") == 0) {
    repeat([&](std::uint64_t i) { sum += *s.map.find(i % 500); });
  } else if (std::strcmp(what, "push") == 0) {
    repeat([&](std::uint64_t i) { s.vector.push_back(i); });
  } else {
    std::abort();
  }
  acp::wait_all();
  check(sum != 1);
}

void run_c(Setting& s, const char* what) {
  const acp_ga_t word = s.words.ptr().ga();
  const acp_ga_t mine = word + 64;
  auto* memory = static_cast<std::uint64_t*>(acp_query_address(mine));
  const acp_map_t map = s.map.handle();
  const acp_vector_t vector = s.vector.handle();
  std::uint64_t sum = 0;
  const auto repeat = [](const auto& call) {
    for (std::uint64_t i = 0; i < kTimes; ++i)
      call(i);
  };
  if (std::strcmp(what, "put8") == 0) {
    repeat([&](std::uint64_t i) {
      acpx_op_t op;
      op.opcode = ACPX_PUT8;
      op.flags = 0;
      op.remote = word;
      op.local = ACP_GA_NULL;
      op.size = 8;
      op.operand = i;
      op.compare = 0;
      check(acpx_post(&op, 1, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    });
  } else if (std::strcmp(what, "get8") == 0) {
    repeat([&](std::uint64_t) {
      const acp_handle_t handle = acp_copy(mine, word, 8, ACP_HANDLE_NULL);
      check(handle != ACP_HANDLE_NULL);
      check(acpx_complete_timeout(handle, -1) == 0);
      sum += *memory;
    });
  } else if (std::strcmp(what, "add8") == 0) {
    repeat([&](std::uint64_t i) {
      check(acp_add8(mine, word, i, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    });
  } else if (std::strcmp(what, "find") == 0) {
    repeat([&](std::uint64_t i) {
      *memory = i % 500;
      acp_errno = 0;
      check(acp_retrieve_map(map, {{mine, 8}, {mine + 8, 8}}) == 8 &&
            acp_errno == 0);
      sum += memory[1];
    });
  } else if (std::strcmp(what, "push") == 0) {
    repeat([&](std::uint64_t i) {
      *memory = i;
      acp_errno = 0;
      acp_push_back_vector(vector, mine, 8);
      check(acp_errno == 0);
    });
  } else {
    std::abort();
  }
  acp_complete(ACP_HANDLE_ALL);
  check(sum != 1);
}

}  // namespace

/// The function whose instructions are counted, by its name.
extern "C" [[gnu::noinline]] void measure(Setting& s,
                                          const char* by,
                                          const char* what) {
  std::strcmp(by, "c") == 0 ? run_c(s, what) : run_cpp(s, what);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: cpp_cost {cpp|c} OPERATION\n");
    return 2;
  }
  const acp::job job;
  Setting s;
  for (std::uint64_t i = 0; i < 500; ++i)
    s.map.insert(i, i);
  acp::get(s.words.ptr());  // makes the landing
  s.vector.reserve(1 << 16);
  measure(s, argv[1], argv[2]);
  return 0;
}
