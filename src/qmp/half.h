// The two halves of a channel: here the transfers of the program meet the
// messages of the peer. docs/qmp.md has protocol and invariants. The caller
// holds the lock of the process, and no function waits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qmp/message_layout.h"
#include "qmp/mirror.h"
#include "qmp/transfer.h"

namespace qmp {

/// Names a half: a channel, and the end of it that this rank has.
struct ChannelId {
  std::uint32_t comm = 0;  ///< Number of the communicator.
  /// Class: kAbsolute, kCollective or relative_class().
  std::uint32_t channel = 0;
  std::uint32_t peer = 0;    ///< Rank of the other end.
  bool is_receiver = false;  ///< Whether this rank receives.

  bool operator==(const ChannelId&) const = default;
};

inline constexpr std::uint32_t kAbsolute = 0;
inline constexpr std::uint32_t kCollective = 0xffffffff;

/// The class of messages that travel along an axis in direction `sign`, 1 or
/// -1.
constexpr std::uint32_t relative_class(int axis, int sign) {
  return 1 + 2 * static_cast<std::uint32_t>(axis) + (sign < 0 ? 1 : 0);
}

/// The part that both halves share. A derived half owns the order of its
/// transfers.
class Half {
 public:
  Half(const ChannelId& id, LibraryMemory& library)
      : id_(id), library_(library) {}

  Half(const Half&) = delete;
  Half& operator=(const Half&) = delete;
  virtual ~Half();

  const ChannelId& id() const { return id_; }

  /// The address that the peer is told. ACP_GA_NULL: there was no memory.
  acp_ga_t address() const { return block_.address; }

  /// The peer has told the address of its half. Returns false when there is no
  /// memory to write to it from.
  virtual bool connect(acp_ga_t peer) = 0;

  /// Starts a transfer: numbers it, and sends or posts as much as possible at
  /// once. transfer.status reports a failure. Operations may join `batch`;
  /// with null each leaves at once.
  virtual void start(Transfer& transfer, Batch* batch) = 0;

  /// Looks at the words that the peer writes, and moves transfers on. Returns
  /// whether anything was done.
  virtual bool advance() = 0;

  /// How many transfers this rank has started.
  std::uint64_t started() const { return started_; }

  /// The address of the half of the peer; ACP_GA_NULL: it is not known yet.
  acp_ga_t peer() const {
    return peer_.is_connected() ? peer_.address(0) : ACP_GA_NULL;
  }

  /// How many transfers the peer has started in all, once it has left. Needs no
  /// lock.
  std::optional<std::uint64_t> peer_total() const;

  /// The peer is over: everything that it has written is here. The next
  /// advance() ends all transfers that are still open, but for puts under way.
  void lose_peer() { is_peer_over_ = true; }

  /// Forgets an active transfer, of a channel that is not used again. Its put
  /// may still be under way: drop() has to wait for that.
  virtual void abandon(Transfer& transfer) = 0;

  /// Frees the memory that an abandoned transfer uses, and the transfer itself
  /// when it is detached.
  void drop(Transfer& transfer);

  /// Whether advance() may find something to do.
  virtual bool is_busy() const = 0;

  /// Whether a transfer of the program is active.
  virtual bool has_active() const = 0;

  /// The communicator is being freed: from now on this half reports nothing and
  /// posts no late grants.
  void close() { is_closing_ = true; }

  bool is_listed = false;  ///< In Exchange::busy_, which writes it.

 protected:
  /// Gives the half zeroed memory for the peer to write into.
  bool allocate(std::size_t bytes);
  void finish(Transfer& transfer, QMP_status_t status);
  /// Ends a transfer whose other side will never be started.
  void finish_without_peer(Transfer& transfer);

  /// Whether the peer will never start its transfer of this number, or not
  /// carry it out.
  bool is_beyond_peer(std::uint64_t number) const {
    const auto total = peer_total();
    return is_peer_over_ || (total && number >= *total);
  }

  // The lock of Exchange guards these fields. The constructor alone writes id_
  // and block_, so handle.cc may ask id() and peer_total() without the lock.
  ChannelId id_;
  LibraryMemory& library_;
  Block block_;  ///< The memory of this half, into which the peer puts.
  Mirror peer_;  ///< The half of the peer. Written by connect() and by puts.
  std::uint64_t started_ = 0;  ///< Number of the next transfer; by start().
  bool is_closing_ = false;    ///< Set by close().
  bool is_peer_over_ = false;  ///< Set by lose_peer().
};

/// Sends messages in the order of their starts. A message that cannot go at
/// once does not hold up the next one: each has its own entry.
class SendHalf final : public Half {
 public:
  SendHalf(const ChannelId& id, LibraryMemory& library);
  ~SendHalf() override;

  bool connect(acp_ga_t peer) override;
  void start(Transfer& transfer, Batch* batch) override;
  bool advance() override;
  void abandon(Transfer& transfer) override;

  bool is_busy() const override {
    return !waiting_.empty() || !flying_.empty();
  }

  bool has_active() const override;

 private:
  /// A message whose entry was not free, or whose grant had not come.
  struct Waiting {
    std::uint64_t number;
    std::uint64_t size;
    Transfer* gated;                    ///< Null for an eager message;
    std::unique_ptr<std::byte[]> copy;  ///< its bytes are here.
  };

  const SenderHalf& mine() const {
    return *reinterpret_cast<const SenderHalf*>(block_.memory);
  }

  bool has_room(std::uint64_t number) const;
  std::byte* eager_room(std::uint64_t number, std::uint64_t size);
  Posted post_eager(std::uint64_t number,
                    std::uint64_t size,
                    Batch* batch = nullptr);
  Posted post_word(std::uint64_t number,
                   Kind kind,
                   std::uint64_t size,
                   acp_handle_t after = ACP_HANDLE_NULL);
  Posted try_gated(Transfer& transfer, Batch* batch = nullptr);
  Posted put(Transfer& transfer, const Grant& grant, acp_ga_t source);
  Posted put_pieces(Transfer& transfer, const Grant& grant, acp_ga_t source);
  void end(Transfer& transfer, QMP_status_t status);
  Posted try_waiting(Waiting& waiting);
  acp_ga_t source_of(Transfer& transfer);
  void end_beyond_peer();

  // The lock of Exchange guards these fields. Only this class writes them.
  /// Last written to the peer. Written by each function that posts a word.
  std::array<std::uint64_t, kEntries> words_{};
  /// By number. start() adds; advance() and abandon() remove.
  std::vector<Waiting> waiting_;
  /// Ended, but for puts that are not complete. end() adds; advance() and
  /// abandon() remove.
  std::vector<Transfer*> flying_;
};

/// Receives messages into the transfers of their numbers, in any order.
class ReceiveHalf final : public Half {
 public:
  ReceiveHalf(const ChannelId& id, LibraryMemory& library);
  ~ReceiveHalf() override;

  bool connect(acp_ga_t peer) override;
  void start(Transfer& transfer, Batch* batch) override;
  bool advance() override;
  void abandon(Transfer& transfer) override;

  bool is_busy() const override { return !posted_.empty() || has_report(); }

  bool has_active() const override { return !posted_.empty(); }

  /// See Exchange::peek.
  bool peek(void* to, std::size_t bytes) const;

  /// Posts grants for short receives that have waited for kLateNs, so that a
  /// message too long for them is refused.
  void post_late_grants(std::uint64_t now_ns);

 private:
  ReceiverHalf& mine() const {
    return *reinterpret_cast<ReceiverHalf*>(block_.memory);
  }

  bool is_in_window(std::uint64_t number) const {
    return number < consumed_ + kEntries;
  }

  bool has_report() const {
    return consumed_ - reported_ >= kEntries / 2 && !is_closing_;
  }

  Grant grant_of(Transfer& transfer);
  void announce(const Grant& grant) const;
  bool post_grant(Transfer& transfer, Batch* batch = nullptr);
  void deliver(Transfer& transfer, std::uint64_t word);
  void consume(std::uint64_t number);
  bool report();
  bool end_beyond_peer();

  // The lock of Exchange guards these fields. Only this class writes them.
  /// All messages below are consumed. Written by consume().
  std::uint64_t consumed_ = 0;
  /// Consumed messages above it, as a mask. Written by consume().
  std::uint32_t ahead_ = 0;
  /// The sender knows that these are consumed. Written by report().
  std::uint64_t reported_ = 0;
  /// Grants last written to the peer. Written by post_grant().
  std::array<std::uint64_t, kEntries> words_{};
  /// Active receives, by number. start() adds; advance() and abandon() remove.
  std::vector<Transfer*> posted_;
};

/// Names the peer and the class for messages to the user: "node 3", or "rank 3
/// of the job, axis 2, travelling in direction +1".
std::string describe(const ChannelId& id);

}  // namespace qmp
