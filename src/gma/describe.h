// Operations in words, for the log line of a failure.
#pragma once

#include <string>

#include "gma/operation.h"
#include "gmm/address_space.h"

namespace acp::gma {

/// "rank 3 color 0 key 5 offset 0x40 (0x0800...)".
std::string describe_address(GlobalAddress address,
                             const gmm::AddressSpace& space);

/// The region that a step which failed with kBadAddress would have left:
/// "; 0x0800... is byte 10236, and the 8 bytes from there leave starter memory
/// of rank 3, which has 10240 bytes, 4 of them from there", and what to do.
/// When all bytes lie in regions, it asks for freed memory. Empty for any other
/// `status`.
std::string describe_bounds(const Step& step,
                            Status status,
                            const gmm::AddressSpace& space,
                            CopyEnd failed_end = CopyEnd::kUnknown);

/// The cause why a step failed with `status`, in values. It names the bytes
/// that leave a region (describe_bounds), the end whose key is dead, the end
/// that is on a wrong rank, or the address that is not aligned. Of a copy that
/// has failed because a peer is dead, it names that rank. If `failed_end` is
/// known, the text names no other end. Empty for any other `status`.
std::string describe_cause(const Step& step,
                           Status status,
                           const gmm::AddressSpace& space,
                           CopyEnd failed_end = CopyEnd::kUnknown);

/// describe_cause() for the step at which an operation has failed.
std::string describe_cause(const Operation& operation,
                           const gmm::AddressSpace& space);

/// "put of 64 bytes, remote rank 3 color 0 key 5 offset 0x40 (0x...), local
/// ...".
std::string describe(const Step& step, const gmm::AddressSpace& space);

/// The function of a layer above, the step under way, and the handle.
std::string describe(const Operation& operation,
                     const gmm::AddressSpace& space);

}  // namespace acp::gma
