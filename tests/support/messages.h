// Requests and replies as bytes, for tests of agents and engines.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "base/little_endian.h"
#include "protocol/operation.h"

namespace acp::test {

template <typename T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
  const auto more = std::as_bytes(values);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

inline std::vector<std::byte> request_message(
    std::uint64_t id,
    std::span<const protocol::Step> steps,
    std::span<const std::byte> data) {
  protocol::RequestHeader header;
  header.steps = static_cast<std::uint8_t>(steps.size());
  header.data_bytes = static_cast<std::uint32_t>(data.size());
  header.id = id;
  std::vector<std::byte> bytes;
  append(bytes, std::span<const protocol::RequestHeader>(&header, 1));
  for (const protocol::Step& step : steps) {
    const protocol::StepBytes encoded = protocol::encode_step(step);
    append(bytes, std::span<const std::byte>(encoded));
  }
  append(bytes, data);
  return bytes;
}

inline std::vector<std::byte> reply_message(std::uint64_t id,
                                            Status status,
                                            std::uint16_t failed_step,
                                            std::span<const std::byte> data) {
  protocol::ReplyHeader header;
  header.status = status;
  header.failed_step = failed_step;
  header.data_bytes = static_cast<std::uint32_t>(data.size());
  header.id = id;
  std::vector<std::byte> bytes;
  append(bytes, std::span<const protocol::ReplyHeader>(&header, 1));
  append(bytes, data);
  return bytes;
}

/// Precondition: at least one id. A shared reply of one is malformed.
inline std::vector<std::byte> shared_reply_message(
    std::span<const std::uint64_t> ids) {
  const auto others = std::as_bytes(ids.subspan(1));
  auto bytes = reply_message(ids.front(), Status::kOk, 0, others);
  bytes[0] = static_cast<std::byte>(protocol::MessageType::kSharedReply);
  return bytes;
}

/// The ids that a reply answers, shared or not.
inline std::vector<std::uint64_t> ids_of(std::span<const std::byte> message) {
  if (const auto reply = protocol::decode_reply(message)) {
    return {reply->header.id};
  }
  std::vector<std::uint64_t> ids;
  if (const auto bytes = protocol::decode_shared_reply(message)) {
    for (std::size_t at = 0; at < bytes->size(); at += sizeof(std::uint64_t)) {
      ids.push_back(load_little<std::uint64_t>(bytes->data() + at));
    }
  }
  return ids;
}

/// The bytes of a word in the layout of messages.
inline std::vector<std::byte> word_bytes(std::uint64_t word) {
  std::vector<std::byte> bytes;
  append(bytes, std::span<const std::uint64_t>(&word, 1));
  return bytes;
}

inline std::uint64_t word_of(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

}  // namespace acp::test
