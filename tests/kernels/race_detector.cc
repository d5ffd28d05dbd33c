// Compares clocks of plain accesses. Called by Run alone, for each access of
// instrumented code within a schedule.
#include "kernels/race_detector.h"

namespace kernels {

bool RaceDetector::is_ordered(const Byte& byte,
                              std::size_t thread,
                              const View& view,
                              bool is_write) {
  for (std::size_t other = 0; other < kMostThreads; ++other) {
    if (other != thread &&
        (byte.writes[other] > view.clock[other] ||
         (is_write && byte.reads[other] > view.clock[other]))) {
      return false;
    }
  }
  return true;
}

bool RaceDetector::is_ordered(std::size_t thread,
                              const View& view,
                              std::uintptr_t address,
                              std::size_t size,
                              bool is_write) {
  for (std::uintptr_t at = address; at < address + size; ++at) {
    const auto found = granules_.find(at / kBytes);
    if (found != granules_.end() &&
        !is_ordered(found->second[at % kBytes], thread, view, is_write)) {
      return false;
    }
  }
  return true;
}

bool RaceDetector::access(std::size_t thread,
                          const View& view,
                          std::uintptr_t address,
                          std::size_t size,
                          bool is_write) {
  bool is_good = true;
  for (std::uintptr_t at = address; at < address + size; ++at) {
    Byte& byte = granules_[at / kBytes][at % kBytes];
    is_good = is_good && is_ordered(byte, thread, view, is_write);
    (is_write ? byte.writes : byte.reads)[thread] = view.clock[thread];
  }
  return is_good;
}

}  // namespace kernels
