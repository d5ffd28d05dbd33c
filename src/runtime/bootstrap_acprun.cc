// A process that acprun has started: messages of protocol/bootstrap.h over the
// socket that it inherits. Called by the Task, which waits in arrive() for as
// long as the other processes take.
#include <unistd.h>

#include "base/log.h"
#include "runtime/bootstrap.h"
#include "runtime/bootstrap_socket.h"

namespace acp::runtime {

namespace {

using protocol::BootstrapMessage;
using protocol::BootstrapType;

class Acprun final : public Bootstrap {
 public:
  explicit Acprun(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Says hello, takes the welcome with the memory of the host, and checks
  /// both. A mistake here means that launcher and library do not belong
  /// together.
  Status join() {
    if (const Status status = send({BootstrapType::kHello,
                                    static_cast<std::uint64_t>(::getpid()),
                                    {}});
        status != Status::kOk) {
      return status;
    }
    const Result<BootstrapMessage> welcome = receive();
    if (!welcome.ok()) {
      return welcome.status();
    }
    if (welcome.value().type != BootstrapType::kWelcome || !memory_) {
      log_error(
          "acprun did not say welcome: launcher and library are of "
          "different builds");
      return Status::kProtocol;
    }
    proc_ = static_cast<std::uint32_t>(welcome.value().value);
    Result<protocol::HostSegment> segment =
        protocol::HostSegment::map(memory_.get());
    memory_.reset();
    if (!segment.ok()) {
      return segment.status();
    }
    segment_ = std::move(*segment);
    if (proc_ >= segment_.header().procs ||
        segment_.slot_of_proc(proc_) == protocol::kNoSlot) {
      log_error(
          "acprun calls this process {}, which its memory of {} processes "
          "has no place for: launcher and library are of different builds",
          proc_, segment_.header().procs);
      return Status::kProtocol;
    }
    return Status::kOk;
  }

  std::string_view name() const noexcept override { return "acprun"; }

  std::uint32_t proc() const noexcept override { return proc_; }

  const protocol::HostSegment& segment() const noexcept override {
    return segment_;
  }

  /// acprun answers when all processes have arrived, or when the job ends.
  Status arrive(protocol::Phase phase) override {
    const auto value = static_cast<std::uint64_t>(phase);
    const Status status = send({BootstrapType::kArrive, value, {}});
    if (status != Status::kOk) {
      return status;
    }
    const Result<BootstrapMessage> answer = receive();
    if (!answer.ok()) {
      return answer.status();
    }
    if (answer.value().type == BootstrapType::kEnding) {
      log_error("the job ends: {}", answer.value().text);
      return Status::kAborted;
    }
    const bool is_go = answer.value().type == BootstrapType::kGo &&
                       answer.value().value == value;
    if (!is_go) {
      log_error(
          "acprun answered phase {} with message {} value {}: launcher and "
          "library are of different builds",
          value, static_cast<int>(answer.value().type), answer.value().value);
      return Status::kProtocol;
    }
    return Status::kOk;
  }

  void tell_leaving(protocol::BootstrapType type,
                    const protocol::Leaving& leaving) override {
    (void)send({type, leaving.word(), {}});
  }

  void abort(int exit_status, std::string_view text) override {
    (void)send({BootstrapType::kAbort, static_cast<std::uint64_t>(exit_status),
                std::string(text)});
  }

  void finalized() override {
    (void)send({BootstrapType::kFinalized, 0, {}});
    socket_.reset();
  }

 private:
  Status send(const BootstrapMessage& message) {
    if (const int error = send_message(socket_.get(), message); error != 0) {
      log_error("acprun is gone: {}", errno_text(error));
      return Status::kAborted;
    }
    return Status::kOk;
  }

  /// The next message; keeps the descriptor that comes with it. It has no
  /// deadline: acprun has one for every phase, and acprun's death closes the
  /// socket.
  Result<BootstrapMessage> receive() {
    ReceivedMessage received = receive_message(socket_.get(), Waiting::kBlocks);
    switch (received.kind) {
      case ReceivedMessage::Kind::kMessage: break;
      case ReceivedMessage::Kind::kNonsense:
        log_error(
            "acprun sent {} bytes that make no sense: launcher and "
            "library are of different builds",
            received.bytes);
        return Status::kProtocol;
      default:
        log_error("acprun is gone: {}", received.error == 0
                                            ? "connection closed"
                                            : errno_text(received.error));
        return Status::kAborted;
    }
    if (received.attached) {
      memory_ = std::move(received.attached);
    }
    return std::move(received.message);
  }

  UniqueFd socket_;
  UniqueFd memory_;  ///< The host segment, from the welcome to its mapping.
  protocol::HostSegment segment_;
  std::uint32_t proc_ = 0;
};

}  // namespace

Result<std::unique_ptr<Bootstrap>> connect_to_acprun(UniqueFd socket) {
  auto acprun = std::make_unique<Acprun>(std::move(socket));
  if (const Status status = acprun->join(); status != Status::kOk) {
    return status;
  }
  return std::unique_ptr<Bootstrap>(std::move(acprun));
}

}  // namespace acp::runtime
