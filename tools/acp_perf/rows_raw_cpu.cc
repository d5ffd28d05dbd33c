// Raw rows of one processor: loads, stores, atomics, memmove. rows.cc lists
// them, and runner.cc runs them. They may call no function of ACP while they
// measure.
#include <atomic>
#include <cstring>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

using Word64 = std::atomic<std::uint64_t>;

alignas(128) Word64 private_word;

/// A word that no other process can reach, or one in the shared area.
enum class Where : std::uint8_t { kPrivate, kShared };

Word64& word_at(Context& context, Where where) {
  return where == Where::kPrivate ? private_word : context.area.words().alone;
}

Outcome run_store(Context& context, Samples& samples) {
  Word64& word = context.area.words().alone;
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples,
          [&] { word.store(++count, std::memory_order_release); });
  return expect(word.load() == count, "stored value not found");
}

Outcome run_store_fence(Context& context, Samples& samples) {
  Word64& word = context.area.words().alone;
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples,
          [&] { word.store(++count, std::memory_order_seq_cst); });
  return expect(word.load() == count, "stored value not found");
}

Outcome run_load(Context& context, Samples& samples) {
  Word64& word = context.area.words().alone;
  word.store(1);
  measure(context.time_ns, 1, samples,
          [&] { keep(word.load(std::memory_order_acquire)); });
  return {};
}

template <Where where>
Outcome run_fetch_add(Context& context, Samples& samples) {
  Word64& word = word_at(context, where);
  word.store(0);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    keep(word.fetch_add(1, std::memory_order_seq_cst));
    ++count;
  });
  return expect(word.load() == count, "sum is wrong");
}

template <Where where>
Outcome run_cas(Context& context, Samples& samples) {
  Word64& word = word_at(context, where);
  word.store(0);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    std::uint64_t expected = count;
    word.compare_exchange_strong(expected, ++count, std::memory_order_seq_cst);
    keep(expected);
  });
  return expect(word.load() == count, "a compare-and-swap failed");
}

[[gnu::noinline]] void do_nothing() noexcept {
  asm volatile("");
}

/// Calls through a pointer in memory, as a procedure linkage table does.
Outcome run_call(Context& context, Samples& samples) {
  void (*volatile const call)() noexcept = do_nothing;
  measure(context.time_ns, 1, samples, [&] { call(); });
  return {};
}

Outcome run_memmove(Context& context, Samples& samples, std::uint64_t bytes) {
  std::byte* source = context.area.source();
  std::byte* destination = context.area.destination();
  fill_pattern(source, bytes, context.row);
  measure(context.time_ns, 1, samples, [&] {
    std::memmove(destination, source, bytes);
    keep(destination);
  });
  return expect(has_pattern(destination, bytes, context.row),
                "copied bytes differ");
}

}  // namespace

Row memmove_row(std::uint64_t bytes) {
  return {.name = "raw.memmove." + size_name(bytes),
          .what = "memmove inside shared memory",
          .unit = Unit::kBandwidth,
          .bytes = bytes,
          .run = [bytes](Context& context, Samples& samples) {
            return run_memmove(context, samples, bytes);
          }};
}

/// The private atomics stand before the shared ones. So the table shows the
/// price of shared memory where no other rank contends for the word.
void add_raw_cpu_rows(Rows& rows) {
  append(
      rows,
      {
          {.name = "raw.store8",
           .what = "a store to shared memory",
           .run = run_store},
          {.name = "raw.store8.fence",
           .what = "a store and a full fence: the least for a completed put",
           .run = run_store_fence},
          {.name = "raw.load8",
           .what = "a load from shared memory",
           .run = run_load},
          {.name = "raw.fetch_add.private",
           .what = "fetch-and-add of a word of the process, nobody else there",
           .run = run_fetch_add<Where::kPrivate>},
          {.name = "raw.fetch_add",
           .what = "fetch-and-add of a shared word, nobody else there",
           .run = run_fetch_add<Where::kShared>},
          {.name = "raw.cas.private",
           .what =
               "compare-and-swap of a word of the process, nobody else there",
           .run = run_cas<Where::kPrivate>},
          {.name = "raw.cas",
           .what = "compare-and-swap of a shared word, nobody else there",
           .run = run_cas<Where::kShared>},
          {.name = "raw.call",
           .what =
               "a call of nothing through a pointer, as into a shared library",
           .run = run_call},
      });
  for (const std::uint64_t bytes : kBandwidthSizes) {
    rows.push_back(memmove_row(bytes));
  }
}

}  // namespace acp::perf
