#include "runtime/modules.h"

#include "base/log.h"

namespace acp::runtime {

Result<int> Modules::add(const acpx_module_t& module) {
  if (module.name == nullptr) {
    return Status::kInvalidArgument;
  }
  if (entries_.size() == kMaxModules) {
    log_error("module {}: there are {} modules already", module.name,
              kMaxModules);
    return Status::kNoMemory;
  }
  entries_.push_back({module, module.name, 0});
  return static_cast<int>(entries_.size() - 1);
}

Status Modules::lay_out(std::uint64_t available) {
  std::uint64_t offset = 0;
  for (Entry& entry : entries_) {
    entry.offset = offset;
    const std::uint64_t bytes = (entry.module.bytes + 63) / 64 * 64;
    if (bytes < entry.module.bytes || bytes > available - offset) {
      log_error(
          "module {} wants {} bytes of library memory, {} are left: set "
          "ACP_MODULE_MEMORY higher",
          entry.name, entry.module.bytes, available - offset);
      return Status::kNoMemory;
    }
    offset += bytes;
  }
  return Status::kOk;
}

Result<std::uint64_t> Modules::offset(int module) const {
  if (module < 0 || static_cast<std::size_t>(module) >= entries_.size()) {
    return Status::kInvalidArgument;
  }
  return entries_[static_cast<std::size_t>(module)].offset;
}

Status Modules::init() const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const acpx_module_t& module = entries_[i].module;
    if (module.init != nullptr && module.init(module.arg) != 0) {
      log_error("module {}: its init function failed", entries_[i].name);
      fini_first(i);
      return Status::kSystem;
    }
  }
  return Status::kOk;
}

void Modules::fini() const {
  fini_first(entries_.size());
}

void Modules::fini_first(std::size_t count) const {
  for (std::size_t i = count; i > 0; --i) {
    const acpx_module_t& module = entries_[i - 1].module;
    if (module.fini != nullptr && module.fini(module.arg) != 0) {
      log_warning("module {}: its fini function failed", entries_[i - 1].name);
    }
  }
}

}  // namespace acp::runtime
