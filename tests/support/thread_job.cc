// Runs jobs whose ranks are threads of the test program, with the library's
// real tasks and transports. Tests of the runtime and the transports use it.
#include "support/thread_job.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <catch2/catch.hpp>

#include "api/open_network.h"
#include "protocol/host_segment.h"

namespace acp::test {

namespace {

/// Bootstrap of a rank that is a thread. All phases share one barrier, since
/// every rank goes through them in one order.
class ThreadBootstrap final : public runtime::Bootstrap {
 public:
  ThreadBootstrap(std::uint32_t proc,
                  const protocol::HostSegment& segment,
                  std::barrier<>& barrier)
      : proc_(proc), segment_(segment), barrier_(barrier) {}

  std::string_view name() const noexcept override { return "threads"; }

  std::uint32_t proc() const noexcept override { return proc_; }

  const protocol::HostSegment& segment() const noexcept override {
    return segment_;
  }

  Status arrive(protocol::Phase) override {
    barrier_.arrive_and_wait();
    return Status::kOk;
  }

  void abort(int, std::string_view) override {}

  void finalized() override {}

 private:
  std::uint32_t proc_;
  const protocol::HostSegment& segment_;
  std::barrier<>& barrier_;
};

}  // namespace

/// Makes the segment first and then a thread per rank. A rank that fails to
/// join ends the program, since the other ranks wait for it at the barrier.
void run_thread_job(
    std::uint32_t ranks,
    const std::vector<std::pair<SettingId, std::string>>& settings,
    const std::function<void(runtime::Task& task)>& body,
    const runtime::NetTransportFactory& make_net_transport) {
  Settings values;
  for (const auto& [id, text] : settings) {
    REQUIRE(values.set(id, text, SettingSource::kEnvironment) == Status::kOk);
  }
  const auto identity = protocol::make_job_identity();
  REQUIRE(identity.ok());
  protocol::HostPlan plan;
  plan.identity = *identity;
  plan.procs = ranks;
  plan.local_procs = ranks;
  plan.starter_bytes = values.number(SettingId::kStarterMemory);
  plan.module_bytes = protocol::module_bytes_for(values);
  const Result<UniqueFd> memory = protocol::create_host_segment(plan);
  REQUIRE(memory.ok());
  // All ranks use one mapping, so that tsan sees them touch equal addresses.
  const Result<protocol::HostSegment> segment =
      protocol::HostSegment::map(memory.value().get());
  REQUIRE(segment.ok());
  std::barrier<> barrier(ranks);
  std::atomic<std::uint32_t> finished{0};
  std::vector<std::thread> threads;
  for (std::uint32_t proc = 0; proc < ranks; ++proc) {
    threads.emplace_back([&, proc] {
      runtime::Modules modules;
      runtime::Task task(
          values,
          std::make_unique<ThreadBootstrap>(proc, segment.value(), barrier),
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
