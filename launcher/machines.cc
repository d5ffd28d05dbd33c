// Resolves the names of hosts. Called by DaemonConnections before it starts
// daemons, and only where it has many. It may not hold up the start for longer
// than two seconds: a name without an answer stands for itself.
#include "launcher/machines.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "launcher/child_answer.h"
#include "launcher/loopback.h"

namespace acp::launcher {

namespace {

constexpr const char* kLoopback = "loopback";

/// "" where the resolver knows no address. Where it knows several, which it may
/// give in any order, the smallest text counts, one of IPv4 first.
std::string address_of(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(
      found, ::freeaddrinfo);
  std::pair<bool, std::string> best{true, ""};
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (is_loopback(one->ai_addr)) return kLoopback;
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(),
                      nullptr, 0, NI_NUMERICHOST) != 0) {
      continue;
    }
    std::pair<bool, std::string> mine{one->ai_family != AF_INET, text.data()};
    if (best.second.empty() || mine < best) best = std::move(mine);
  }
  return best.second;
}

/// Writes a line "NUMBER ADDRESS" for each name that has one.
void resolve_all(const std::vector<std::string>& names, int fd) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string address = address_of(names[i]);
    if (address.empty()) continue;
    const std::string line = std::to_string(i) + " " + address + "\n";
    if (::write(fd, line.data(), line.size()) < 0) return;
  }
}

}  // namespace

/// A name that the resolver does not answer in time stays as it is. It then
/// counts as a machine of its own.
std::vector<std::string> machines_of(std::span<const std::string> names) {
  std::vector<std::string> machines;
  for (const std::string& name : names)
    machines.push_back(name.substr(name.rfind('@') + 1));
  const std::string answer =
      answer_of_child([&machines](int fd) { resolve_all(machines, fd); },
                      kResolveLimit)
          .bytes;
  // A line without its end was truncated by the limit.
  std::string_view rest(answer);
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos;
       end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    std::size_t number = 0;
    const auto [word_end, error] =
        std::from_chars(line.data(), line.data() + line.size(), number);
    if (error == std::errc{} && number < machines.size()) {
      machines[number] = std::string(word_end + 1, line.data() + line.size());
    }
  }
  return machines;
}

}  // namespace acp::launcher
