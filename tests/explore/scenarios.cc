// Helpers of the lists of scenarios, and the lists of heaps, workspaces and
// channels.
#include "explore/scenarios.h"

#include <utility>

#include "explore/operations.h"

namespace explore {

Scenario& add(Scenarios& all,
              const std::string& name,
              const Operations& before,
              const std::vector<Operations>& programs) {
  Scenario scenario;
  scenario.name = name;
  scenario.structure = name.substr(0, name.find('.'));
  scenario.before = before;
  scenario.programs = programs;
  all.push_back(scenario);
  return all.back();
}

void add_pairs(Scenarios& all,
               const std::string& prefix,
               std::uint64_t variant,
               const Operations& before,
               const std::vector<Named>& first,
               const std::vector<Named>& second) {
  for (const Named& a : first) {
    for (const Named& b : second) {
      add(all, prefix + "." + a.name + "+" + b.name, before,
          {{a.operation}, {b.operation}})
          .variant = variant;
    }
  }
}

void add_bypasses(Scenarios& all,
                  const std::string& structure,
                  const Operations& before,
                  const Operation& one) {
  add(all, structure + ".bypass", before, {{one, one, one}, {one}});
  add(all, structure + ".bypass.three_ranks", before,
      {{one, one, one}, {one}, {one}});
}

namespace {

/// Adds a scenario of the heap without caches, and one with caches. The
/// programs begin without blocks in a cache.
void add_heap(Scenarios& all,
              const std::string& name,
              const Operations& before,
              const std::vector<Operations>& programs) {
  for (const bool has_cache : {false, true}) {
    Scenario& scenario = add(
        all, "malloc." + name + (has_cache ? ".cache" : ""), before, programs);
    scenario.has_cache = has_cache;
    scenario.is_warm = false;
  }
}

}  // namespace

/// Blocks of each kind, and the states of spans that docs/malloc.md names.
void add_heaps(Scenarios& all) {
  constexpr std::uint64_t kSmall = 64;
  constexpr std::uint64_t kQuarterSpan = 4096;  // four blocks of a span
  constexpr std::uint64_t kHalfSpan = 8192;     // two blocks of a span
  constexpr std::uint64_t kRun = 40'000;        // pages of a chunk
  constexpr std::uint64_t kLarge = 150'000;     // more than two chunks
  const Operation free0{heap::kFree, 0, 0};
  const Operation free1{heap::kFree, 1, 0};
  for (const auto& [text, bytes] :
       {std::pair{"small", kSmall}, std::pair{"half_span", kHalfSpan},
        std::pair{"run", kRun}, std::pair{"large", kLarge}}) {
    const Operation allocate{heap::kAllocate, bytes, 0};
    const std::string name = text;
    add_heap(all, name + ".allocate+allocate", {}, {{allocate}, {allocate}});
    add_heap(all, name + ".free+allocate", {allocate}, {{free0}, {allocate}});
    add_heap(all, name + ".free+free", {allocate, allocate},
             {{free0}, {free1}});
    add_heap(all, name + ".free+allocate_last", {allocate, allocate},
             {{free0, allocate}, {free1, allocate}});
    // An own heap and the other rank's at the same time.
    add_heap(all, name + ".both_heaps", {},
             {{allocate, {heap::kAllocate, bytes, 1}},
              {{heap::kAllocate, bytes, 1}, allocate}});
  }
  // Spans of two blocks: a full span that is listed, and a span that is not.
  const Operation half{heap::kAllocate, kHalfSpan, 0};
  const Operation quarter{heap::kAllocate, kQuarterSpan, 0};
  add_heap(all, "full_span.free+allocate", {half, half}, {{free0}, {half}});
  add_heap(all, "unlisted_span.free+free", {half, half, half},
           {{free0}, {free1}});
  add_heap(all, "unlisted_span.free+allocate", {half, half, half},
           {{free0, free1}, {half, half}});
  // The first span of a list is taken off and put back while another rank takes
  // it off.
  add_heap(all, "list_head_returns", {half, half, half, half},
           {{free0, half, free1}, {half, half}});
  // The pages of a span that a rank remembers become a span of another class.
  const Operation trim{heap::kTrim, 0, 0};
  Scenario& other_class = add(all, "malloc.other_class", {half, free0, trim},
                              {{half, half}, {quarter}});
  other_class.before1 = {quarter, quarter, {heap::kFree, 0, 1}, trim};
  other_class.is_warm = false;
  // All chunks but one are in use, and the last chunk has a span whose blocks
  // are free. Rank 0 needs its pages, and rank 1 remembers the span: one of
  // both gets them. A cache would keep them from rank 0.
  Scenario& sweep =
      add(all, "malloc.sweep+allocate", {{heap::kAllocate, 917'000, 0}},
          {{{heap::kAllocateLast, 60'000, 0}},
           {{heap::kAllocateLast, kHalfSpan, 0}}});
  sweep.before1 = {half, {heap::kFree, 0, 1}};
  sweep.has_cache = sweep.is_warm = false;
  const Operation run{heap::kAllocate, kRun, 0};
  const Operation large{heap::kAllocate, kLarge, 0};
  const Operation small{heap::kAllocate, kSmall, 0};
  add_heap(all, "mixed.run+small", {}, {{run}, {small}});
  add_heap(all, "mixed.large+run", {run}, {{large}, {free0}});
  add_heap(all, "mixed.half+quarter", {half, half}, {{free0, quarter}, {half}});
  add_heap(all, "mixed.large+small", {large}, {{free0, small}, {large}});
  add_heap(all, "trim+allocate", {small, small},
           {{free0, trim}, {small, trim}});
  // A program's mistake: both free one run.
  add_heap(all, "double_free", {run},
           {{{heap::kFreeMaybe, 0, 0}}, {{heap::kFreeMaybe, 0, 0}}});
  add(all, "malloc.threads", {}, {{half}, {half}}).threads = {{half}};
}

/// Both ranks use a word of each rank, so no order of their writes is hidden.
/// Creations are agreed on by all ranks.
void add_workspaces(Scenarios& all) {
  const Operation write{workspace::kWrite, 0, 1};
  const Operation write_far{workspace::kWrite, workspace::word_number(1), 2};
  const Operation read{workspace::kRead, 0, 0};
  const Operation read_far{workspace::kRead, workspace::word_number(1), 0};
  const Operations zeros = {{workspace::kWrite, 0, 0},
                            {workspace::kWrite, workspace::word_number(1), 0}};
  add(all, "workspace.write+read", zeros,
      {{write, write_far}, {read_far, read}});
  add(all, "workspace.write+write", zeros,
      {{write, read_far}, {write_far, read}});
  add(all, "workspace.three_ranks", zeros,
      {{write, read_far}, {write_far, read}, {read, read_far}});
  const Operation create{workspace::kCreate, 16, 1};
  add(all, "workspace.create", zeros, {{create}, {create}});
  add(all, "workspace.create.three_ranks", zeros,
      {{create}, {create}, {create}});
  add(all, "workspace.create.again", zeros,
      {{create, create}, {create, create}});
  add(all, "workspace.create.otherwise", zeros,
      {{{workspace::kCreate, 16, 0}}, {{workspace::kCreate, 32, 0}}});
  add(all, "workspace.create.then_right", zeros,
      {{{workspace::kCreate, 16, 0}, create},
       {{workspace::kCreate, 32, 0}, create}});
}

namespace {

/// Adds a channel from rank 0 to rank 1. The owner of channel memory accesses
/// it without the library.
void add_channel(Scenarios& all,
                 const char* name,
                 const Operations& sender,
                 const Operations& receiver) {
  add(all, std::string("channel.") + name, {}, {sender, receiver}).is_direct =
      true;
}

}  // namespace

void add_channels(Scenarios& all) {
  const Operation send{channel::kSend, 1, 1};
  const Operation send2{channel::kSend, 2, 1};
  const Operation receive{channel::kReceive, 0, 1};
  const Operation free{channel::kFree, 0, 0};
  add_channel(all, "one", {send, free}, {receive, free});
  add_channel(all, "two", {send, send2, free}, {receive, receive, free});
  // Larger than the ring: the receiver fetches it, or grants its memory.
  const Operation large{channel::kSend, 3, 1024};
  const Operation receive_large{channel::kReceive, 0, 1024};
  add_channel(all, "large", {large, free}, {receive_large, free});
  add_channel(all, "mixed", {send, large, free},
              {receive, receive_large, free});
  // Each call of the heap waits for a flight.
  add_channel(all, "bare", {send, free}, {receive, free});
  all.back().has_cache = all.back().is_warm = false;
}

std::vector<Scenario> all_scenarios() {
  Scenarios all;
  add_sequences(all);
  add_tables(all);
  add_lists(all);
  add_heaps(all);
  add_workspaces(all);
  add_channels(all);
  add_long_ones(all);
  return all;
}

}  // namespace explore
