// How absences are merged into the words of a host. Called by ranks for
// themselves, and by the launcher for ranks of other hosts. Only atomic
// operations may change a word, because several processes enter absences at the
// same time.
#include "protocol/absence.h"

namespace acp::protocol {

bool Absence::outranks(const Absence& old) const noexcept {
  const bool is_fewest =
      kind == AbsenceKind::kLeaving || kind == AbsenceKind::kLeft;
  return is_fewest ? is_before(old.barrier) : old.is_before(barrier);
}

bool Absences::enter(const Absence& absence) noexcept {
  std::atomic<std::uint64_t>& word =
      words_[static_cast<std::size_t>(absence.kind)];
  std::uint64_t old = word.load(std::memory_order_relaxed);
  while (old == 0 || absence.outranks(Absence::of(old))) {
    if (word.compare_exchange_weak(old, absence.word(),
                                   std::memory_order_release,
                                   std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void Absences::clear_resetting() noexcept {
  words_[static_cast<std::size_t>(AbsenceKind::kResetting)].store(
      0, std::memory_order_relaxed);
}

}  // namespace acp::protocol
