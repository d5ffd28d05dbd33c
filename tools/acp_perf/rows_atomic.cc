// Rows of each atomic in 4 and 8 bytes, with its completion. Each row keeps a
// model of the word, and compares it with every old value and the final word.
// rows.cc lists them, and runner.cc runs them. No other rank may change the
// word meanwhile.
#include <type_traits>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

#include "atomic_loop.inc"

template <typename T>
T both(T old, T operand) {
  return old & operand;
}

template <typename T>
T either(T old, T operand) {
  return old | operand;
}

template <typename T>
T differ(T old, T operand) {
  return old ^ operand;
}

struct AtomicRow {
  const char* function;    ///< Its name without "acp_".
  const char* raw;         ///< The row, behind "raw.", that does as much.
  const char* raw_device;  ///< Behind "raw.rdma." and "raw.ucp.".
  Outcome (*run)(Context&, Samples&);
};

using U4 = std::uint32_t;
using U8 = std::uint64_t;

constexpr AtomicRow kRows[] = {
    {"add4", "fetch_add", "add", run_atomic<U4, acp_add4, sum<U4>>},
    {"cas4", "cas", "cas", run_atomic<U4, acp_cas4, second<U4>>},
    {"swap4", "fetch_add", "add", run_atomic<U4, acp_swap4, second<U4>>},
    {"and4", "cas", "cas", run_atomic<U4, acp_and4, both<U4>>},
    {"or4", "cas", "cas", run_atomic<U4, acp_or4, either<U4>>},
    {"xor4", "cas", "cas", run_atomic<U4, acp_xor4, differ<U4>>},
    {"add8", "fetch_add", "add", run_atomic<U8, acp_add8, sum<U8>>},
    {"cas8", "cas", "cas", run_atomic<U8, acp_cas8, second<U8>>},
    {"swap8", "fetch_add", "add", run_atomic<U8, acp_swap8, second<U8>>},
    {"and8", "cas", "cas", run_atomic<U8, acp_and8, both<U8>>},
    {"or8", "cas", "cas", run_atomic<U8, acp_or8, either<U8>>},
    {"xor8", "cas", "cas", run_atomic<U8, acp_xor8, differ<U8>>},
};

}  // namespace

void add_atomic_rows(Rows& rows) {
  for (const AtomicRow& row : kRows) {
    rows.push_back(
        {.name = row.function,
         .what = std::string("acp_") + row.function + " and acp_complete",
         .raw_direct = std::string("raw.") + row.raw,
         .raw_network = "raw.udp",
         .raw_rdma = std::string("raw.rdma.") + row.raw_device,
         .raw_ucp = std::string("raw.ucp.") + row.raw_device,
         .run = row.run});
  }
}

}  // namespace acp::perf
