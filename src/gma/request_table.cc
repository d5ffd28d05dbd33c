// The table of open requests. The flight sender opens them; the operation
// runner closes them when an answer arrives or their peer has failed.
#include "gma/request_table.h"

#include "base/assert.h"

namespace acp::gma {

namespace {

std::uint64_t make_id(std::uint32_t generation, std::uint32_t index) {
  return std::uint64_t{generation} << 32 | index;
}

}  // namespace

std::optional<std::uint64_t> RequestTable::open(const Request& request) {
  if (!request.queue->reserve_reply(request.reply_bytes)) {
    return std::nullopt;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  entries_[index].request = request;
  ++request.operation->outstanding;
  return make_id(entries_[index].generation, index);
}

const Request* RequestTable::find(std::uint64_t id,
                                  AnsweredBy answered_by) const noexcept {
  const auto index = static_cast<std::uint32_t>(id);
  if (index >= entries_.size()) {
    return nullptr;
  }
  const Entry& entry = entries_[index];
  const bool is_it = entry.request.operation != nullptr &&
                     make_id(entry.generation, index) == id &&
                     entry.request.answered_by == answered_by;
  return is_it ? &entry.request : nullptr;
}

Request RequestTable::close(std::uint64_t id) {
  const auto index = static_cast<std::uint32_t>(id);
  Entry& entry = entries_[index];
  ACP_ASSERT(entry.request.operation != nullptr &&
             make_id(entry.generation, index) == id);
  const Request request = entry.request;
  request.queue->release_reply(request.reply_bytes);
  --request.operation->outstanding;
  entry.request.operation = nullptr;
  ++entry.generation;
  free_.push_back(index);
  return request;
}

std::vector<std::uint64_t> RequestTable::ids_to(transport::ProcId proc) const {
  std::vector<std::uint64_t> ids;
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    const Entry& entry = entries_[index];
    if (entry.request.operation != nullptr &&
        entry.request.queue->to().proc == proc) {
      ids.push_back(make_id(entry.generation, index));
    }
  }
  return ids;
}

}  // namespace acp::gma
