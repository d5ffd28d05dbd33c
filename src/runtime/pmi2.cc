// The client of PMI-2, as srun --mpi=pmi2 speaks it, and Hydra too. Called by
// the bootstrap. The launcher's answer to "fullinit" has rank and size. No
// question may wait beyond the caller's limit.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "runtime/pmi_client.h"

namespace acp::runtime {

namespace {

/// Longest value that the interface promises, without the 0 at the end of a
/// text in C.
constexpr std::size_t kValueLimit = 1023;

class Pmi2 final : public PmiClient {
 public:
  explicit Pmi2(UniqueFd socket)
      : PmiClient(PmiDialect::kPmi2, std::move(socket)) {}

  Status connect(const WaitLimit& limit) {
    if (const Status status = agree_on_version("2", "0", limit);
        status != Status::kOk) {
      return status;
    }
    const auto rank = number_in_environment("PMI_RANK");
    const char* job = std::getenv("PMI_JOBID");
    job_ = job == nullptr ? "" : job;
    const auto answer = ask("fullinit",
                            {{"pmijobid", job_},
                             {"pmirank", fmt::format("{}", rank.value_or(-1))},
                             {"threaded", "FALSE"}},
                            "fullinit-response", limit);
    return answer.ok() ? set_rank_and_size(answer->number("rank"),
                                           answer->number("size"))
                       : answer.status();
  }

  std::string_view name() const noexcept override { return "pmi2"; }

  std::size_t value_limit() const noexcept override { return kValueLimit; }

  Result<NodeMap> node_map(const WaitLimit& limit) override {
    const auto answer =
        try_to_ask("info-getjobattr", {{"key", "PMI_process_mapping"}},
                   "info-getjobattr-response", limit);
    if (!answer.ok()) {
      return answer.status();
    }
    return node_map_in(*answer);
  }

  Status put(std::string_view key,
             std::string_view value,
             const WaitLimit& limit) override {
    return ask_for_success(
        "kvs-put", {{"key", std::string(key)}, {"value", std::string(value)}},
        "kvs-put-response", limit);
  }

  Result<std::string> get(std::uint32_t,
                          std::string_view key,
                          const WaitLimit& limit) override {
    return ask_for_value(
        "kvs-get",
        {{"jobid", job_}, {"srcid", "-1"}, {"key", std::string(key)}},
        "kvs-get-response", limit);
  }

  Status fence(FenceValues, const WaitLimit& limit) override {
    return ask_for_success("kvs-fence", {}, "kvs-fence-response", limit,
                           PmiAnswer::kFence);
  }

  /// PMI-2 has no exit status here: the launcher takes one of its own. Slurm
  /// splits the text at semicolons, also at two of them.
  void abort(int, std::string_view text) override {
    std::string message(text);
    std::ranges::replace(message, ';', ',');
    tell_to_abort("abort", {{"isworld", "TRUE"}, {"msg", message}});
  }

 private:
  std::string job_;  ///< The launcher's name of the job.
};

}  // namespace

Result<std::unique_ptr<ProcessManager>> connect_by_pmi2(
    const WaitLimit& limit) {
  return connect_client<Pmi2>(limit);
}

}  // namespace acp::runtime
