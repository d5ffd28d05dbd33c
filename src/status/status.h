// The reasons for failures, in one list for the whole library.
#pragma once

#include <cstdint>

namespace acp {

/// The reason of a failure. The values equal the public codes in
/// acp/infrastructure.h (ACPX_...); api/ checks that at compile time.
enum class Status : std::uint8_t {
  kOk = 0,
  kAgain = 1,               ///< No room or not ready: make progress, try again.
  kInvalidArgument = 2,     ///< A value outside its documented range.
  kNotInitialized = 3,      ///< Called before acp_init.
  kAlreadyInitialized = 4,  ///< acp_init called twice.
  kFinalized = 5,           ///< Called after acp_finalize.
  kBadAddress = 6,          ///< Outside its region, or ACP_GA_NULL.
  kBadKey = 7,        ///< The region's key is not, or no longer, registered.
  kBadRank = 8,       ///< No such rank, or not the rank it has to be.
  kBadColor = 9,      ///< Color outside 0 .. acp_colors() - 1.
  kMisaligned = 10,   ///< An atomic on an address not a multiple of its size.
  kNoMemory = 11,     ///< Memory exhausted.
  kNoKeys = 12,       ///< All keys of this rank are in use.
  kTooLarge = 13,     ///< Region or request above the documented limit.
  kUnsupported = 14,  ///< Not available here or not built in.
  kPeerDead = 15,     ///< The process of the other rank has died.
  kAborted = 16,      ///< The job is being aborted.
  kTimedOut = 17,     ///< A deadline passed.
  kSystem = 18,       ///< A system call failed; the log line has its text.
  kProtocol = 19,     ///< Received bytes that no version of this code sends.
  kOrderFailed = 20,  ///< An operation that comes before it in order failed.
  kBadOption = 21,    ///< Unknown option or a setting's value out of range.
  kClosed = 22,       ///< The other side has closed the connection or call.
};

inline constexpr int kStatusCount = 23;

/// A sentence fragment such as "address outside its region". Never null.
const char* status_text(Status status) noexcept;

}  // namespace acp
