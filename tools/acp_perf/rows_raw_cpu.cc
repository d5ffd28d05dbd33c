// Raw rows of one processor: loads, stores, atomics, memmove.
#include <atomic>
#include <cstring>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

using Word64 = std::atomic<std::uint64_t>;

alignas(128) Word64 private_word;

Verdict run_store(Context& context, Samples& samples) {
  Word64& word = context.area.words().alone;
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples,
          [&] { word.store(++count, std::memory_order_release); });
  return expect(word.load() == count, "stored value not found");
}

Verdict run_store_fence(Context& context, Samples& samples) {
  Word64& word = context.area.words().alone;
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples,
          [&] { word.store(++count, std::memory_order_seq_cst); });
  return expect(word.load() == count, "stored value not found");
}

Verdict run_load(Context& context, Samples& samples) {
  Word64& word = context.area.words().alone;
  word.store(1);
  measure(context.time_ns, 1, samples,
          [&] { keep(word.load(std::memory_order_acquire)); });
  return {};
}

Verdict run_fetch_add(Context& context, Samples& samples, Word64& word) {
  word.store(0);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    keep(word.fetch_add(1, std::memory_order_seq_cst));
    ++count;
  });
  return expect(word.load() == count, "sum is wrong");
}

Verdict run_cas(Context& context, Samples& samples, Word64& word) {
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
Verdict run_call(Context& context, Samples& samples) {
  void (*volatile const call)() noexcept = do_nothing;
  measure(context.time_ns, 1, samples, [&] { call(); });
  return {};
}

Verdict run_memmove(Context& context, Samples& samples, std::uint64_t bytes) {
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

void add_word_row(Rows& rows,
                  const char* name,
                  const char* what,
                  std::function<Verdict(Context&, Samples&)> run) {
  Row row;
  row.name = name;
  row.what = what;
  row.run = std::move(run);
  rows.push_back(std::move(row));
}

}  // namespace

/// The private atomics stand before the shared ones, so that the table shows
/// the price of shared memory where no other rank contends for the word.
void add_raw_cpu_rows(Rows& rows) {
  add_word_row(rows, "raw.store8", "a store to shared memory", run_store);
  add_word_row(rows, "raw.store8.fence",
               "a store and a full fence: the least for a completed put",
               run_store_fence);
  add_word_row(rows, "raw.load8", "a load from shared memory", run_load);
  add_word_row(rows, "raw.fetch_add.private",
               "fetch-and-add of a word of the process, nobody else there",
               [](Context& context, Samples& samples) {
                 return run_fetch_add(context, samples, private_word);
               });
  add_word_row(rows, "raw.fetch_add",
               "fetch-and-add of a shared word, nobody else there",
               [](Context& context, Samples& samples) {
                 return run_fetch_add(context, samples,
                                      context.area.words().alone);
               });
  add_word_row(rows, "raw.cas.private",
               "compare-and-swap of a word of the process, nobody else there",
               [](Context& context, Samples& samples) {
                 return run_cas(context, samples, private_word);
               });
  add_word_row(rows, "raw.cas",
               "compare-and-swap of a shared word, nobody else there",
               [](Context& context, Samples& samples) {
                 return run_cas(context, samples, context.area.words().alone);
               });
  add_word_row(rows, "raw.call",
               "a call of nothing through a pointer, as into a shared library",
               run_call);
  for (const std::uint64_t bytes : kBandwidthSizes) {
    Row row;
    row.name = "raw.memmove." + size_name(bytes);
    row.what = "memmove inside shared memory";
    row.unit = Unit::kBandwidth;
    row.bytes = bytes;
    row.run = [bytes](Context& context, Samples& samples) {
      return run_memmove(context, samples, bytes);
    };
    rows.push_back(std::move(row));
  }
}

}  // namespace acp::perf
