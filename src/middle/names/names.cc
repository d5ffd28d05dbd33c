// Publishing, looking up and removing of names. Called by names_api.cc. A name
// lives on the rank that its hash chooses, in a map there that the first
// publisher makes. Nothing here is collective, and no rank pays for names that
// it neither publishes nor owns.
#include "middle/names/names.h"

#include <sched.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/printable.h"
#include "middle/log.h"
#include "middle/structure/chain.h"
#include "middle/structure/control.h"
#include "middle/structure/waiting.h"
#include "middle/table/table.h"
#include "middle/table/whole_tables.h"

namespace acp::middle::names {

using structure::Backoff;
using structure::Call;
using structure::Chain;
using structure::Kind;
using structure::NamedCall;
using structure::Scratch;
using structure::Site;

namespace {

/// A rank's word: 0, kBeingMade, or the handle of the map with the names that
/// the rank owns. Only the library's atomics change it.
constexpr std::uint64_t kBeingMade = 1;
constexpr std::size_t kModuleBytes = 64;

/// The map is made for so many names of one rank: 32 KiB. More make its buckets
/// overflow, and lookups take a flight more for each five in a bucket.
constexpr int kNamesOfRank = 256;

/// The name lies at the start of a scratch's data, and the value here. A value
/// has one byte behind it, so that an empty value differs from none.
constexpr std::size_t kValueOffset = 256;
constexpr std::size_t kMarkBytes = 1;

static_assert(ACPX_MAX_NAME <= kValueOffset);
static_assert(kValueOffset + ACPX_MAX_PUBLISHED + kMarkBytes <=
              structure::kScratchDataBytes);

// Written by acp_init, which one thread calls.
int g_module = -1;

const char* function() {
  return structure::current_function();
}

/// The seed makes it another function than the map's own hash. So names of one
/// rank spread over the buckets of its map.
int owner_of(const Site& site, std::string_view name) {
  constexpr std::uint64_t kSeed = 1;
  const std::uint64_t hash =
      XXH3_64bits_withSeed(name.data(), name.size(), kSeed);
  return static_cast<int>((hash >> 32) * static_cast<unsigned>(site.procs()) >>
                          32);
}

/// Sets acp_errno and writes a line that begins with the call and the name.
template <typename... Args>
Answer fail(std::string_view name,
            int code,
            fmt::format_string<Args...> text,
            Args&&... args) {
  acp_errno = code;
  log_error("{}(\"{}\"): {}", function(), printable(name, kPrintableName),
            fmt::format(text, std::forward<Args>(args)...));
  return Answer::kFailed;
}

/// Reads at most one byte more than a name may have, because the text may have
/// no end.
bool is_name(const char* name, std::string_view& text) {
  if (name == nullptr) {
    fail("", ACPX_INVALID_ARGUMENT, "the name is NULL");
    return false;
  }
  text = {name, ::strnlen(name, ACPX_MAX_NAME + 1)};
  if (text.empty()) {
    fail(text, ACPX_INVALID_ARGUMENT,
         "the name is empty; it has to have 1 byte or more");
    return false;
  }
  if (text.size() > ACPX_MAX_NAME) {
    fail(text, ACPX_TOO_LARGE, "the name has more than {} bytes",
         ACPX_MAX_NAME);
    return false;
  }
  return true;
}

acp_ga_t word_of(int owner) {
  return acpx_module_ga(g_module, owner);
}

/// Sets `table` to the handle of the owner's map, or to null when it has none
/// yet. False: the job is ending.
bool read_table(Site& site, int owner, acp_ga_t& table) {
  Scratch scratch(site);
  Chain chain(scratch);
  const std::uint64_t* word = chain.get(word_of(owner), 8);
  if (!chain.run()) {
    return false;
  }
  table = *word == kBeingMade ? ACP_GA_NULL : *word;
  return true;
}

/// Makes the owner's map, or waits for the rank that makes it. One rank claims
/// the word, so that thousands that publish one name do not make a map each.
/// Null: failed, and the word is free again.
acp_ga_t make_table(Site& site, int owner) {
  const acp_ga_t word = word_of(owner);
  Scratch scratch(site);
  Backoff backoff(function(), word);
  for (;;) {
    scratch.clear();
    Chain chain(scratch);
    const std::uint64_t* old = chain.cas8(word, 0, kBeingMade);
    if (!chain.run()) {
      return ACP_GA_NULL;
    }
    if (*old == 0) {
      break;
    }
    if (*old != kBeingMade) {
      return *old;
    }
    if (!backoff.pause()) {
      return ACP_GA_NULL;
    }
  }
  const acp_ga_t table =
      table::create(function(), Kind::kMap, 1, &owner, kNamesOfRank, owner);
  const int code = acp_errno;
  Chain chain(scratch);
  chain.swap8(word, table);
  if (!chain.run()) {
    return ACP_GA_NULL;
  }
  if (table == ACP_GA_NULL) {
    acp_errno = code;
  }
  return table;
}

bool begin_call(Call& call, acp_ga_t table) {
  return structure::begin_call(call, function(), Kind::kMap, table);
}

/// The name in the scratch, as the key of a map.
acp_element_t key_in(const Scratch& scratch, std::string_view name) {
  std::memcpy(scratch.data(), name.data(), name.size());
  return {scratch.data_ga(), name.size()};
}

/// Reports a value that cannot be published.
bool is_value(std::string_view name, std::span<const std::byte> value) {
  if (value.size() > ACPX_MAX_PUBLISHED) {
    fail(name, ACPX_TOO_LARGE,
         "the value has {} bytes, and {} is the most: publish the address of "
         "the bytes",
         value.size(), ACPX_MAX_PUBLISHED);
    return false;
  }
  if (value.data() == nullptr && !value.empty()) {
    fail(name, ACPX_INVALID_ARGUMENT, "the value is NULL, and its size is {}",
         value.size());
    return false;
  }
  return true;
}

}  // namespace

/// The value is copied before the map is touched. The insert takes no value
/// from a name that has one.
Answer publish(Site& site, const char* name, std::span<const std::byte> value) {
  std::string_view text;
  if (!is_name(name, text) || !is_value(text, value)) {
    return Answer::kFailed;
  }
  const int owner = owner_of(site, text);
  acp_ga_t table = ACP_GA_NULL;
  if (!read_table(site, owner, table)) {
    return Answer::kFailed;
  }
  if (table == ACP_GA_NULL) {
    table = make_table(site, owner);
  }
  Call call;
  if (table == ACP_GA_NULL || !begin_call(call, table)) {
    return Answer::kFailed;
  }
  const Scratch scratch(site);
  std::byte* stored = scratch.data() + kValueOffset;
  std::copy(value.begin(), value.end(), stored);
  stored[value.size()] = std::byte{1};
  switch (table::insert(call, key_in(scratch, text),
                        {scratch.ga_of(stored), value.size() + kMarkBytes},
                        table::Present::kKeep)) {
    case table::Outcome::kInserted: return Answer::kDone;
    case table::Outcome::kPresent: return Answer::kNot;
    case table::Outcome::kFailed: break;
  }
  return Answer::kFailed;
}

namespace {

/// Gives the caller the value, whose bytes lie at `stored`, if it fits.
Answer give_value(std::string_view name,
                  std::span<const std::byte> stored,
                  std::span<std::byte> room,
                  std::size_t* size) {
  if (stored.size() > room.size()) {
    return fail(name, ACPX_TOO_LARGE,
                "the value has {} bytes, and the buffer {}", stored.size(),
                room.size());
  }
  if (size == nullptr && stored.size() != room.size()) {
    return fail(name, ACPX_INVALID_ARGUMENT,
                "the value has {} bytes instead of {}: it is of another type, "
                "or pass a pointer for its size",
                stored.size(), room.size());
  }
  std::copy(stored.begin(), stored.end(), room.begin());
  if (size != nullptr) {
    *size = stored.size();
  }
  return Answer::kDone;
}

/// Looks once. The scratch is held only meanwhile, because a lookup may wait
/// for long.
Answer look_once(Site& site,
                 std::string_view name,
                 int owner,
                 std::span<std::byte> room,
                 std::size_t* size) {
  acp_ga_t table = ACP_GA_NULL;
  if (!read_table(site, owner, table)) {
    return Answer::kFailed;
  }
  if (table == ACP_GA_NULL) {
    return Answer::kNot;
  }
  Call call;
  if (!begin_call(call, table)) {
    return Answer::kFailed;
  }
  const Scratch scratch(site);
  const std::byte* stored = scratch.data() + kValueOffset;
  std::size_t bytes = 0;
  if (!table::retrieve(
          call,
          {key_in(scratch, name),
           {scratch.ga_of(stored), ACPX_MAX_PUBLISHED + kMarkBytes}},
          bytes)) {
    return Answer::kFailed;
  }
  return bytes == 0
             ? Answer::kNot
             : give_value(name, {stored, bytes - kMarkBytes}, room, size);
}

int never(void*) {
  return 0;
}

/// The pauses between two looks of a call. They grow with the time waited, so
/// that many waiting ranks do not flood the owner.
class Looks {
 public:
  Looks(const Site& site, std::string_view name, int owner, int timeout_ms)
      : name_(name),
        owner_(owner),
        limit_(timeout_ms),
        longest_(kLongest + site.procs() / kRanksForMillisecond) {}

  /// Waits a little, with progress. kNot: the time is over.
  Answer pause() {
    using std::chrono::milliseconds;
    const auto waited = std::chrono::duration_cast<milliseconds>(
        std::chrono::steady_clock::now() - start_);
    if (limit_ >= 0 && waited.count() >= limit_) {
      return Answer::kNot;
    }
    warn(waited);
    std::int64_t nap = std::min(waited.count() / kNapShare, longest_);
    if (limit_ >= 0) {
      nap = std::min<std::int64_t>(nap, limit_ - waited.count());
    }
    if (nap == 0) {
      ::sched_yield();
    }
    const NamedCall call;
    return acpx_wait_until(never, nullptr, static_cast<int>(nap)) < 0
               ? Answer::kFailed
               : Answer::kDone;
  }

 private:
  /// A pause is this part of the time waited, so a name is found at most an
  /// eighth too late, and the looks grow with the logarithm of the time.
  static constexpr int kNapShare = 8;
  /// The longest pause is 20 ms, and 1 ms more for each 100 ranks: all ranks
  /// of a job together ask one owner at most 100,000 times a second.
  static constexpr std::int64_t kLongest = 20;
  static constexpr int kRanksForMillisecond = 100;
  /// A name that is never published is mostly a misspelt one.
  static constexpr std::chrono::seconds kPatience{10};

  void warn(std::chrono::milliseconds waited) {
    if (!has_warned_ && waited >= kPatience) {
      has_warned_ = true;
      log_warning(
          "{}(\"{}\"): waiting for {} s: no rank has published this name (its "
          "owner is rank {}); compare it with the name at acpx_publish",
          function(), printable(name_, kPrintableName), kPatience.count(),
          owner_);
    }
  }

  const std::string_view name_;
  const int owner_;
  const int limit_;  ///< Milliseconds; negative: none.
  const std::int64_t longest_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  bool has_warned_ = false;  ///< Written by warn().
};

}  // namespace

/// Looks first, so that a name that is there costs no pause.
Answer lookup(Site& site,
              const char* name,
              std::span<std::byte> room,
              std::size_t* size,
              int timeout_ms) {
  std::string_view text;
  if (!is_name(name, text)) {
    return Answer::kFailed;
  }
  if (room.data() == nullptr && !room.empty()) {
    return fail(text, ACPX_INVALID_ARGUMENT,
                "the buffer is NULL, and its capacity is {}", room.size());
  }
  const int owner = owner_of(site, text);
  Looks looks(site, text, owner, timeout_ms);
  for (;;) {
    const Answer answer = look_once(site, text, owner, room, size);
    if (answer != Answer::kNot) {
      return answer;
    }
    if (const Answer go_on = looks.pause(); go_on != Answer::kDone) {
      return go_on;
    }
  }
}

/// An owner without a map has no names, and gets none.
Answer unpublish(Site& site, const char* name) {
  std::string_view text;
  acp_ga_t table = ACP_GA_NULL;
  if (!is_name(name, text) || !read_table(site, owner_of(site, text), table)) {
    return Answer::kFailed;
  }
  if (table == ACP_GA_NULL) {
    return Answer::kNot;
  }
  Call call;
  if (!begin_call(call, table)) {
    return Answer::kFailed;
  }
  const Scratch scratch(site);
  switch (table::remove(call, key_in(scratch, text))) {
    case table::Removal::kRemoved: return Answer::kDone;
    case table::Removal::kAbsent: return Answer::kNot;
    case table::Removal::kFailed: break;
  }
  return Answer::kFailed;
}

namespace {

/// Destroys this rank's own map, so that its memory counts as freed. No rank
/// uses names any more, because all ranks are in acp_finalize or acp_reset.
int fini(void*) {
  Site* site = Site::of_call("acp_finalize");
  acp_ga_t table = ACP_GA_NULL;
  Call call;
  if (site != nullptr && read_table(*site, site->rank(), table) &&
      table != ACP_GA_NULL && begin_call(call, table)) {
    table::destroy(call);
  }
  return 0;  // A job that ends badly says why in other lines.
}

}  // namespace

int add_module(int (*add)(const acpx_module_t*)) {
  acpx_module_t module{};
  module.name = "names";
  module.bytes = kModuleBytes;
  module.fini = fini;
  g_module = add(&module);
  return g_module < 0 ? -1 : 0;
}

}  // namespace acp::middle::names
