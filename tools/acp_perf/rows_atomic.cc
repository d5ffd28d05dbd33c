// Rows of each atomic in 4 and 8 bytes, with its completion. Each row keeps a
// model of the word, and compares it with every old value and the final word.
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

/// Runs one atomic. `issue(dst, src, old, operand)` starts it on a word that
/// holds `old`; `next(old, operand)` is the value of the word afterwards.
template <typename T, typename Issue, typename Next>
Verdict run_atomic(Context& context,
                   Samples& samples,
                   const Issue& issue,
                   const Next& next) {
  const Memory& memory = context.memory;
  const acp_ga_t target = memory.word(context.target, Word::kTarget);
  const acp_ga_t result = memory.word(context.rank, Word::kResult);
  const auto* old = reinterpret_cast<T*>(memory.own_word(Word::kResult));
  const std::uint64_t start = context.row * 0x9e3779b97f4a7c15;
  memory.put_word(context.target, Word::kTarget, start);
  T model = static_cast<T>(start);
  T operand = 0;
  bool ok = true;
  measure(context.time_ns, 1, samples, [&] {
    operand = static_cast<T>(operand * 5 + 0x2545f491);
    acp_complete(issue(result, target, model, operand));
    ok &= *old == model;
    model = next(model, operand);
  });
  const auto word =
      static_cast<T>(memory.get_word(context.target, Word::kTarget));
  return expect(ok && word == model,
                "an old value or the word is not what it has to be");
}

constexpr std::string_view kAdd = "raw.fetch_add";
constexpr std::string_view kCas = "raw.cas";
constexpr acp_handle_t kNow = ACP_HANDLE_NULL;

template <typename T, typename Issue, typename Next>
void add_row(Rows& rows,
             const char* name,
             std::string_view raw,
             Issue issue,
             Next next) {
  Row row;
  row.name = name + std::to_string(sizeof(T));
  row.what = "acp_" + row.name + " and acp_complete";
  row.raw_direct = raw;
  row.raw_network = "raw.udp";
  row.raw_rdma = raw == kAdd ? "raw.rdma.add" : "raw.rdma.cas";
  row.run = [issue, next](Context& context, Samples& samples) {
    return run_atomic<T>(context, samples, issue, next);
  };
  rows.push_back(std::move(row));
}

/// Adds the 4-byte rows. Every compare-and-swap succeeds, since it expects the
/// value of the model.
void add_rows_of_4(Rows& rows) {
  using T = std::uint32_t;
  using Ga = acp_ga_t;
  const auto second = [](T, T value) {
    return value;
  };
  add_row<T>(
      rows, "add", kAdd,
      [](Ga dst, Ga src, T, T v) { return acp_add4(dst, src, v, kNow); },
      [](T old, T value) { return old + value; });
  add_row<T>(
      rows, "cas", kCas,
      [](Ga dst, Ga src, T old, T v) {
        return acp_cas4(dst, src, old, v, kNow);
      },
      second);
  add_row<T>(
      rows, "swap", kAdd,
      [](Ga dst, Ga src, T, T v) { return acp_swap4(dst, src, v, kNow); },
      second);
  add_row<T>(
      rows, "and", kCas,
      [](Ga dst, Ga src, T, T v) { return acp_and4(dst, src, v, kNow); },
      [](T old, T value) { return old & value; });
  add_row<T>(
      rows, "or", kCas,
      [](Ga dst, Ga src, T, T v) { return acp_or4(dst, src, v, kNow); },
      [](T old, T value) { return old | value; });
  add_row<T>(
      rows, "xor", kCas,
      [](Ga dst, Ga src, T, T v) { return acp_xor4(dst, src, v, kNow); },
      [](T old, T value) { return old ^ value; });
}

/// Adds the 8-byte rows in the order of the 4-byte rows.
void add_rows_of_8(Rows& rows) {
  using T = std::uint64_t;
  using Ga = acp_ga_t;
  const auto second = [](T, T value) {
    return value;
  };
  add_row<T>(
      rows, "add", kAdd,
      [](Ga dst, Ga src, T, T v) { return acp_add8(dst, src, v, kNow); },
      [](T old, T value) { return old + value; });
  add_row<T>(
      rows, "cas", kCas,
      [](Ga dst, Ga src, T old, T v) {
        return acp_cas8(dst, src, old, v, kNow);
      },
      second);
  add_row<T>(
      rows, "swap", kAdd,
      [](Ga dst, Ga src, T, T v) { return acp_swap8(dst, src, v, kNow); },
      second);
  add_row<T>(
      rows, "and", kCas,
      [](Ga dst, Ga src, T, T v) { return acp_and8(dst, src, v, kNow); },
      [](T old, T value) { return old & value; });
  add_row<T>(
      rows, "or", kCas,
      [](Ga dst, Ga src, T, T v) { return acp_or8(dst, src, v, kNow); },
      [](T old, T value) { return old | value; });
  add_row<T>(
      rows, "xor", kCas,
      [](Ga dst, Ga src, T, T v) { return acp_xor8(dst, src, v, kNow); },
      [](T old, T value) { return old ^ value; });
}

}  // namespace

void add_atomic_rows(Rows& rows) {
  add_rows_of_4(rows);
  add_rows_of_8(rows);
}

}  // namespace acp::perf
