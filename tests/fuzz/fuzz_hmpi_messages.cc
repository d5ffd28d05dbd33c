// Fuzz target: any words in the memory that HMPI shares between processes of a
// host. These are the ring of a peer, its send records, and the words of the
// process itself. The reader ends the job when it sees that they have been
// overwritten. It never crashes, and writes into the buffers of its receives
// only. Given buffers are left out: the receiver's pool trusts a block's head.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "acp/extension.h"
#include "hmpi/end_job.h"
#include "hmpi/engine.h"

/// Inputs end the job so often that their lines would fill the output.
extern "C" void acpx_log(acpx_log_level_t, const char*) {}

namespace {

constexpr std::uint64_t kContext = 77;
constexpr std::size_t kRecords = 8;
constexpr std::size_t kDataBytes = std::size_t{256} << 10;
constexpr std::size_t kGuardBytes = 16;
constexpr std::byte kGuard{0x5a};

struct JobHasEnded {};

/// The shared memory of a host with this process and a peer.
struct Host {
  hmpi::PeerMemory mine;
  hmpi::PeerMemory peers;
  hmpi::RingMemory ring;
  std::array<hmpi::SendRecord, kRecords> records;
};

struct Shared {
  Host host;
  std::array<std::byte, kDataBytes> data;
};

std::uint64_t address_of(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

Shared& shared() {
  static void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::abort();
  }
  return *static_cast<Shared*>(memory);
}

/// Takes values off the input. Zeros follow its end.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool is_over() const { return bytes_.empty(); }

  template <typename T>
  T take() {
    T value{};
    const std::size_t size = std::min(sizeof value, bytes_.size());
    std::memcpy(&value, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }

  std::size_t below(std::size_t limit) { return take<std::uint32_t>() % limit; }

  /// An address, mostly inside of the shared memory.
  std::uint64_t address() {
    Shared& memory = shared();
    switch (take<std::uint8_t>() % 4) {
      case 0: return address_of(&memory.data);
      case 1: return address_of(&memory) + below(sizeof(Shared));
      case 2: return address_of(&memory.host.records[below(kRecords)]);
      default: return take<std::uint64_t>();
    }
  }

  std::uint64_t word() {
    return take<std::uint8_t>() % 2 == 0 ? below(300'000) : address();
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// A receive whose buffer has a guard behind it, or lies in shared memory.
class GuardedReceive {
 public:
  GuardedReceive(hmpi::Context& context, Reader& input) {
    receive.context = &context;
    const auto choice = input.take<std::uint8_t>();
    receive.peer = choice % 2 == 0 ? 1 : hmpi::kAnyPeer;
    receive.tag = choice % 4 < 2 ? 1 : hmpi::kAnyTag;
    receive.capacity = input.below(kDataBytes);
    receive.is_packed = choice % 32 == 0;
    if (choice % 8 < 2) {
      receive.buffer = shared().data.data();
    } else if (!receive.is_packed) {
      buffer_.assign(receive.capacity + kGuardBytes, kGuard);
      receive.buffer = buffer_.data();
    }
  }

  void check() const {
    for (std::size_t i = receive.capacity; i < buffer_.size(); ++i) {
      if (buffer_[i] != kGuard) {
        std::abort();
      }
    }
  }

  hmpi::Receive receive;

 private:
  std::vector<std::byte> buffer_;
};

class World {
 public:
  explicit World(Reader& input) : input_(input), context_(kContext, 2) {
    new (&shared().host) Host{};
    Host& host = shared().host;
    host.mine.rings[1].store(address_of(&host.ring));
    host.mine.ringing[0].store(2);
    hmpi::Settings settings;
    settings.both_from = 4096;
    settings.has_kernel_copy = input.take<std::uint8_t>() % 2 == 0;
    engine_.emplace(
        settings,
        std::vector<hmpi::Engine::Member>{{.rank = 0, .memory = &host.mine},
                                          {.rank = 1,
                                           .memory = &host.peers,
                                           .process = ::getpid(),
                                           .probe_address = address_of(&probe_),
                                           .probe_word = probe_}},
        hmpi::Peer{0});
    engine_->add(context_);
  }

  void run() {
    try {
      while (!input_.is_over()) {
        step();
      }
      for (int i = 0; i < 4; ++i) {
        engine_->progress();
      }
    } catch (const JobHasEnded&) {
    }
    for (const GuardedReceive& receive : receives_) {
      receive.check();
    }
    engine_->remove(context_);
  }

 private:
  void step() {
    Host& host = shared().host;
    switch (input_.take<std::uint8_t>() % 8) {
      case 0: {
        hmpi::Receive& receive =
            receives_.emplace_back(context_, input_).receive;
        engine_->begin(receive);
        break;
      }
      case 1:
      case 2: write_message(); break;
      case 3:
        overwrite(&host.ring, sizeof host.ring);
        for (hmpi::Cell& cell : host.ring.cells) {
          if (cell.kind == static_cast<std::uint8_t>(hmpi::Kind::kGive)) {
            cell.kind = 0;
          }
        }
        break;
      case 4: overwrite(&host.records, sizeof host.records); break;
      case 5: overwrite(&host.mine, sizeof host.mine); break;
      default: engine_->progress(input_.take<std::uint8_t>() % 2 == 0);
    }
  }

  void overwrite(void* memory, std::size_t bytes) {
    const std::uint64_t word = input_.word();
    const std::size_t at = input_.below(bytes / sizeof word);
    std::memcpy(static_cast<std::byte*>(memory) + at * sizeof word, &word,
                sizeof word);
  }

  /// A message as a sender writes it, but for its addresses and sizes.
  void write_message() {
    hmpi::SendRecord& record = shared().host.records[input_.below(kRecords)];
    hmpi::Message message;
    message.envelope = {
        .context = input_.take<std::uint8_t>() < 240U ? kContext : kContext + 1,
        .source = 1,
        .tag = 1,
        .size = input_.below(kDataBytes)};
    const auto kind = input_.take<std::uint8_t>();
    if (kind % 4 == 0) {
      message.envelope.size %= hmpi::kMostInlineBytes;
      message.in_ring = {shared().data.data(),
                         static_cast<std::size_t>(message.envelope.size)};
    } else {
      message.kind = hmpi::Kind::kOffer;
      message.offer.address = input_.address();
      message.offer.record =
          kind % 16 == 2 ? input_.address() : address_of(&record);
      record.address = message.offer.address;
      record.size = message.envelope.size;
      record.is_in_library = kind / 16 % 2;
      record.state.store(hmpi::Offered::kWaiting);
    }
    (void)writer_.write(message);
  }

  Reader& input_;
  std::uint64_t probe_ = 0x1234'5678'9abc'def0;
  hmpi::Context context_;
  std::optional<hmpi::Engine> engine_;
  hmpi::RingWriter writer_{shared().host.ring};
  std::deque<GuardedReceive> receives_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  hmpi::set_end_job([] { throw JobHasEnded(); });
  Reader input({data, size});
  World(input).run();
  return 0;
}
