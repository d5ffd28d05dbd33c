// Memory that the rows read and write: the library memory that acp_perf asks
// for on every rank, and its registered memory from malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <acp.h>
#include <acp/extension.h>

#include "host_address.h"

namespace acp::perf {

/// Single words in library memory, one cache line pair each.
enum class Word : std::uint32_t {
  kTarget,       ///< Written and read by the initiator, on its target.
  kSource,       ///< The initiator's source of puts.
  kResult,       ///< The initiator's destination of gets and old values.
  kTargetOther,  ///< kTarget of a second thread; the next two likewise.
  kSourceOther,
  kResultOther,
  kPing,     ///< From rank 0 to rank 1.
  kPong,     ///< From rank 1 to rank 0.
  kSignal,   ///< Counts signals.
  kStop,     ///< Number of the row that has ended.
  kCount,    ///< A number from rank 0 to the row's responders.
  kPhase,    ///< A number from a responder to rank 0.
  kMet,      ///< Number of the row whose raw sockets have met.
  kFacts,    ///< Bits that rank 0 finds out in prepare().
  kScratch,  ///< Source of put_word.
  kWords
};

inline constexpr std::size_t kWordStride = 128;
inline constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
inline constexpr std::size_t kRegisteredBytes = std::size_t{1} << 20;

/// Facts about a rank in its library memory, for the other ranks to read.
struct RankFacts {
  std::int64_t pid;
  std::int64_t area_fd;              ///< Descriptor of rank 0's RawArea, or -1.
  HostAddress host;                  ///< The raw UDP sockets use it.
  std::uint64_t boot_id;             ///< Equal on one host.
  acp_ga_t registered;               ///< kRegisteredBytes of malloc memory.
  std::uint64_t registered_address;  ///< Its virtual address in that process.
};

/// The memory of all ranks. Requested before acp_init, opened after it.
class Memory {
 public:
  /// Asks for the library memory; call it before acp_init.
  /// False: acp_errno says why.
  bool request();
  /// Finds the library memory and registers the malloc memory; call it after
  /// acp_init. False: acp_errno says why.
  bool open();

  acp_ga_t word(int rank, Word word) const;
  /// Pointer to a word of this rank.
  std::uint64_t* own_word(Word word) const;
  /// The inbox is for other ranks to write and read, the outbox is the owner's
  /// side of a copy. Each has kBufferBytes.
  acp_ga_t inbox(int rank) const;
  acp_ga_t outbox(int rank) const;
  std::byte* own_inbox() const;
  std::byte* own_outbox() const;

  /// This rank's registered malloc memory.
  std::byte* registered() const { return registered_.get(); }

  /// Facts of this rank. Other ranks read them after an acp_sync.
  RankFacts& own_rank_facts() const;
  /// Copies the facts of another rank. False: acp_errno says why.
  bool read_rank_facts(int rank, RankFacts& facts) const;

  /// One completed put or get of a word of another rank.
  void put_word(int rank, Word word, std::uint64_t value) const;
  std::uint64_t get_word(int rank, Word word) const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };

  std::byte* own(std::size_t offset) const;

  int module_ = -1;
  std::byte* base_ = nullptr;
  std::unique_ptr<std::byte[], Free> registered_;
};

/// fill_pattern writes a pattern that depends on `seed`; has_pattern says
/// whether the memory still holds it.
void fill_pattern(std::byte* bytes, std::size_t size, std::uint64_t seed);
bool has_pattern(const std::byte* bytes, std::size_t size, std::uint64_t seed);

}  // namespace acp::perf
