// Where the rows read and write: the library memory that acp_perf asks for
// on every rank, and its registered memory from malloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <acp.h>
#include <acp/extension.h>

namespace acp::perf {

/// Single words in library memory, one cache line pair each.
enum class Word : std::uint32_t {
  kTarget,       ///< Written and read by the initiator, on its target.
  kSource,       ///< The initiator's own: what is put,
  kResult,       ///< what was got, or an atomic's old value.
  kTargetOther,  ///< The same three for a second thread.
  kSourceOther,
  kResultOther,
  kPing,     ///< From rank 0 to rank 1.
  kPong,     ///< From rank 1 to rank 0.
  kSignal,   ///< Counts signals.
  kStop,     ///< Number of the row that has ended.
  kCount,    ///< What a row tells its responders.
  kPhase,    ///< What a responder tells rank 0.
  kFacts,    ///< What rank 0 found out at the start.
  kScratch,  ///< Source of put_word.
  kWords
};

inline constexpr std::size_t kWordStride = 128;
inline constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
inline constexpr std::size_t kRegisteredBytes = std::size_t{1} << 20;

/// What every rank tells the others about itself, in its library memory.
struct Card {
  std::int64_t pid;
  std::int64_t area_fd;              ///< Of rank 0's RawArea, or -1.
  std::uint64_t udp_port;            ///< Of the raw socket, or 0.
  std::uint64_t boot_id;             ///< Equal on one host.
  acp_ga_t registered;               ///< kRegisteredBytes of malloc memory,
  std::uint64_t registered_address;  ///< and where that is in its process.
};

/// The memory of all ranks. Made before acp_init, filled after it.
class Memory {
 public:
  /// Before acp_init: asks for the library memory. False: acp_errno says why.
  bool request();
  /// After acp_init: finds it, registers the malloc memory.
  /// False: acp_errno says why.
  bool open();

  acp_ga_t word(int rank, Word word) const;
  /// Of this rank.
  std::uint64_t* own_word(Word word) const;
  /// kBufferBytes that other ranks write to and read from, and the same
  /// again for the owner's side of a transfer.
  acp_ga_t inbox(int rank) const;
  acp_ga_t outbox(int rank) const;
  std::byte* own_inbox() const;
  std::byte* own_outbox() const;

  /// This rank's registered malloc memory.
  std::byte* registered() const { return registered_.get(); }

  /// This rank's card; others read it after an acp_sync.
  Card& own_card() const;
  /// A copy of another rank's card. False: acp_errno says why.
  bool read_card(int rank, Card& card) const;

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

/// Fills with a pattern that depends on `seed`, and says whether memory still
/// holds it.
void fill_pattern(std::byte* bytes, std::size_t size, std::uint64_t seed);
bool has_pattern(const std::byte* bytes, std::size_t size, std::uint64_t seed);

}  // namespace acp::perf
