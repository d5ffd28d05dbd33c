// A process that acprun has started: messages of protocol/bootstrap.h over the
// socket that it inherits. Called by find_bootstrap, and by the Task, which
// waits in arrive() for as long as the other processes take. A transport calls
// it when it reaches a process of another host for the first time. It may not
// wait longer than acprun lives.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.h"
#include "protocol/rank_names.h"
#include "runtime/bootstrap.h"
#include "runtime/bootstrap_socket.h"

namespace acp::runtime {

namespace {

using protocol::BootstrapMessage;
using protocol::BootstrapType;

/// The connection to acprun. One thread at a time calls join(), arrive() and
/// finalized(). Meanwhile another may fetch an address card.
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
    const Result<BootstrapMessage> welcome = receive(Wanted::kOther);
    if (!welcome.ok()) {
      return welcome.status();
    }
    if (welcome.value().type == BootstrapType::kEnding) {
      return log_end(*welcome);
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
          "acprun calls this process rank {}, which its memory of {} ranks has "
          "no slot for: launcher and library are of different builds",
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
    const Result<BootstrapMessage> answer = receive(Wanted::kOther);
    if (!answer.ok()) {
      return answer.status();
    }
    if (answer.value().type == BootstrapType::kEnding) {
      return log_end(*answer);
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

  /// acprun writes an address card without the zeros at its end, so the room
  /// is cleared first.
  Result<std::span<const std::byte>> fetch_card(std::uint32_t proc) override {
    const auto room = segment_.fetched_card(segment_.slot_of_proc(proc_));
    std::ranges::fill(room.first(fetched_bytes_), std::byte{0});
    fetched_bytes_ = 0;
    if (const Status status = send({BootstrapType::kWantAddress, proc, {}});
        status != Status::kOk) {
      return status;
    }
    const Result<BootstrapMessage> answer = receive(Wanted::kAddress);
    if (!answer.ok()) {
      return answer.status();
    }
    if (answer->type == BootstrapType::kEnding) {
      return log_end(*answer);
    }
    fetched_bytes_ = std::min<std::size_t>(answer->value, room.size());
    log(LogLevel::kDebug, "acprun has fetched the address card of {}",
        protocol::name_of_proc(segment_, proc));
    return std::span<const std::byte>(room);
  }

  void tell_absence(const protocol::Absence& absence) override {
    (void)send({BootstrapType::kAbsent, absence.word(), {}});
  }

  /// Logs no failure: where acprun is gone, it may be the reason of this call.
  bool abort(int exit_status, std::string_view why) override {
    return send_message(socket_.get(), {BootstrapType::kAbort,
                                        static_cast<std::uint64_t>(exit_status),
                                        std::string(why)}) == 0;
  }

  void finalized() override {
    (void)send({BootstrapType::kFinalized, 0, {}});
    socket_.reset();
  }

 private:
  static Status log_end(const BootstrapMessage& ending) {
    log_error("the job ends: {}", ending.text);
    return Status::kAborted;
  }

  Status send(const BootstrapMessage& message) {
    if (const int error = send_message(socket_.get(), message); error != 0) {
      log_lost_connection(error);
      return Status::kAborted;
    }
    return Status::kOk;
  }

  /// Programs that become daemons close all descriptors. After that the number
  /// is unused, or belongs to another file.
  static void log_lost_connection(int error) {
    if (error == EBADF || error == ENOTSOCK) {
      log_error(
          "the program has closed the connection to acprun ({}): close only "
          "descriptors that the program has opened",
          errno_text(error));
      return;
    }
    log_error("acprun is gone: {}",
              error == 0 ? "connection closed" : errno_text(error));
  }

  /// A thread that waits for the answer to WantAddress, and one that waits for
  /// all else, may wait at the same time.
  enum class Wanted : std::uint8_t { kAddress, kOther };

  /// The next message of this kind, or Ending. One of the waiting threads reads
  /// the socket, and leaves to the other what is not its own. It has no
  /// deadline: acprun has one for every phase, and acprun's death closes the
  /// socket.
  Result<BootstrapMessage> receive(Wanted wanted) {
    auto& mine = wanted == Wanted::kAddress ? card_ : other_;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (mine) {
        return *std::exchange(mine, std::nullopt);
      }
      if (end_) {
        return *end_;
      }
      if (is_reading_) {
        changed_.wait(lock);
        continue;
      }
      is_reading_ = true;
      lock.unlock();
      Result<BootstrapMessage> message = read_socket();
      lock.lock();
      is_reading_ = false;
      changed_.notify_all();
      if (!message.ok() || message->type == BootstrapType::kEnding) {
        end_ = std::move(message);
      } else if (message->type == BootstrapType::kAddress) {
        card_ = std::move(*message);
      } else {
        other_ = std::move(*message);
      }
    }
  }

  /// Waits for a message; keeps the descriptor that comes with it.
  Result<BootstrapMessage> read_socket() {
    ReceivedMessage received = receive_message(socket_.get(), Waiting::kBlocks);
    switch (received.kind) {
      case ReceivedMessage::Kind::kMessage: break;
      case ReceivedMessage::Kind::kNonsense:
        log_error(
            "acprun sent {} bytes that make no sense: launcher and "
            "library are of different builds",
            received.bytes);
        return Status::kProtocol;
      default: log_lost_connection(received.error); return Status::kAborted;
    }
    if (received.attached) {
      memory_ = std::move(received.attached);
    }
    return std::move(received.message);
  }

  // join() fills the first four before another thread knows the object, so no
  // lock guards them. finalized() closes the socket.
  UniqueFd socket_;
  UniqueFd memory_;  ///< The host segment, from the welcome to its mapping.
  protocol::HostSegment segment_;
  std::uint32_t proc_ = 0;
  /// Size of the last one that was fetched. Written by the thread that
  /// fetches an address card, one at a time.
  std::size_t fetched_bytes_ = 0;

  std::mutex mutex_;                       ///< Guards all fields below, which
                                           ///< receive() writes.
  std::condition_variable changed_;        ///< Some field below has changed.
  bool is_reading_ = false;                ///< A thread is in read_socket().
  std::optional<BootstrapMessage> card_;   ///< Not yet taken.
  std::optional<BootstrapMessage> other_;  ///< Not yet taken.
  /// Ending, or why the connection has failed: the answer to every wait.
  std::optional<Result<BootstrapMessage>> end_;
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
