// One suite over every way in which ranks reach each other: shared memory,
// messages and posted steps. Ranks are threads, so that sanitizers see both
// sides.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "support/thread_job.h"
#include "transport/network.h"
#ifdef ACP_TEST_UDP
#include "api/open_network.h"
#include "support/fake_devices.h"
#include "support/posting_transport.h"
#endif
#ifdef ACP_TEST_VERBS
namespace acp::verbs {
transport::OpenNetwork open_network;  // verbs/open_network.cc
}  // namespace acp::verbs
#endif
#ifdef ACP_TEST_UCX
namespace acp::ucx {
transport::OpenNetwork open_network;  // transport/ucx/open_network.cc
}  // namespace acp::ucx
#endif

namespace acp::test {

namespace {

using gma::Handle;
using gma::kHandleAll;
using gma::kHandleCont;
using gma::kHandleNull;
using gmm::GlobalAddress;
using protocol::Opcode;
using runtime::Task;

/// One way in which ranks of the job reach each other.
struct Way {
  const char* name;
  std::uint32_t ranks;
  std::vector<std::pair<SettingId, std::string>> settings;
  bool is_posting = false;  ///< Steps may also be posted.
  bool disagrees = false;   ///< Agents execute no atomics of 8 bytes.
  std::uint32_t hosts = 1;
  /// The network of a module, linked into this program so that a sanitizer sees
  /// it. Null: the library opens the network.
  transport::OpenNetwork* network = nullptr;
  /// All hosts but the last have a device on one fabric.
  bool has_devices = false;
};

#ifdef ACP_TEST_UDP
/// Makes posting transports over the library's transports. All ranks of the job
/// share their hub.
runtime::NetTransportFactory posting_factory(const Way& way) {
  return
      [hub = std::make_shared<PostingHub>(
           way.disagrees ? PostedAtomics::kDisagree : PostedAtomics::kAgree)](
          const transport::NetworkContext& context)
          -> Result<std::unique_ptr<transport::Transport>> {
        auto network = api::open_network(context);
        if (!network.ok()) {
          return network.status();
        }
        return make_posting_transport(std::move(*network), hub, context.proc);
      };
}
#endif

runtime::NetTransportFactory factory_of(const Way& way) {
#ifdef ACP_TEST_UDP
  if (way.is_posting) {
    return posting_factory(way);
  }
  if (way.has_devices) {
    return fake_devices_factory(std::make_shared<FakeDevices>(),
                                [hosts = way.hosts](transport::ProcId proc) {
                                  return proc % hosts == hosts - 1 ? "" : "one";
                                });
  }
#endif
  return way.network == nullptr ? runtime::NetTransportFactory() : way.network;
}

/// The program of the verbs tests has only verbs, on the devices that the
/// environment names. All other programs go from plain to unusual ways.
const std::vector<Way>& ways() {
#ifdef ACP_TEST_VERBS
  const char* devices = std::getenv("ACP_VERBS_DEVICES");
  const char* atomics = std::getenv("ACP_VERBS_ATOMICS");
  const char* writes = std::getenv("ACP_VERBS_WRITES");
  static const std::vector<Way> ways = {
      {"verbs",
       3,
       {{SettingId::kNet, "verbs"},
        {SettingId::kShm, "off"},
        {SettingId::kVerbsDevices, devices == nullptr ? "" : devices},
        {SettingId::kVerbsAtomics, atomics == nullptr ? "agent" : atomics},
        {SettingId::kVerbsWrites, writes == nullptr ? "ordered" : writes}},
       false,
       false,
       1,
       verbs::open_network},
  };
#elif defined(ACP_TEST_UCX)
  // The environment chooses UCX's transports. With emulated atomics
  // "device" shows that the engine leaves all atomics to UCX.
  static std::vector<Way> ways = {
      {"ucx",
       3,
       {{SettingId::kNet, "ucx"}, {SettingId::kShm, "off"}},
       false,
       false,
       1,
       ucx::open_network},
      {"ucx between two hosts",
       4,
       {{SettingId::kNet, "ucx"}},
       false,
       false,
       2,
       ucx::open_network},
      {"ucx in two colors",
       2,
       {{SettingId::kNet, "ucx"},
        {SettingId::kShm, "off"},
        {SettingId::kUcxDevices, "lo;lo"}},
       false,
       false,
       1,
       ucx::open_network},
      {"ucx with atomics by devices",
       3,
       {{SettingId::kNet, "ucx"}, {SettingId::kUcxAtomics, "device"}},
       false,
       false,
       1,
       ucx::open_network},
  };
  // UCX's shared memory leads to no other host.
  const char* tls = std::getenv("UCX_TLS");
  if (tls != nullptr && std::string(tls).find("tcp") == std::string::npos) {
    std::erase_if(ways, [](const Way& way) { return way.hosts > 1; });
  }
#else
  static const std::vector<Way> ways = {
      {"self", 1, {}},
      {"shm", 2, {}},
      {"shm of 3", 3, {}},
      {"shm by messages", 3, {{SettingId::kCma, "off"}}},
#ifdef ACP_TEST_UDP
      {"udp", 3, {{SettingId::kNet, "udp"}}},
      {"udp with posted steps", 3, {{SettingId::kNet, "udp"}}, true},
      {"udp with posted atomics",
       3,
       {{SettingId::kNet, "udp"},
        {SettingId::kUdpInterfaces, "127.0.0.1,127.0.0.2"}},
       true,
       true},
      {"udp in small datagrams",
       3,
       {{SettingId::kNet, "udp"}, {SettingId::kUdpDatagram, "1200"}}},
      {"udp with faults",
       3,
       {{SettingId::kNet, "udp"},
        {SettingId::kUdpFaults,
         "loss=0.02,duplicate=0.02,reorder=0.02,seed=11"}}},
      {"udp over IPv6",
       2,
       {{SettingId::kNet, "udp"}, {SettingId::kUdpInterfaces, "::1"}}},
      {"udp between two hosts", 4, {}, false, false, 2},
      {"devices between two of three hosts",
       4,
       {},
       false,
       false,
       3,
       nullptr,
       true},
      {"udp in two colors",
       3,
       {{SettingId::kNet, "udp"},
        {SettingId::kUdpInterfaces, "127.0.0.1,127.0.0.2"}}},
#endif
  };
#endif
  return ways;
}

/// Memory that a rank registered, filled with a pattern of its own.
class Registered {
 public:
  Registered(Task& task, std::size_t size) : task_(task), bytes_(size) {
    auto atkey = task.register_memory(
        bytes_.data(), size, static_cast<int>(task.space().colors() - 1));
    RANK_CHECK(atkey.ok());
    atkey_ = atkey.value();
    address_ =
        task.keys().address_of(task.rank(), atkey_, bytes_.data()).value();
    for (std::size_t i = 0; i < size; ++i) {
      bytes_[i] = pattern(task.rank(), i);
    }
  }

  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  ~Registered() { RANK_CHECK(task_.unregister_memory(atkey_) == Status::kOk); }

  static std::byte pattern(std::uint32_t rank, std::size_t index) {
    return static_cast<std::byte>(index * 131 + index / 251 + rank * 17);
  }

  bool holds(std::size_t at,
             std::size_t size,
             std::uint32_t rank,
             std::size_t from) const {
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes_[at + i] != pattern(rank, from + i)) {
        return false;
      }
    }
    return true;
  }

  GlobalAddress address() const { return address_; }

  std::byte* data() { return bytes_.data(); }

  template <typename T>
  T& at(std::size_t offset) {
    return *reinterpret_cast<T*>(bytes_.data() + offset);
  }

 private:
  Task& task_;
  std::vector<std::byte> bytes_;
  GlobalAddress atkey_ = 0;
  GlobalAddress address_ = 0;
};

void require_sync(Task& task) {
  RANK_CHECK(task.sync() == Status::kOk);
}

void require_complete(Task& task, Handle handle = kHandleAll) {
  const Status status = task.engine().complete(
      handle, SteadyClock().now() + std::chrono::seconds(60));
  RANK_CHECK(status == Status::kOk);
}

/// Tells all ranks the address of this rank's memory through starter memory.
/// Returns the addresses by rank.
std::vector<GlobalAddress> exchange(Task& task, GlobalAddress mine) {
  const std::uint64_t offset = task.rank() * sizeof(mine);
  auto own = task.space().own(task.starter(task.rank()), 8 * task.procs());
  RANK_CHECK(own.ok());
  auto* words = reinterpret_cast<std::uint64_t*>(own.value());
  std::atomic_ref(words[task.rank()]).store(mine);
  for (std::uint32_t rank = 0; rank < task.procs(); ++rank) {
    if (rank != task.rank()) {
      RANK_CHECK(task.engine()
                     .copy(task.starter(rank) + offset,
                           task.starter(task.rank()) + offset, sizeof mine,
                           kHandleNull)
                     .ok());
    }
  }
  require_complete(task);
  require_sync(task);
  std::vector<GlobalAddress> addresses;
  for (std::uint32_t rank = 0; rank < task.procs(); ++rank) {
    addresses.push_back(std::atomic_ref(words[rank]).load());
  }
  require_sync(task);
  return addresses;
}

/// Runs `body` over every way; a failure names the way.
template <typename Body>
void over_every_way(Body body) {
  for (const Way& way : ways()) {
    DYNAMIC_SECTION(way.name) {
      run_thread_job(way.ranks, way.settings, body, factory_of(way), way.hosts);
    }
  }
}

}  // namespace

// Each size is first put to the next rank and then got from it. The barriers
// keep a rank from writing while its neighbour looks.
TEST_CASE("transport: puts and gets of all sizes arrive whole", "[transport]") {
  over_every_way([](Task& task) {
    constexpr std::size_t kBytes = 300'000;
    Registered source(task, kBytes);
    Registered target(task, kBytes * 2);
    const auto sources = exchange(task, source.address());
    const auto targets = exchange(task, target.address());
    const std::uint32_t next = (task.rank() + 1) % task.procs();
    const std::uint32_t before =
        (task.rank() + task.procs() - 1) % task.procs();
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{63},
          std::size_t{4096}, std::size_t{65537}, std::size_t{kBytes - 1}}) {
      RANK_CHECK(
          task.engine()
              .copy(targets[next], source.address() + 1, size, kHandleNull)
              .ok());
      require_complete(task);
      require_sync(task);
      RANK_CHECK(target.holds(0, size, before, 1));
      require_sync(task);
      RANK_CHECK(task.engine()
                     .copy(target.address() + kBytes, sources[next] + 1, size,
                           kHandleNull)
                     .ok());
      require_complete(task);
      RANK_CHECK(target.holds(kBytes, size, next, 1));
      require_sync(task);
    }
  });
}

// Rank 0 orders each copy, also from a rank to itself, and the target's rank
// looks between two barriers.
TEST_CASE("transport: copies between two other ranks", "[transport]") {
  over_every_way([](Task& task) {
    constexpr std::size_t kBytes = 200'000;
    Registered source(task, kBytes);
    Registered target(task, kBytes);
    const auto sources = exchange(task, source.address());
    const auto targets = exchange(task, target.address());
    for (std::uint32_t from = 0; from < task.procs(); ++from) {
      for (std::uint32_t to = 0; to < task.procs(); ++to) {
        if (task.rank() == 0) {
          RANK_CHECK(task.engine()
                         .copy(targets[to] + 3, sources[from] + 5, kBytes - 10,
                               kHandleNull)
                         .ok());
          require_complete(task);
        }
        require_sync(task);
        if (task.rank() == to) {
          RANK_CHECK(target.holds(3, kBytes - 10, from, 5));
        }
        require_sync(task);
      }
    }
  });
}

TEST_CASE("transport: a chain of ordered copies keeps its order",
          "[transport][order]") {
  over_every_way([](Task& task) {
    Registered memory(task, 4096);
    const auto others = exchange(task, memory.address());
    const std::uint32_t next = (task.rank() + 1) % task.procs();
    constexpr std::uint64_t kSteps = 200;
    // Puts alternate between two words, so only in order does the last one win.
    Handle order = kHandleNull;
    for (std::uint64_t i = 1; i <= kSteps; ++i) {
      memory.at<std::uint64_t>(1024 + 8 * (i % 64)) = i;
      auto put =
          task.engine().copy(others[next] + 2048,
                             memory.address() + 1024 + 8 * (i % 64), 8, order);
      RANK_CHECK(put.ok());
      order = i % 3 == 0 ? kHandleAll : i % 3 == 1 ? kHandleCont : put.value();
      if (i % 64 == 63) {
        require_complete(task);
      }
    }
    require_complete(task);
    require_sync(task);
    RANK_CHECK(memory.at<std::uint64_t>(2048) == kSteps);
    require_sync(task);
  });
}

TEST_CASE("transport: with CONT memory is as if each operation had waited",
          "[transport][order]") {
  over_every_way([](Task& task) {
    constexpr std::size_t kBytes = 1024;
    // Each rank works on the first part of its own memory, and on the second
    // part of the next rank's.
    Registered memory(task, 2 * kBytes);
    std::memset(memory.data(), 0, 2 * kBytes);
    const auto others = exchange(task, memory.address());
    const std::uint32_t next = (task.rank() + 1) % task.procs();
    std::mt19937 random(task.rank() + 1);
    std::vector<std::byte> mine(kBytes);
    std::vector<std::byte> theirs(kBytes);
    for (int i = 0; i < 600; ++i) {
      const std::size_t near = random() % (kBytes / 8) * 8;
      const std::size_t far = random() % (kBytes / 8) * 8;
      const std::size_t size = 1 + random() % (kBytes - std::max(near, far));
      const GlobalAddress here = memory.address() + near;
      const GlobalAddress there = others[next] + kBytes + far;
      const std::uint32_t dice = random() % 8;
      Result<Handle> handle = kHandleNull;
      if (dice == 0) {
        const std::uint64_t addend = random();
        std::uint64_t old = 0;
        std::memcpy(&old, &theirs[far], sizeof old);
        std::memcpy(&mine[near], &old, sizeof old);
        old += addend;
        std::memcpy(&theirs[far], &old, sizeof old);
        handle = task.engine().atomic(Opcode::kAdd, 8, here, there, addend, 0,
                                      kHandleCont);
      } else if (dice < 5) {
        std::memcpy(&theirs[far], &mine[near], size);
        handle = task.engine().copy(there, here, size, kHandleCont);
      } else {
        std::memcpy(&mine[near], &theirs[far], size);
        handle = task.engine().copy(here, there, size, kHandleCont);
      }
      RANK_CHECK(handle.ok());
      if (random() % 32 == 0) {
        require_complete(task);
        std::ranges::generate(mine,
                              [&] { return static_cast<std::byte>(random()); });
        std::memcpy(memory.data(), mine.data(), kBytes);
      }
    }
    require_complete(task);
    RANK_CHECK(std::memcmp(memory.data(), mine.data(), kBytes) == 0);
    RANK_CHECK(
        task.engine()
            .copy(memory.address(), others[next] + kBytes, kBytes, kHandleNull)
            .ok());
    require_complete(task);
    RANK_CHECK(std::memcmp(memory.data(), theirs.data(), kBytes) == 0);
    require_sync(task);
  });
}

// Every rank changes words of rank 0 at once, of 4 and 8 bytes, in registered
// and in library memory. An even number of exclusive-ors leaves 0. At most 64
// results are outstanding, each in a word of its own.
TEST_CASE("transport: atomics of all ranks on one word add up",
          "[transport][atomic]") {
  over_every_way([](Task& task) {
    constexpr std::uint64_t kRounds = 300;
    Registered memory(task, 4096);
    std::memset(memory.data(), 0, 4096);
    const auto all = exchange(task, memory.address());
    const GlobalAddress library = task.starter(0) + 1024;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      const std::uint64_t window = 512 + i % 64 * 8;
      for (const GlobalAddress word : {all[0], library}) {
        RANK_CHECK(task.engine()
                       .atomic(Opcode::kAdd, 8, memory.address() + window, word,
                               1, 0, kHandleNull)
                       .ok());
      }
      RANK_CHECK(task.engine()
                     .atomic(Opcode::kAdd, 4, memory.address() + 1024,
                             all[0] + 8, 2, 0, kHandleNull)
                     .ok());
      RANK_CHECK(task.engine()
                     .atomic(Opcode::kXor, 8, memory.address() + 1032,
                             all[0] + 16, std::uint64_t{1} << task.rank(), 0,
                             kHandleNull)
                     .ok());
      if (i % 64 == 63) {
        require_complete(task);
      }
    }
    require_complete(task);
    require_sync(task);
    if (task.rank() == 0) {
      const std::uint64_t expected = kRounds * task.procs();
      RANK_CHECK(memory.at<std::uint64_t>(0) == expected);
      RANK_CHECK(memory.at<std::uint32_t>(8) == 2 * expected);
      RANK_CHECK(memory.at<std::uint64_t>(16) == 0);
      RANK_CHECK(*reinterpret_cast<std::uint64_t*>(
                     task.space().own(library, 8).value()) == expected);
    }
    require_sync(task);
  });
}

// All ranks count one word of rank 0 up by compare-and-swap. The sum of their
// wins is the value of the word, unless two ranks won with one old value.
TEST_CASE("transport: each compare-and-swap has one winner",
          "[transport][atomic]") {
  over_every_way([](Task& task) {
    constexpr std::uint64_t kRounds = 100;
    Registered memory(task, 1024);
    std::memset(memory.data(), 0, 1024);
    const auto all = exchange(task, memory.address());
    std::uint64_t wins = 0;
    std::uint64_t expected = 0;
    while (expected < kRounds) {
      RANK_CHECK(task.engine()
                     .atomic(Opcode::kCas, 8, memory.address() + 512, all[0],
                             expected + 1, expected, kHandleNull)
                     .ok());
      require_complete(task);
      const auto old = memory.at<std::uint64_t>(512);
      wins += old == expected ? 1 : 0;
      expected = old == expected ? expected + 1 : old;
    }
    RANK_CHECK(task.engine()
                   .atomic(Opcode::kAdd, 8, memory.address() + 512, all[0] + 8,
                           wins, 0, kHandleNull)
                   .ok());
    require_complete(task);
    require_sync(task);
    if (task.rank() == 0) {
      RANK_CHECK(memory.at<std::uint64_t>(8) == kRounds);
    }
    require_sync(task);
  });
}

TEST_CASE("transport: what only the target sees fails in order",
          "[transport][failure]") {
  over_every_way([](Task& task) {
    Registered memory(task, 4096);
    const auto all = exchange(task, memory.address());
    const std::uint32_t next = (task.rank() + 1) % task.procs();
    const auto bad =
        task.engine().copy(all[next] + 4090, memory.address(), 64, kHandleNull);
    if (bad.ok()) {
      // The initiator could not see the error. So the copy completes as failed,
      // and the copy that waits for it does not start.
      const auto after = task.engine().copy(
          all[next] + 8, memory.address() + 16, 8, bad.value());
      RANK_CHECK(after.ok());
      const TimePoint deadline = SteadyClock().now() + std::chrono::seconds(60);
      RANK_CHECK(task.engine().complete(after.value(), deadline) !=
                 Status::kOk);
    } else {
      RANK_CHECK(bad.status() == Status::kBadAddress);
    }
    // The failure has been collected: the rank goes on.
    require_sync(task);
    RANK_CHECK(memory.holds(8, 8, task.rank(), 8));
    RANK_CHECK(memory.holds(4090, 6, task.rank(), 4090));
    RANK_CHECK(task.engine()
                   .copy(all[next], memory.address() + 32, 8, kHandleAll)
                   .ok());
    require_complete(task);
    require_sync(task);
  });
}

namespace {

/// True while this thread unregisters memory: no progress step may run then.
thread_local bool g_is_holding = false;

int check_lock(void*) {
  RANK_CHECK(!g_is_holding);
  return 0;
}

}  // namespace

TEST_CASE("transport: unregistering runs no progress step",
          "[transport][keys]") {
  over_every_way([](Task& task) {
    RANK_CHECK(task.progress().add_step(&check_lock, nullptr) == Status::kOk);
    Registered target(task, 20'000);
    const auto targets = exchange(task, target.address());
    const std::uint32_t next = (task.rank() + 1) % task.procs();
    for (int round = 0; round < 30; ++round) {
      {
        Registered source(task, 20'000);
        RANK_CHECK(
            task.engine()
                .copy(targets[next], source.address(), 20'000, kHandleNull)
                .ok());
        g_is_holding = true;
      }
      g_is_holding = false;
      // The copy may have failed: its source was unregistered before the whole
      // copy was sent.
      static_cast<void>(task.engine().complete(
          kHandleAll, SteadyClock().now() + std::chrono::seconds(60)));
    }
    require_sync(task);
    RANK_CHECK(task.progress().remove_step(&check_lock, nullptr) ==
               Status::kOk);
  });
}

// The operations of one rank are more than fit a window, so issuing has to wait
// for completions. Handles may only grow.
TEST_CASE("transport: many operations in flight", "[transport][order]") {
  over_every_way([](Task& task) {
    constexpr std::uint64_t kOperations = 10'000;
    Registered memory(task, 4096);
    std::memset(memory.data(), 0, 4096);
    const auto all = exchange(task, memory.address());
    const std::uint32_t next = (task.rank() + 1) % task.procs();
    Handle last = kHandleNull;
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      const auto add = task.engine().atomic(
          Opcode::kAdd, 8, memory.address() + 64, all[next], 1, 0, kHandleNull);
      RANK_CHECK(add.ok());
      RANK_CHECK(add.value() >= last);
      last = add.value();
    }
    require_complete(task, last);
    require_sync(task);
    RANK_CHECK(memory.at<std::uint64_t>(0) == kOperations);
    require_sync(task);
  });
}

}  // namespace acp::test
