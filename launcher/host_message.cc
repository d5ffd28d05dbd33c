// Encodes and decodes the messages between acprun and daemons, and the
// greeting. Called by connections and daemons, and for reasons of failures by
// HostPart and acprun's job. Makes no system call.
#include "launcher/host_message.h"

#include <fmt/core.h>

#include <cstring>

#include "base/printable.h"
#include "protocol/byte_codec.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

using protocol::ByteReader;
using protocol::ByteWriter;

namespace {

constexpr std::string_view kGreetingStart = "acprun-daemon ";

struct Header {
  std::uint32_t magic;
  std::uint16_t type;
  std::uint16_t zero;
  std::uint32_t size;
  std::uint32_t host;
  std::uint32_t rank;
  std::uint32_t zero_too;
  std::int64_t value;
  std::int64_t more;
};

static_assert(sizeof(Header) == kHostHeaderBytes);

}  // namespace

std::string encode_host_message(const HostMessage& message) {
  Header header{};
  header.magic = kHostMagic;
  header.type = static_cast<std::uint16_t>(message.type);
  header.size = static_cast<std::uint32_t>(message.text.size());
  header.host = message.host;
  header.rank = message.rank;
  header.value = message.value;
  header.more = message.more;
  std::string bytes;
  bytes.reserve(sizeof header + message.text.size());
  bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(message.text);
  return bytes;
}

/// The header is checked before its size is believed: the bytes may come from a
/// shell on the other host.
std::optional<HostMessage> HostMessageReader::next() {
  Header header{};
  const std::string_view pending = pending_;
  const std::string_view bytes = pending.substr(begin_);
  if (is_broken_ || bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kHostMagic || header.zero != 0 || header.zero_too != 0 ||
      header.size > kHostMaxText) {
    is_broken_ = true;
    return std::nullopt;
  }
  if (bytes.size() - sizeof header < header.size) return std::nullopt;
  HostMessage message;
  message.type = static_cast<HostMessageType>(header.type);
  message.host = header.host;
  message.rank = header.rank;
  message.value = header.value;
  message.more = header.more;
  message.text = bytes.substr(sizeof header, header.size);
  begin_ += sizeof header + header.size;
  // Erasing after each message would move all bytes behind it each time.
  if (begin_ == pending_.size() || begin_ > (1 << 20)) {
    pending_.erase(0, begin_);
    begin_ = 0;
  }
  return message;
}

std::string encode_reason(const Reason& reason) {
  ByteWriter writer;
  writer.text(reason.text);
  writer.text(reason.advice);
  return writer.take();
}

Reason decode_reason(std::string_view text) {
  // Room for a path of the greatest length, with words around it.
  constexpr std::size_t kMost = 8192;
  ByteReader reader(text);
  const std::string_view reason = reader.text();
  return {printable(reason, kMost), printable(reader.text(), kMost)};
}

std::string daemon_greeting() {
  return fmt::format("{}{} {} {}\n", kGreetingStart, ACP_VERSION,
                     protocol::kHostVersion, kDaemonProtocol);
}

Greeting find_greeting(std::string_view bytes) {
  const std::size_t start = bytes.find(kGreetingStart);
  const std::size_t end =
      start == std::string_view::npos ? start : bytes.find('\n', start);
  if (end == std::string_view::npos) {
    return {bytes.size() < kGreetingLimit ? Greeting::Kind::kIncomplete
                                          : Greeting::Kind::kNone,
            "", 0};
  }
  const std::string_view line = bytes.substr(start, end + 1 - start);
  std::string_view version = line.substr(kGreetingStart.size());
  version.remove_suffix(1);
  return {line == daemon_greeting() ? Greeting::Kind::kGood
                                    : Greeting::Kind::kOther,
          printable(version, kPrintableName), end + 1};
}

}  // namespace acp::launcher
