// Requests that PMI-1 and PMI-2 share, and the end of the conversation. Called
// by the two clients. Where MPI shares the connection, only one of MPI and ACP
// may say "finalize".
#include "runtime/pmi_client.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "runtime/mpi_presence.h"

namespace acp::runtime {

namespace {

/// A launcher that does not answer "finalize" has ended already.
constexpr Duration kFinalizeLimit = std::chrono::seconds(5);

/// Time for the launcher to pass on what this process has written.
constexpr int kPauseForOutputMs = 200;

/// Time for the launcher to end this process after "abort". Hydra does so
/// within milliseconds.
constexpr Duration kAbortLimit = std::chrono::seconds(1);

void say_finalize(PmiDialect dialect, PmiConnection& connection) {
  WaitLimit limit;
  limit.deadline = SteadyClock().now() + kFinalizeLimit;
  const std::string_view answer =
      dialect == PmiDialect::kPmi1 ? "finalize_ack" : "finalize-response";
  (void)connection.request(dialect, {"finalize", {}}, answer, limit);
}

/// Says "finalize" at the exit of the process, unless MPI has begun meanwhile:
/// then its MPI_Finalize has said so.
class FinalizeAtExit {
 public:
  FinalizeAtExit(PmiDialect dialect, std::unique_ptr<PmiConnection> connection)
      : dialect_(dialect), connection_(std::move(connection)) {}

  FinalizeAtExit(const FinalizeAtExit&) = delete;
  FinalizeAtExit& operator=(const FinalizeAtExit&) = delete;

  ~FinalizeAtExit() {
    if (mpi_presence() == MpiPresence::kNotYet) {
      say_finalize(dialect_, *connection_);
    }
  }

 private:
  PmiDialect dialect_;
  std::unique_ptr<PmiConnection> connection_;
};

}  // namespace

std::optional<std::int64_t> number_in_environment(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) {
    return std::nullopt;
  }
  return PmiMessage{"", {{variable, text}}}.number(variable);
}

PmiClient::PmiClient(PmiDialect dialect, UniqueFd socket)
    : dialect_(dialect),
      connection_(std::make_unique<PmiConnection>(std::move(socket))) {}

Result<PmiMessage> PmiClient::ask(
    std::string_view command,
    std::initializer_list<PmiMessage::Field> fields,
    std::string_view expected,
    const WaitLimit& limit,
    PmiAnswer kind) {
  auto answer = try_to_ask(command, fields, expected, limit, kind);
  if (answer.ok() && !answer->is_success()) {
    const std::string* reason = answer->find("msg");
    reason = reason == nullptr ? answer->find("errmsg") : reason;
    log_error("the launcher refuses \"{}\": {}", command,
              reason == nullptr ? "it gives no reason" : *reason);
    return Status::kProtocol;
  }
  return answer;
}

Result<PmiMessage> PmiClient::try_to_ask(
    std::string_view command,
    std::initializer_list<PmiMessage::Field> fields,
    std::string_view expected,
    const WaitLimit& limit,
    PmiAnswer kind) {
  return connection_->request(dialect_, {std::string(command), fields},
                              expected, limit, kind);
}

Status PmiClient::ask_for_success(
    std::string_view command,
    std::initializer_list<PmiMessage::Field> fields,
    std::string_view expected,
    const WaitLimit& limit,
    PmiAnswer kind) {
  return ask(command, fields, expected, limit, kind).status();
}

Result<std::string> PmiClient::ask_for_value(
    std::string_view command,
    std::initializer_list<PmiMessage::Field> fields,
    std::string_view expected,
    const WaitLimit& limit) {
  const auto answer = ask(command, fields, expected, limit);
  if (!answer.ok()) {
    return answer.status();
  }
  const std::string* value = answer->find("value");
  return value == nullptr ? std::string() : *value;
}

bool PmiClient::shares_connection() const noexcept {
  return mpi_presence() != MpiPresence::kAbsent;
}

Status PmiClient::agree_on_version(std::string_view version,
                                   std::string_view subversion,
                                   const WaitLimit& limit) {
  const auto answer =
      connection_->request(PmiDialect::kPmi1,
                           {"init",
                            {{"pmi_version", std::string(version)},
                             {"pmi_subversion", std::string(subversion)}}},
                           "response_to_init", limit);
  return answer.status();
}

NodeMap PmiClient::node_map_in(const PmiMessage& answer) const {
  const std::string* text = answer.find("value");
  auto map = decode_process_mapping(text == nullptr ? "" : *text, size());
  return map ? std::move(*map) : NodeMap();
}

Status PmiClient::set_rank_and_size(std::optional<std::int64_t> rank,
                                    std::optional<std::int64_t> size) {
  if (!rank || !size || *rank < 0 || *rank >= *size) {
    log_error(
        "the launcher gives rank {} of {} ranks: variables PMI_RANK and "
        "PMI_SIZE, or its answer, are wrong",
        rank.value_or(-1), size.value_or(-1));
    return Status::kProtocol;
  }
  rank_ = static_cast<std::uint32_t>(*rank);
  size_ = static_cast<std::uint32_t>(*size);
  return Status::kOk;
}

void PmiClient::tell_to_abort(std::string_view command,
                              std::initializer_list<PmiMessage::Field> fields) {
  (void)::poll(nullptr, 0, kPauseForOutputMs);
  if (connection_->send(dialect_, {std::string(command), fields})) {
    connection_->wait_for_close(SteadyClock().now() + kAbortLimit);
  }
}

void PmiClient::finalize() {
  switch (mpi_presence()) {
    case MpiPresence::kAbsent: say_finalize(dialect_, *connection_); break;
    case MpiPresence::kNotYet: {
      static const FinalizeAtExit at_exit(dialect_, std::move(connection_));
      break;
    }
    case MpiPresence::kRunning:
    case MpiPresence::kFinalized: break;
  }
}

}  // namespace acp::runtime
