// How handles name channels and requests. Handles are numbers that programs
// hold as pointers; 0 is none.
#pragma once

#include <cstdint>

#include "middle/channel/end.h"
#include "middle/channel/requests.h"

namespace acp::middle::channel {

using ChannelHandle = std::uint64_t;
using RequestHandle = std::uint64_t;

/// {generation of the end:32 | index + 1:24}.
inline ChannelHandle handle_of(const End& end) {
  return std::uint64_t{end.generation} << 24 | (end.index + 1);
}

/// The number under which EndTable has the end of a handle.
inline std::uint32_t end_index_of_channel(ChannelHandle channel) {
  return static_cast<std::uint32_t>(channel & 0xffffff) - 1;
}

/// {generation of the request:24 | index of the end:20 | of the request:20}.
inline RequestHandle handle_of(const End& end, const Request& request) {
  return std::uint64_t{request.generation} << 40 |
         std::uint64_t{end.index} << 20 | request.index;
}

inline std::uint32_t end_index_of_request(RequestHandle request) {
  return static_cast<std::uint32_t>(request >> 20) & (EndTable::kMaxEnds - 1);
}

inline std::uint32_t index_of(RequestHandle request) {
  return static_cast<std::uint32_t>(request) & (RequestPool::kMaxRequests - 1);
}

inline std::uint32_t generation_of(RequestHandle request) {
  return static_cast<std::uint32_t>(request >> 40);
}

}  // namespace acp::middle::channel
