// Reads /proc/self/maps for code that registers memory. It may not touch the
// memory that it is asked about.
#include "base/memory_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/unique_fd.h"

namespace acp {

MemoryMap::Obstacle MemoryMap::find_obstacle(std::uintptr_t address,
                                             std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (look(address, address + size).text.empty()) {
    return {};
  }
  return read() ? look(address, address + size) : Obstacle{};
}

/// Reads the list of mappings; false when there is none to read.
bool MemoryMap::read() {
  const UniqueFd file(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return false;
  }
  std::string text;
  std::array<char, 16384> part{};
  ssize_t count = 0;
  do {
    count = ::read(file.get(), part.data(), part.size());
    text.append(part.data(),
                static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  } while (count > 0 || (count < 0 && errno == EINTR));
  mappings_.clear();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t line_end = std::min(rest.find('\n'), rest.size() - 1);
    add(rest.substr(0, line_end));
    rest.remove_prefix(line_end + 1);
  }
  return count == 0 && !mappings_.empty();
}

/// Parses a line: "begin-end rwxp ...", in hexadecimal.
void MemoryMap::add(std::string_view line) {
  constexpr int kHexadecimal = 16;
  Mapping mapping{};
  const char* last = line.data() + line.size();
  const auto begin =
      std::from_chars(line.data(), last, mapping.begin, kHexadecimal);
  if (begin.ec != std::errc() || begin.ptr == last) {
    return;
  }
  const auto end =
      std::from_chars(begin.ptr + 1, last, mapping.end, kHexadecimal);
  if (end.ec != std::errc() || last - end.ptr < 5) {
    return;
  }
  mapping.permissions.assign(end.ptr + 1, 4);
  mapping.is_usable = mapping.permissions.starts_with("rw");
  if (mapping.is_usable && !mappings_.empty() && mappings_.back().is_usable &&
      mappings_.back().end == mapping.begin) {
    mappings_.back().end = mapping.end;
  } else {
    mappings_.push_back(std::move(mapping));
  }
}

/// The first byte of the range that cannot be used.
MemoryMap::Obstacle MemoryMap::look(std::uintptr_t address,
                                    std::uintptr_t end) const {
  while (address < end) {
    const auto mapping = std::find_if(
        mappings_.begin(), mappings_.end(),
        [address](const Mapping& each) { return address < each.end; });
    if (mapping == mappings_.end() || address < mapping->begin) {
      return {address, "is not mapped"};
    }
    if (!mapping->is_usable) {
      return {address, "is mapped " + mapping->permissions};
    }
    address = mapping->end;
  }
  return {};
}

}  // namespace acp
