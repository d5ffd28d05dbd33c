// The list of modules, and the memory of each. Called by the Task and by
// src/api. The functions of the modules run in the thread of acp_init,
// acp_reset or acp_finalize. They may call the library, so no lock of the
// engine or of progress may be held.
#include "runtime/modules.h"

#include "base/log.h"

namespace acp::runtime {

Result<int> Modules::add(const acpx_module_t& module) {
  return add_to(entries_, module);
}

Result<int> Modules::add_own(const acpx_module_t& module) {
  const Result<int> number = add_to(own_, module);
  if (!number.ok()) {
    return number.status();
  }
  return static_cast<int>(kMaxModules) + number.value();
}

Result<int> Modules::add_to(std::vector<Entry>& entries,
                            const acpx_module_t& module) {
  if (module.name == nullptr) {
    return Status::kInvalidArgument;
  }
  if (entries.size() == kMaxModules) {
    log_error("module {}: there are {} modules already", module.name,
              kMaxModules);
    return Status::kNoMemory;
  }
  entries.push_back({module, module.name, 0});
  return static_cast<int>(entries.size() - 1);
}

/// Each module's memory starts on a cache line of its own.
Status Modules::lay_out(std::uint64_t available) {
  std::uint64_t offset = 0;
  for (std::vector<Entry>* entries : {&own_, &entries_}) {
    for (Entry& entry : *entries) {
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
  }
  return Status::kOk;
}

std::uint64_t Modules::fingerprint() const {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x100000001b3;
  };
  for (const Entry* entry : in_order()) {
    for (const char letter : entry->name) {
      add(static_cast<unsigned char>(letter));
    }
    add(entry->module.bytes);
  }
  return hash;
}

Result<std::uint64_t> Modules::offset(int module) const {
  const auto number = static_cast<std::size_t>(module);
  if (module >= 0 && number < entries_.size()) {
    return entries_[number].offset;
  }
  if (module >= 0 && number >= kMaxModules &&
      number - kMaxModules < own_.size()) {
    return own_[number - kMaxModules].offset;
  }
  return Status::kInvalidArgument;
}

std::vector<const Modules::Entry*> Modules::in_order() const {
  std::vector<const Entry*> all;
  for (const std::vector<Entry>* entries : {&own_, &entries_}) {
    for (const Entry& entry : *entries) {
      all.push_back(&entry);
    }
  }
  return all;
}

Status Modules::init() const {
  const std::vector<const Entry*> all = in_order();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const acpx_module_t& module = all[i]->module;
    if (module.init != nullptr && module.init(module.arg) != 0) {
      log_error("module {}: its init function failed", all[i]->name);
      fini_first(all, i, LogLevel::kWarning);
      return Status::kSystem;
    }
  }
  return Status::kOk;
}

void Modules::fini(LogLevel level) const {
  const std::vector<const Entry*> all = in_order();
  fini_first(all, all.size(), level);
}

void Modules::fini_first(const std::vector<const Entry*>& entries,
                         std::size_t count,
                         LogLevel level) {
  for (std::size_t i = count; i > 0; --i) {
    const acpx_module_t& module = entries[i - 1]->module;
    if (module.fini != nullptr && module.fini(module.arg) != 0) {
      log(level, "module {}: its fini function failed", entries[i - 1]->name);
    }
  }
}

}  // namespace acp::runtime
