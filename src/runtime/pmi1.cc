// The client of PMI-1, as MPICH's mpiexec (Hydra) speaks it. Called by the
// bootstrap. Rank and size are in the environment; everything else is asked. No
// question may wait beyond the caller's limit.
#include <fmt/core.h>

#include "base/log.h"
#include "runtime/host_bundle.h"
#include "runtime/mpi_presence.h"
#include "runtime/pmi_client.h"

namespace acp::runtime {

namespace {

class Pmi1 final : public PmiClient {
 public:
  explicit Pmi1(UniqueFd socket)
      : PmiClient(PmiDialect::kPmi1, std::move(socket)) {}

  /// An MPI library in this process may have said "init" before. Hydra answers
  /// it any number of times, and Slurm once.
  Status connect(const WaitLimit& limit) {
    if (!is_slurm_beside_mpi()) {
      if (const Status status = agree_on_version("1", "1", limit);
          status != Status::kOk) {
        return status;
      }
    }
    const auto maxes = ask("get_maxes", {}, "maxes", limit);
    if (!maxes.ok()) {
      return maxes.status();
    }
    const auto space = ask("get_my_kvsname", {}, "my_kvsname", limit);
    if (!space.ok()) {
      return space.status();
    }
    const std::string* name = space->find("kvsname");
    const auto longest = maxes->number("vallen_max");
    // The limit counts the 0 at the end of a text in C.
    if (name == nullptr || !longest ||
        *longest <= static_cast<std::int64_t>(kBundleMinValue)) {
      log_error(
          "the launcher gives no name for its key-value space, or values of "
          "at most {} characters",
          longest.value_or(-1));
      return Status::kProtocol;
    }
    space_ = *name;
    value_limit_ = static_cast<std::size_t>(*longest) - 1;
    return set_rank_and_size(number_in_environment("PMI_RANK"),
                             number_in_environment("PMI_SIZE"));
  }

  std::string_view name() const noexcept override { return "pmi1"; }

  std::size_t value_limit() const noexcept override { return value_limit_; }

  Result<NodeMap> node_map(const WaitLimit& limit) override {
    const auto answer = try_to_ask(
        "get", {{"kvsname", space_}, {"key", kMapping}}, "get_result", limit);
    if (!answer.ok()) {
      return answer.status();
    }
    return node_map_in(*answer);
  }

  Status put(std::string_view key,
             std::string_view value,
             const WaitLimit& limit) override {
    return ask_for_success("put",
                           {{"kvsname", space_},
                            {"key", std::string(key)},
                            {"value", std::string(value)}},
                           "put_result", limit);
  }

  Result<std::string> get(std::uint32_t,
                          std::string_view key,
                          const WaitLimit& limit) override {
    return ask_for_value("get",
                         {{"kvsname", space_}, {"key", std::string(key)}},
                         "get_result", limit);
  }

  Status fence(FenceValues, const WaitLimit& limit) override {
    return ask_for_success("barrier_in", {}, "barrier_out", limit,
                           PmiAnswer::kFence);
  }

  void abort(int exit_status, std::string_view) override {
    tell_to_abort("abort", {{"exitcode", fmt::format("{}", exit_status)}});
  }

 private:
  static constexpr const char* kMapping = "PMI_process_mapping";

  std::string space_;  ///< Name of the job's key-value space.
  std::size_t value_limit_ = 0;
};

}  // namespace

Result<std::unique_ptr<ProcessManager>> connect_by_pmi1(
    const WaitLimit& limit) {
  return connect_client<Pmi1>(limit);
}

}  // namespace acp::runtime
