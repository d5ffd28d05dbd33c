// Memory of this process that has a global address, so that other ranks can
// read and write it. Any thread.
#pragma once

#include <cstddef>
#include <memory>

#include "acp.h"

namespace lqcd {

/// Frees its memory at its end, when no operation uses it. make() writes all
/// fields, and they do not change.
class GlobalBytes {
 public:
  /// nullptr: no memory or no key is left.
  static std::unique_ptr<GlobalBytes> make(std::size_t bytes);
  GlobalBytes(const GlobalBytes&) = delete;
  GlobalBytes& operator=(const GlobalBytes&) = delete;
  ~GlobalBytes();

  std::byte* data() const { return data_; }

  acp_ga_t address() const { return address_; }

 private:
  GlobalBytes() = default;

  std::byte* data_ = nullptr;
  acp_ga_t address_ = ACP_GA_NULL;
  std::unique_ptr<std::byte[]> owned_;  ///< None: acp_malloc gave the memory.
  acp_atkey_t key_ = ACP_ATKEY_NULL;
};

}  // namespace lqcd
