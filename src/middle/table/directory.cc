// The cache of directories that each thread has. Called at the start of each
// operation on a set or map, which then needs no round trip to the control. A
// cached directory may be old, so the caller has to compare the uid of a
// bucket.
#include "middle/table/directory.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <memory>

#include "middle/structure/waiting.h"

namespace acp::middle::table {

using structure::Call;
using structure::Chain;
using structure::Scratch;
using structure::View;

namespace {

/// Tables that a thread remembers. A program with more that it uses in turn
/// reads a directory again, one flight, where two handles share an entry.
constexpr std::size_t kKnown = 64;

using Known = std::array<std::unique_ptr<Directory>, kKnown>;

/// Indexed by handle; a table that was not used for long makes room for others.
/// On the heap, because static thread-local storage is scarce.
thread_local constinit Known* t_known = nullptr;

/// Deletes the cache of a thread that ends. The C library ends a process that
/// has no memory to register the destructor of a thread-local object.
class EndOfThread {
 public:
  EndOfThread() {
    is_made_ = ::pthread_key_create(&key_, [](void* known) {
                 delete static_cast<Known*>(known);
               }) == 0;
  }

  EndOfThread(const EndOfThread&) = delete;
  EndOfThread& operator=(const EndOfThread&) = delete;

  ~EndOfThread() {
    if (is_made_) ::pthread_key_delete(key_);
  }

  /// Without a key, or without memory for it, the cache stays.
  void watch(Known* known) {
    if (is_made_) (void)::pthread_setspecific(key_, known);
  }

 private:
  pthread_key_t key_{};
  bool is_made_ = false;
};

std::unique_ptr<Directory>& cached_at(acp_ga_t handle) {
  if (__builtin_expect(t_known == nullptr, 0)) {
    static EndOfThread end_of_thread;
    t_known = new Known;
    end_of_thread.watch(t_known);
  }
  // The controls of a rank are an odd number of 64 bytes apart. The lowest bits
  // count their generations.
  return (*t_known)[(handle / 64 + handle) % kKnown];
}

const Directory* ask(const Call& call) {
  Scratch scratch(*call.site);
  View view{};
  auto known = std::make_unique<Directory>();
  if (!structure::look(scratch, call, view) ||
      !read_directory(call, scratch, view, *known)) {
    return nullptr;
  }
  std::unique_ptr<Directory>& cached = cached_at(call.handle);
  cached = std::move(known);
  return cached.get();
}

}  // namespace

std::size_t Directory::share_of(int rank) const {
  const auto found =
      std::find_if(shares.begin(), shares.end(),
                   [&](acp_ga_t ga) { return acp_query_rank(ga) == rank; });
  return static_cast<std::size_t>(found - shares.begin());
}

/// Reads as many addresses at a time as a scratch holds.
bool read_directory(const Call& call,
                    Scratch& scratch,
                    const View& view,
                    Directory& directory) {
  directory.handle = call.handle;
  directory.kind = call.kind;
  directory.life = call.site->life();
  directory.uid = static_cast<std::uint32_t>(view.field(kUidField));
  directory.buckets = view.field(kBucketsField);
  directory.shares.resize(view.field(kSharesField));
  const acp_ga_t from = view.field(kDirectoryField);
  constexpr std::size_t kPerFlight = structure::kScratchDataBytes / 8;
  for (std::size_t i = 0; i < directory.shares.size(); i += kPerFlight) {
    const std::size_t some = std::min(kPerFlight, directory.shares.size() - i);
    scratch.clear();
    Chain chain(scratch);
    chain.get_to(from + i * 8, scratch.data_ga(), some * 8);
    if (!chain.run()) {
      return false;
    }
    std::copy_n(reinterpret_cast<const acp_ga_t*>(scratch.data()), some,
                directory.shares.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return true;
}

const Directory* find_directory(const Call& call) {
  const std::unique_ptr<Directory>& known = cached_at(call.handle);
  if (known != nullptr && known->handle == call.handle &&
      known->kind == call.kind && known->life == call.site->life()) {
    return known.get();
  }
  return ask(call);
}

const Directory* renew_directory(const Call& call, unsigned& attempts) {
  structure::Backoff backoff(call.function, call.handle);
  for (unsigned i = 0; i < std::min(attempts, 64U); ++i) {
    if (!backoff.pause()) {
      return nullptr;
    }
  }
  ++attempts;
  return ask(call);
}

}  // namespace acp::middle::table
