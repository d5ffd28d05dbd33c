// A device that registers memory and touches none, for tests of registrations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/log.h"
#include "transport/registrations/regions.h"
#include "transport/transport.h"

namespace acp::transport {

/// The MemoryHandle of FakeDevice.
struct FakeMemoryHandle {
  std::byte* address = nullptr;
  std::uint64_t size = 0;

  explicit operator bool() const { return address != nullptr; }

  std::vector<std::byte> packed_rkey() const { return {std::byte{7}}; }
};

/// A registrar of Regions.
struct FakeDevice {
  Color my_color = 0;
  bool refuses = false;
  std::vector<LogLevel> refusals{};
  int made = 0;

  Color color() const { return my_color; }

  FakeMemoryHandle register_memory(std::byte* address,
                                   std::uint64_t size,
                                   LogLevel refusal) {
    ++made;
    if (refuses) {
      refusals.push_back(refusal);
      return {};
    }
    return {address, size};
  }
};

using FakeRegions = Regions<FakeMemoryHandle>;

/// Memory whose address is `skew` above a multiple of kOffsetAlignment. It is
/// never accessed.
inline std::byte* memory_at(std::uint64_t skew) {
  return reinterpret_cast<std::byte*>(0x40000000 + skew);
}

}  // namespace acp::transport
