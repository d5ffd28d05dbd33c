#include "protocol/host_segment.h"
#include "runtime/bootstrap.h"

namespace acp::runtime {

namespace {

class Singleton final : public Bootstrap {
 public:
  explicit Singleton(UniqueFd segment) : segment_(std::move(segment)) {}

  std::string_view name() const noexcept override { return "singleton"; }

  std::uint32_t proc() const noexcept override { return 0; }

  int host_segment() const noexcept override { return segment_.get(); }

  Status arrive(protocol::Phase) override { return Status::kOk; }

  void abort(int, std::string_view) override {}

  void finalized() override {}

 private:
  UniqueFd segment_;
};

}  // namespace

Result<std::unique_ptr<Bootstrap>> be_singleton(const Settings& settings) {
  protocol::HostPlan plan;
  plan.starter_bytes = settings.number(SettingId::kStarterMemory);
  plan.module_bytes = settings.number(SettingId::kModuleMemory);
  Result<UniqueFd> segment = protocol::create_host_segment(plan);
  if (!segment.ok()) {
    return segment.status();
  }
  return std::unique_ptr<Bootstrap>(
      std::make_unique<Singleton>(std::move(*segment)));
}

}  // namespace acp::runtime
