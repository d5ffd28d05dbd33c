// Rows of single puts and gets of 8 and 16 bytes, each completed, and of many
// puts with one completion.
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::uint64_t kWindow = 64;
constexpr std::uint64_t kPoison = 0xdeadbeefdeadbeef;

struct Words {
  acp_ga_t target;
  acp_ga_t source;
  acp_ga_t result;
  std::uint64_t* own_source;
  std::uint64_t* own_result;
};

Words words_of(const Context& context) {
  const Memory& memory = context.memory;
  return {memory.word(context.target, Word::kTarget),
          memory.word(context.rank, Word::kSource),
          memory.word(context.rank, Word::kResult),
          memory.own_word(Word::kSource), memory.own_word(Word::kResult)};
}

template <std::size_t bytes>
Verdict run_put(Context& context, Samples& samples) {
  const Words words = words_of(context);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    *words.own_source = ++count;
    acp_complete(acp_copy(words.target, words.source, bytes, ACP_HANDLE_NULL));
  });
  return expect(context.memory.get_word(context.target, Word::kTarget) == count,
                "the target does not hold the last value put");
}

template <std::size_t bytes>
Verdict run_get(Context& context, Samples& samples) {
  const Words words = words_of(context);
  const std::uint64_t value = context.row * 0x9e3779b97f4a7c15;
  context.memory.put_word(context.target, Word::kTarget, value);
  *words.own_result = kPoison;
  bool ok = true;
  measure(context.time_ns, 1, samples, [&] {
    acp_complete(acp_copy(words.result, words.target, bytes, ACP_HANDLE_NULL));
    ok &= *words.own_result == value;
  });
  return expect(ok, "a value got is not the target's");
}

template <std::size_t bytes>
Verdict run_put_rate(Context& context, Samples& samples) {
  const Words words = words_of(context);
  std::uint64_t count = 0;
  measure(context.time_ns, kWindow, samples, [&] {
    *words.own_source = ++count;
    acp_handle_t last = ACP_HANDLE_NULL;
    for (std::uint64_t i = 0; i < kWindow; ++i) {
      last = acp_copy(words.target, words.source, bytes, ACP_HANDLE_NULL);
    }
    acp_complete(last);
  });
  return expect(context.memory.get_word(context.target, Word::kTarget) == count,
                "the target does not hold the last value put");
}

void add_row(Rows& rows,
             const char* name,
             const char* what,
             Unit unit,
             const char* raw_direct,
             const char* raw_network,
             const char* raw_rdma,
             Verdict (*run)(Context&, Samples&)) {
  Row row;
  row.name = name;
  row.what = what;
  row.unit = unit;
  row.raw_direct = raw_direct;
  row.raw_network = raw_network;
  row.raw_rdma = raw_rdma;
  row.run = run;
  rows.push_back(std::move(row));
}

}  // namespace

void add_access_rows(Rows& rows) {
  add_row(rows, "put8", "acp_copy of 8 bytes to the target, and acp_complete",
          Unit::kTime, "raw.store8.fence", "raw.udp", "raw.rdma.put",
          run_put<8>);
  add_row(rows, "get8", "acp_copy of 8 bytes from the target, and acp_complete",
          Unit::kTime, "raw.load8", "raw.udp", "raw.rdma.get", run_get<8>);
  add_row(rows, "put8.rate", "64 puts of 8 bytes, then one acp_complete",
          Unit::kRate, "raw.store8", "", "", run_put_rate<8>);
  // No copy of 16 bytes has to be seen whole. So a NIC that writes no word of 8
  // bytes whole, and leaves put8 to messages, still executes put16 by itself.
  add_row(rows, "put16", "the same as put8 with 16 bytes", Unit::kTime, "put8",
          "put8", "raw.rdma.put", run_put<16>);
  add_row(rows, "get16", "the same as get8 with 16 bytes", Unit::kTime, "get8",
          "get8", "raw.rdma.get", run_get<16>);
  add_row(rows, "put16.rate", "the same as put8.rate with 16 bytes",
          Unit::kRate, "put8.rate", "put8.rate", "", run_put_rate<16>);
}

}  // namespace acp::perf
