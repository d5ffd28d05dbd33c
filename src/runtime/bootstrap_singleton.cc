// A process that was started by hand: a job of one rank, which makes its own
// host segment and meets no other process. Called by find_bootstrap and by the
// Task. Nothing here waits, because no other process can answer.
#include "runtime/bootstrap.h"

namespace acp::runtime {

namespace {

class Singleton final : public Bootstrap {
 public:
  explicit Singleton(protocol::HostSegment segment)
      : segment_(std::move(segment)) {}

  std::string_view name() const noexcept override { return "singleton"; }

  std::uint32_t proc() const noexcept override { return 0; }

  const protocol::HostSegment& segment() const noexcept override {
    return segment_;
  }

  Status arrive(protocol::Phase) override { return Status::kOk; }

  bool abort(int, std::string_view) override { return true; }

  void finalized() override {}

 private:
  protocol::HostSegment segment_;
};

}  // namespace

/// Does what acprun does for a host: makes the identity of the job, and then
/// the segment with one slice.
Result<std::unique_ptr<Bootstrap>> be_singleton(const Settings& settings) {
  const auto identity = protocol::make_job_identity();
  if (!identity.ok()) {
    return identity.status();
  }
  protocol::HostPlan plan;
  plan.identity = *identity;
  plan.sizes = protocol::host_sizes_for(settings);
  const Result<UniqueFd> memory = protocol::create_host_segment(plan);
  if (!memory.ok()) {
    return memory.status();
  }
  Result<protocol::HostSegment> segment =
      protocol::HostSegment::map(memory.value().get());
  if (!segment.ok()) {
    return segment.status();
  }
  return std::unique_ptr<Bootstrap>(
      std::make_unique<Singleton>(std::move(*segment)));
}

}  // namespace acp::runtime
