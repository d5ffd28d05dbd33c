// Keeps the address cards that ranks of a host have asked for. Called by
// HostPart; makes no system call.
#include "launcher/card_cache.h"

#include <utility>

namespace acp::launcher {

CardCache::Answer CardCache::ask(std::uint32_t slot, std::uint32_t wanted) {
  if (kept_.contains(wanted)) {
    return Answer::kHere;
  }
  std::vector<std::uint32_t>& slots = waiting_[wanted];
  slots.push_back(slot);
  return slots.size() == 1 ? Answer::kAsk : Answer::kUnder;
}

std::string_view CardCache::find(std::uint32_t wanted) const {
  return kept_.at(wanted);
}

/// The slots wait in the order in which their ranks have asked.
std::vector<std::uint32_t> CardCache::take(std::uint32_t wanted,
                                           std::string card) {
  std::vector<std::uint32_t> slots;
  if (const auto found = waiting_.find(wanted); found != waiting_.end()) {
    slots = std::move(found->second);
    waiting_.erase(found);
  }
  const std::size_t size = card.size() + kOverhead;
  if (size > kMostBytes || kept_.contains(wanted)) {
    return slots;
  }
  while (bytes_ + size > kMostBytes) {
    const auto oldest = kept_.find(oldest_.front());
    bytes_ -= oldest->second.size() + kOverhead;
    kept_.erase(oldest);
    oldest_.pop_front();
  }
  kept_.emplace(wanted, std::move(card));
  oldest_.push_back(wanted);
  bytes_ += size;
  return slots;
}

}  // namespace acp::launcher
