// Runs jobs whose ranks are threads of the test program, with the library's
// real tasks and transports. Tests of the runtime and the transports use it.
#include "support/thread_job.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <catch2/catch.hpp>

#include "api/open_network.h"
#include "protocol/host_segment.h"

namespace acp::test {

namespace {

using Segments = std::vector<protocol::HostSegment>;

/// Bootstrap of a rank that is a thread. All phases share one barrier, since
/// every rank goes through them in one order.
class ThreadBootstrap final : public runtime::Bootstrap {
 public:
  ThreadBootstrap(std::uint32_t proc,
                  const Segments& segments,
                  std::barrier<>& barrier)
      : proc_(proc), segments_(segments), barrier_(barrier) {}

  std::string_view name() const noexcept override { return "threads"; }

  std::uint32_t proc() const noexcept override { return proc_; }

  const protocol::HostSegment& segment() const noexcept override {
    return segments_[proc_ % segments_.size()];
  }

  /// Carries what this process has published to all other hosts. As with a real
  /// launcher, address cards travel in kInit alone: ranks read them later.
  Status arrive(protocol::Phase phase) override {
    const auto card = phase == protocol::Phase::kInit
                          ? protocol::used_part(segment().card(proc_))
                          : std::span<const std::byte>();
    for (const protocol::HostSegment& other : segments_) {
      if (&other != &segment()) {
        if (other.has_card(proc_)) {
          std::ranges::copy(card, other.card(proc_).begin());
        }
        other.published(proc_).set(segment().published(proc_).get());
      }
    }
    barrier_.arrive_and_wait();
    return Status::kOk;
  }

  Result<std::span<const std::byte>> fetch_card(std::uint32_t proc) override {
    return std::span<const std::byte>(
        segments_[proc % segments_.size()].card(proc));
  }

  void tell_absence(const protocol::Absence& absence) override {
    for (const protocol::HostSegment& other : segments_) {
      other.header().absences.enter(absence);
    }
  }

  bool abort(int, std::string_view) override { return true; }

  void finalized() override {}

 private:
  std::uint32_t proc_;
  const Segments& segments_;
  std::barrier<>& barrier_;
};

/// Makes and maps a segment for each host.
Segments make_segments(std::uint32_t ranks,
                       std::uint32_t hosts,
                       const Settings& values) {
  const auto identity = protocol::make_job_identity();
  REQUIRE(identity.ok());
  Segments segments;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    protocol::HostPlan plan;
    plan.identity = *identity;
    plan.procs = ranks;
    plan.local_procs.clear();
    for (std::uint32_t proc = host; proc < ranks; proc += hosts) {
      plan.local_procs.push_back(proc);
    }
    plan.sizes = protocol::host_sizes_for(values);
    plan.sizes.card_table = protocol::card_table_for(values, ranks);
    const Result<UniqueFd> memory = protocol::create_host_segment(plan);
    REQUIRE(memory.ok());
    Result<protocol::HostSegment> segment =
        protocol::HostSegment::map(memory.value().get());
    REQUIRE(segment.ok());
    segments.push_back(std::move(*segment));
  }
  return segments;
}

}  // namespace

/// Makes the segments first and then a thread per rank. A rank that fails to
/// join ends the program, since the other ranks wait for it at the barrier.
void run_thread_job(
    std::uint32_t ranks,
    const std::vector<std::pair<SettingId, std::string>>& settings,
    const std::function<void(runtime::Task& task)>& body,
    const runtime::NetTransportFactory& make_net_transport,
    std::uint32_t hosts) {
  Settings values;
  for (const auto& [id, text] : settings) {
    REQUIRE(values.set(id, text, SettingSource::kEnvironment) == Status::kOk);
  }
  // All ranks of a host use one mapping, so that tsan sees them touch equal
  // addresses.
  const Segments segments = make_segments(ranks, hosts, values);
  std::barrier<> barrier(ranks);
  std::atomic<std::uint32_t> finished{0};
  std::vector<std::thread> threads;
  for (std::uint32_t proc = 0; proc < ranks; ++proc) {
    threads.emplace_back([&, proc] {
      runtime::Modules modules;
      runtime::Task task(
          values, std::make_unique<ThreadBootstrap>(proc, segments, barrier),
          modules);
      RANK_CHECK(task.join(make_net_transport
                               ? make_net_transport
                               : api::open_network) == Status::kOk);
      body(task);
      if (task.finalize() == Status::kOk) {
        finished.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(finished == ranks);
}

void rank_check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
  std::abort();
}

bool eventually(const std::function<bool()>& condition) {
  const TimePoint deadline = SteadyClock().now() + std::chrono::seconds(10);
  while (!condition()) {
    if (SteadyClock().now() > deadline) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace acp::test
