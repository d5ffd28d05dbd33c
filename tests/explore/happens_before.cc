// Hashes of steps. The table of words is cleared by a new stamp, which costs
// nothing; a schedule touches some hundred words.
#include "explore/happens_before.h"

#include <cstdlib>

namespace explore {

namespace {

constexpr std::size_t kWords = std::size_t{1} << 14;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ x >> 27) * 0x94d0'49bb'1331'11eb;
  return x ^ x >> 31;
}

}  // namespace

HappensBefore::HappensBefore() : words_(kWords) {}

void HappensBefore::clear() {
  ++stamp_;
  sum_ = 0;
  newest_.assign(newest_.size(), 0);
}

void HappensBefore::add(std::uint64_t number) {
  running_ = mixed(running_ * 0x9e37'79b9'7f4a'7c15 + number + 1);
}

/// The first steps of two processes differ.
void HappensBefore::begin(std::uint32_t process) {
  if (newest_.size() <= process) {
    newest_.resize(process + 1, 0);
  }
  process_ = process;
  touched_.clear();
  running_ = newest_[process] != 0 ? newest_[process] : mixed(process + 1);
  add(0);
}

std::uint32_t HappensBefore::slot_of(std::uint64_t word) {
  std::size_t slot = mixed(word) % kWords;
  for (std::size_t looks = 0; looks < kWords; ++looks) {
    Word& at = words_[slot];
    if (at.stamp != stamp_) {
      at = {word, stamp_, 0, 0};
      return static_cast<std::uint32_t>(slot);
    }
    if (at.key == word) {
      return static_cast<std::uint32_t>(slot);
    }
    slot = (slot + 1) % kWords;
  }
  std::abort();  // a schedule touches fewer words
}

void HappensBefore::read(std::uint64_t word) {
  const std::uint32_t slot = slot_of(word);
  add(words_[slot].writer);
  touched_.push_back({slot, false});
}

void HappensBefore::write(std::uint64_t word) {
  const std::uint32_t slot = slot_of(word);
  add(words_[slot].writer);
  add(words_[slot].readers);
  touched_.push_back({slot, true});
}

/// The words learn of the step at its end, so that a word which the step reads
/// and writes is no predecessor of the step itself.
void HappensBefore::end() {
  for (const Touch& touch : touched_) {
    Word& word = words_[touch.slot];
    if (touch.is_write) {
      word.writer = running_;
      word.readers = 0;
    }
  }
  for (const Touch& touch : touched_) {
    Word& word = words_[touch.slot];
    if (!touch.is_write && word.writer != running_) {
      word.readers += running_;
    }
  }
  newest_[process_] = running_;
  sum_ += mixed(running_);
}

/// The number of the new process is not part of its hash, because it depends on
/// the order of independent steps.
void HappensBefore::fork(std::uint32_t process) {
  if (newest_.size() <= process) {
    newest_.resize(process + 1, 0);
  }
  add(1);
  newest_[process] = mixed(running_ + 1) | 1;
}

}  // namespace explore
