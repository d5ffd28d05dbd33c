// Starts a daemon by a remote shell and exchanges messages with it. Called by
// DaemonConnections, from an event loop, and never waits.
#include "launcher/daemon_connection.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/log.h"
#include "base/printable.h"
#include "launcher/early_exit.h"
#include "launcher/remote_shell.h"
#include "launcher/verdict.h"

namespace acp::launcher {

namespace {

using std::chrono::milliseconds;

/// Time for a remote shell to end after it has closed its output.
constexpr milliseconds kCollectTime{1000};
/// Times that a remote shell is started for one host.
constexpr int kTries = 4;
/// Bytes of standard error that are kept for a message.
constexpr std::size_t kWordsKept = 4096;

}  // namespace

DaemonConnection::DaemonConnection(const HostOrders& orders,
                                   EventLoop& loop,
                                   OnMessage on_message,
                                   OnOver on_over,
                                   Pause pause)
    : shell_(orders.shell),
      hosts_(orders.hosts),
      secret_(orders.identity.secret),
      orders_(std::make_shared<const std::string>(encode_host_message(
          {HostMessageType::kOrders, orders.hosts.front().number, 0, 0, 0,
           encode_orders(orders)}))),
      loop_(loop),
      on_message_(std::move(on_message)),
      on_over_(std::move(on_over)),
      pause_(std::move(pause)) {}

DaemonConnection::~DaemonConnection() {
  kill();
}

bool DaemonConnection::has_host(std::uint32_t host) const {
  return std::ranges::find(hosts_, host, &HostRanks::number) != hosts_.end();
}

/// Forgets the try before, starts the shell, and watches what it says. Its end
/// is watched last, because the connection works without that.
void DaemonConnection::start() {
  ++tries_;
  is_waiting_for_room_ = false;
  state_ = State::kStarting;
  deadline_ = Clock::now() + shell_.timeout;
  auto started = start_remote_shell(shell_, hosts_.front().name);
  if (!started.ok()) {
    lose({"the remote shell could not be started", ""});
    return;
  }
  pid_ = started->pid;
  in_ = std::move(started->in);
  out_ = std::move(started->out);
  words_ = std::move(started->words);
  greeting_.clear();
  said_.clear();
  if (loop_.watch(out_.get(), EPOLLIN, [this] { on_readable(); }) !=
          Status::kOk ||
      loop_.watch(words_.get(), EPOLLIN, [this] { on_words(); }) !=
          Status::kOk) {
    lose({"acprun cannot listen to it", ""});
    return;
  }
  // Without it, a shell that left its pipes to the daemon is found silent
  // later.
  end_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (end_) {
    (void)loop_.watch(end_.get(), EPOLLIN, [this] { on_shell_end(); });
  }
}

/// The shell may have died and left its pipes open in the daemon. What it
/// passed on before comes first.
void DaemonConnection::on_shell_end() {
  loop_.forget(end_.get());
  end_.reset();
  while (out_) {
    pollfd look{out_.get(), POLLIN, 0};
    if (::poll(&look, 1, 0) <= 0) break;
    on_readable();
  }
  if (out_) close_output();
}

/// Output is read whenever there is some. Daemons send no more of the ranks'
/// output than acprun has allowed, so control messages never wait behind it.
void DaemonConnection::on_readable() {
  std::array<char, 65536> buffer{};
  const ssize_t n = ::read(out_.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    close_output();
    return;
  }
  heartbeat_.hear(Clock::now());
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
  if (state_ == State::kStarting) {
    greeting_.append(bytes);
    read_greeting();
  } else {
    reader_.feed(bytes);
  }
  read_messages();
}

/// A remote shell may print text of its own before the greeting, so the
/// greeting is looked for. The secret and the orders go to the front of the
/// queue: messages may have been queued for the daemon before it greeted.
void DaemonConnection::read_greeting() {
  const Greeting greeting = find_greeting(greeting_);
  switch (greeting.kind) {
    case Greeting::Kind::kIncomplete: return;
    case Greeting::Kind::kNone:
      lose(
          {"the remote shell printed something else than acprun's daemon", ""});
      return;
    case Greeting::Kind::kOther: {
      std::string mine = daemon_greeting();
      mine = mine.substr(mine.find(' ') + 1);
      mine.pop_back();
      lose({fmt::format("its acprun is version {}, this one is {}",
                        greeting.version, mine),
            fmt::format("install one version on all hosts as {}",
                        shell_.acprun)});
      return;
    }
    case Greeting::Kind::kGood: break;
  }
  state_ = State::kOpen;
  heartbeat_ = Heartbeat();
  const std::string_view received = greeting_;
  reader_.feed(received.substr(greeting.size));
  queue_.push_first(std::move(orders_));
  if (secret_ != nullptr) {
    const std::string_view bytes(reinterpret_cast<const char*>(secret_->data()),
                                 secret_->size());
    queue_.push_first(std::move(secret_), bytes);
  }
  on_writable();
}

void DaemonConnection::read_messages() {
  while (state_ == State::kOpen) {
    auto message = reader_.next();
    if (!message) break;
    if (message->type != HostMessageType::kAlive) {
      on_message_(std::move(*message));
    }
  }
  if (state_ == State::kOpen && reader_.is_broken()) {
    lose({"its daemon sent bytes that make no sense", ""});
  }
}

/// Lines of the daemon itself pass through once it runs; before that they are
/// kept for the error message.
void DaemonConnection::on_words() {
  std::array<char, 4096> buffer{};
  const ssize_t n = ::read(words_.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    loop_.forget(words_.get());
    words_.reset();
    return;
  }
  const std::string_view text(buffer.data(), static_cast<std::size_t>(n));
  said_.append(text);
  if (state_ == State::kOpen) {
    const std::size_t end = said_.rfind('\n');
    if (end == std::string::npos) return;
    on_message_({HostMessageType::kSay, hosts_.front().number, 0, 0, 0,
                 said_.substr(0, end + 1)});
    said_.erase(0, end + 1);
  } else if (said_.size() > kWordsKept) {
    said_.erase(0, said_.size() - kWordsKept);
  }
}

void DaemonConnection::send(SharedBytes bytes) {
  if (state_ == State::kOver) return;
  queue_.push(std::move(bytes));
  if (state_ == State::kOpen && queue_.size() == 1) on_writable();
}

/// Writes the queue from front to back, as far as the pipe has room. A full
/// pipe is watched until it has room again. A pipe that is closed is no report:
/// the daemon's output closes as well, and check() then learns why from the
/// shell.
void DaemonConnection::on_writable() {
  if (queue_.write_to(in_.get()) != WriteQueue::Outcome::kFull) {
    loop_.forget(in_.get());
  } else if (loop_.watch(in_.get(), EPOLLOUT, [this] { on_writable(); }) !=
             Status::kOk) {
    lose({"acprun cannot write to it", ""});
  }
}

void DaemonConnection::close_output() {
  loop_.forget(out_.get());
  out_.reset();
  collect_by_ = Clock::now() + kCollectTime;
  check();
}

/// A closed output comes first: the shell's exit status then says more than a
/// time-out could. collect_by_ bounds the wait for that status.
void DaemonConnection::check() {
  const auto now = Clock::now();
  if (state_ != State::kStarting && state_ != State::kOpen) return;
  if (!out_) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      if (words_) on_words();
      retry_or_lose(status);
    } else if (now >= collect_by_) {
      lose({"the remote shell closed its output", ""});
    }
    return;
  }
  if (state_ == State::kStarting && now >= deadline_) {
    lose({fmt::format("acprun's daemon did not answer within {:g} s{}",
                      static_cast<double>(shell_.timeout.count()) / 1000.0,
                      last_words()),
          fmt::format("try: {}; --rsh-timeout gives it longer",
                      shell_command(shell_, hosts_.front().name))});
    return;
  }
  if (state_ == State::kOpen) {
    if (heartbeat_.is_word_due(now)) {
      send(std::make_shared<const std::string>(
          encode_host_message({HostMessageType::kAlive})));
    }
    if (heartbeat_.is_silent(now)) {
      lose({fmt::format("nothing was heard from its daemon for {} s",
                        Heartbeat::kSilence.count()),
            "see whether the host, the network to it and its daemon live"});
    }
  }
}

DaemonConnection::Clock::time_point DaemonConnection::next() const {
  switch (state_) {
    case State::kWaiting:
      return is_waiting_for_room_ ? Clock::time_point::max() : start_at_;
    case State::kStarting:
    case State::kOpen:
      // The shell's end raises no event, so the wait for it is short.
      if (!out_) return Clock::now() + milliseconds(5);
      return state_ == State::kOpen ? heartbeat_.next() : deadline_;
    case State::kOver: break;
  }
  return Clock::time_point::max();
}

/// ssh exits with 255 when it cannot connect. Some reasons pass, for example
/// too many connections at once.
void DaemonConnection::retry_or_lose(int status) {
  if (is_done_) {
    lose({});
    return;
  }
  if (state_ == State::kStarting && tries_ < kTries && WIFEXITED(status) &&
      may_pass(WEXITSTATUS(status), said_)) {
    close_pipes();
    state_ = State::kWaiting;
    start_at_ = Clock::now() + pause_();
    return;
  }
  std::string end = describe_shell_end(status);
  if (tries_ > 1) end += fmt::format(", tried {} times", tries_);
  if (state_ == State::kStarting) {
    lose({fmt::format("acprun's daemon could not be started: {} {}{}",
                      shell_name(shell_), end, last_words()),
          advise_on_shell(shell_, hosts_.front().name, status)});
  } else {
    lose({fmt::format("the connection to its daemon ended: {} {}{}",
                      shell_name(shell_), end, last_words()),
          ""});
  }
}

std::string DaemonConnection::describe_shell_end(int status) const {
  return WIFSIGNALED(status)
             ? "was killed by " + describe_signal(WTERMSIG(status))
             : fmt::format("exited with status {}", WEXITSTATUS(status));
}

/// The last line that the remote shell printed, for the end of a message.
std::string DaemonConnection::last_words() const {
  std::string_view text(said_);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  text = text.substr(text.rfind('\n') + 1);
  if (text.empty()) return "";
  return ": " + printable(text, 300);
}

void DaemonConnection::lose(const Reason& why) {
  if (state_ == State::kOver) return;
  kill();
  on_over_(why);
}

/// Without its standard input the daemon ends itself.
void DaemonConnection::close_pipes() {
  for (UniqueFd* fd : {&in_, &out_, &words_, &end_}) {
    if (*fd) {
      loop_.forget(fd->get());
      fd->reset();
    }
  }
}

void DaemonConnection::kill() {
  close_pipes();
  queue_.clear();
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  state_ = State::kOver;
}

}  // namespace acp::launcher
