// The list of modules, and the memory of each. Called by the Task and by
// src/api. The functions of the modules run in the thread of acp_init,
// acp_reset or acp_finalize. They may call the library, so no lock of the
// engine or of progress may be held.
#include "runtime/modules.h"

#include <algorithm>
#include <utility>

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
  entries.push_back({.module = module, .name = module.name});
  return static_cast<int>(entries.size() - 1);
}

void Modules::clear_own() {
  own_.clear();
  laid_out_ = 0;
  for (Entry& entry : entries_) {
    entry.has_memory = false;
  }
}

/// Each module's memory starts on a cache line of its own.
Status Modules::lay_out(std::uint64_t available) {
  for (std::vector<Entry>* entries : {&own_, &entries_}) {
    for (Entry& entry : *entries) {
      if (entry.has_memory) {
        continue;
      }
      const std::uint64_t bytes = (entry.module.bytes + 63) / 64 * 64;
      if (bytes < entry.module.bytes || bytes > available - laid_out_) {
        log_error(
            "module {} wants {} bytes of library memory, {} are left: set "
            "ACP_MODULE_MEMORY higher",
            entry.name, entry.module.bytes, available - laid_out_);
        return Status::kNoMemory;
      }
      entry.offset = laid_out_;
      entry.has_memory = true;
      laid_out_ += bytes;
    }
  }
  return Status::kOk;
}

std::uint64_t Modules::fingerprint() const {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x100000001b3;
  };
  for (const std::vector<Entry>* entries : {&own_, &entries_}) {
    for (const Entry& entry : *entries) {
      for (const char letter : entry.name) {
        add(static_cast<unsigned char>(letter));
      }
      add(entry.module.bytes);
    }
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

/// Modules that have begun before stay as they are, also after a failure.
Status Modules::init() {
  std::vector<Entry*> begun;
  for (std::vector<Entry>* entries : {&own_, &entries_}) {
    for (Entry& entry : *entries) {
      const acpx_module_t& module = entry.module;
      if (entry.has_begun) {
        continue;
      }
      if (module.init != nullptr && module.init(module.arg) != 0) {
        log_error("module {}: its init function failed", entry.name);
        std::for_each(begun.rbegin(), begun.rend(),
                      [](Entry* one) { end(*one, LogLevel::kWarning); });
        return Status::kSystem;
      }
      entry.has_begun = true;
      begun.push_back(&entry);
    }
  }
  return Status::kOk;
}

void Modules::fini(LogLevel level) {
  for (std::vector<Entry>* entries : {&entries_, &own_}) {
    std::for_each(entries->rbegin(), entries->rend(),
                  [level](Entry& entry) { end(entry, level); });
  }
}

void Modules::fini_of_program() {
  std::for_each(entries_.rbegin(), entries_.rend(),
                [](Entry& entry) { end(entry, LogLevel::kWarning); });
}

/// Calls the fini function of a module that has begun.
void Modules::end(Entry& entry, LogLevel level) {
  const acpx_module_t& module = entry.module;
  if (std::exchange(entry.has_begun, false) && module.fini != nullptr &&
      module.fini(module.arg) != 0) {
    log(level, "module {}: its fini function failed", entry.name);
  }
}

}  // namespace acp::runtime
