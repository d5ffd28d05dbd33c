// The part of the table of open requests that only lost peers need. The
// operation runner calls it, and changes the table afterwards.
#include "gma/request_table.h"

namespace acp::gma {

std::vector<std::uint64_t> RequestTable::ids_to(transport::ProcId proc) const {
  std::vector<std::uint64_t> ids;
  for (std::uint32_t index = 0; index < entries_.size(); ++index) {
    const Entry& entry = entries_[index];
    if (entry.is_open && entry.request.queue->to().proc == proc) {
      ids.push_back(make_id(entry.generation, index));
    }
  }
  return ids;
}

}  // namespace acp::gma
