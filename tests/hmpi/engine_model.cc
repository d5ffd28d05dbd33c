// MPI's rules of engine_model.h by simple code.
#include "engine_model.h"

#include <algorithm>

namespace hmpi::test {

namespace {

/// Messages of a sender among which a random receive chooses.
constexpr std::size_t kAhead = 6;

}  // namespace

Inbox::Inbox(const std::vector<const Stream*>& streams) {
  for (Peer sender = 0; sender < streams.size(); ++sender) {
    for (const Planned& planned : *streams[sender]) {
      lines_[{planned.context, sender}].entries.push_back({&planned});
      ++left_;
    }
  }
}

const Planned* Inbox::pick(Random& random,
                           std::uint32_t context,
                           Peer& sender) const {
  std::vector<std::pair<Peer, const Planned*>> found;
  for (const auto& [key, line] : lines_) {
    if (key.first != context) {
      continue;
    }
    std::size_t looks = 0;
    for (std::size_t i = line.floor; i < line.entries.size() && looks < kAhead;
         ++i) {
      if (line.entries[i].number == 0) {
        found.emplace_back(key.second, line.entries[i].planned);
        ++looks;
      }
    }
  }
  if (found.empty()) {
    return nullptr;
  }
  const auto& [peer, planned] = found[random() % found.size()];
  sender = peer;
  return planned;
}

std::uint64_t Inbox::post(const Wanted& wanted) {
  posted_.push_back({next_number_, wanted});
  return next_number_++;
}

void Inbox::withdraw(std::uint64_t number) {
  std::erase_if(posted_,
                [number](const Posted& each) { return each.number == number; });
}

/// Two messages of one sender that both fit a receive: the earlier one matched
/// an earlier receive, or this receive. And of two receives that fit a message
/// the earlier one gets it.
std::string Inbox::check_order(const Line& line,
                               const Posted& posted,
                               const Entry& entry) const {
  const Planned& planned = *entry.planned;
  const auto tag = line.newest_of_tag.find(planned.tag);
  if (tag != line.newest_of_tag.end() && tag->second > posted.number) {
    return "a later receive has got an earlier message of this tag";
  }
  if (posted.wanted.tag == kAnyTag) {
    if (line.newest_below_floor > posted.number) {
      return "a later receive has got an earlier message";
    }
    for (std::size_t i = line.floor; &line.entries[i] != &entry; ++i) {
      if (line.entries[i].number == 0) {
        return "an earlier message has been overtaken";
      }
      if (line.entries[i].number > posted.number) {
        return "a later receive has got an earlier message";
      }
    }
  }
  return {};
}

const Planned* Inbox::match(std::uint64_t number,
                            Peer sender,
                            std::uint32_t context,
                            std::int32_t tag,
                            std::string& mistake) {
  const auto at = std::ranges::find(posted_, number, &Posted::number);
  if (at == posted_.end() || !at->wanted.fits(context, sender, tag)) {
    mistake = "the message does not fit its receive";
    return nullptr;
  }
  const Posted posted = *at;
  posted_.erase(at);
  for (const Posted& other : posted_) {
    if (other.number < number && other.wanted.fits(context, sender, tag)) {
      mistake = "an earlier receive fits and has got no message";
      return nullptr;
    }
  }
  Line& line = lines_[{context, sender}];
  const auto entry = std::find_if(
      line.entries.begin() + static_cast<std::ptrdiff_t>(line.floor),
      line.entries.end(), [tag](const Entry& each) {
        return each.number == 0 && each.planned->tag == tag;
      });
  if (entry == line.entries.end()) {
    mistake = "the message was not sent, or is there twice";
    return nullptr;
  }
  mistake = check_order(line, posted, *entry);
  if (!mistake.empty()) {
    return nullptr;
  }
  entry->number = number;
  line.newest_of_tag[tag] = number;
  --left_;
  while (line.floor < line.entries.size() &&
         line.entries[line.floor].number != 0) {
    line.newest_below_floor =
        std::max(line.newest_below_floor, line.entries[line.floor].number);
    ++line.floor;
  }
  return entry->planned;
}

}  // namespace hmpi::test
