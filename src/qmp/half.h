// Halves of channels: where transfers of a channel meet those of the peer.
// docs/qmp.md has protocol and invariants. All under the lock of the process,
// and nothing here waits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "qmp/message_layout.h"
#include "qmp/mirror.h"
#include "qmp/transfer.h"

namespace qmp {

/// What a channel is, seen from here.
struct ChannelId {
  std::uint32_t comm = 0;     ///< Number of the communicator.
  std::uint32_t channel = 0;  ///< Class: kAbsolute, relative_class().
  std::uint32_t peer = 0;     ///< Rank.
  bool is_receiver = false;   ///< Whose half.

  bool operator==(const ChannelId&) const = default;
};

inline constexpr std::uint32_t kAbsolute = 0;
inline constexpr std::uint32_t kCollective = 0xffffffff;

/// `sign`: in which direction the message travels.
constexpr std::uint32_t relative_class(int axis, int sign) {
  return 1 + 2 * static_cast<std::uint32_t>(axis) + (sign < 0 ? 1 : 0);
}

class Half {
 public:
  Half(const ChannelId& id, LibraryMemory& library)
      : id_(id), library_(library) {}

  Half(const Half&) = delete;
  Half& operator=(const Half&) = delete;
  virtual ~Half();

  const ChannelId& id() const { return id_; }

  /// Global address for the peer; ACP_GA_NULL: no memory.
  acp_ga_t address() const { return block_.address; }

  /// The peer's half is there. False: no memory.
  virtual bool connect(acp_ga_t peer) = 0;

  /// Gives the transfer its number. `status` of the transfer tells a failure.
  /// What it posts may wait in `batch`; null: it leaves at once.
  virtual void start(Transfer& transfer, Batch* batch) = 0;

  /// Looks for news; true when there were any.
  virtual bool advance() = 0;

  /// Never touches an active transfer again; the channel is not used any more.
  /// What it has put may still be under way: drop() comes after that.
  virtual void abandon(Transfer& transfer) = 0;

  /// Frees what a transfer has used that never completes; orphans have no other
  /// owner.
  void drop(Transfer& transfer);

  /// Whether advance() may find something to do.
  virtual bool is_busy() const = 0;

  /// Whether transfers of the program are active.
  virtual bool has_active() const = 0;

  /// No reports and late grants any more: the communicator is being freed.
  void close() { is_closing_ = true; }

  bool is_listed = false;  ///< In the list of busy halves.

 protected:
  /// Zeroed memory of its own.
  bool allocate(std::size_t bytes);
  void finish(Transfer& transfer, QMP_status_t status);

  ChannelId id_;
  LibraryMemory& library_;
  Block block_;
  Mirror peer_;
  bool is_closing_ = false;
};

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
  /// A message that could not go at once.
  struct Waiting {
    std::uint64_t number;
    std::uint64_t size;
    Transfer* gated;                    ///< Or, when null:
    std::unique_ptr<std::byte[]> copy;  ///< a snapshot.
  };

  const SenderHalf& mine() const {
    return *reinterpret_cast<const SenderHalf*>(block_.memory);
  }

  bool has_room(std::uint64_t number) const;
  std::byte* eager_room(std::uint64_t number, std::uint64_t size);
  Posted post_eager(std::uint64_t number,
                    std::uint64_t size,
                    Batch* batch = nullptr);
  Posted post_word(std::uint64_t number, Kind kind, std::uint64_t size);
  Posted try_gated(Transfer& transfer, Batch* batch = nullptr);
  Posted put(Transfer& transfer, const Grant& grant, acp_ga_t source);
  Posted put_pieces(Transfer& transfer, const Grant& grant, acp_ga_t source);
  Posted try_waiting(Waiting& waiting);
  acp_ga_t source_of(Transfer& transfer);

  std::uint64_t started_ = 0;
  std::array<std::uint64_t, kEntries> words_{};  ///< As last written.
  std::vector<Waiting> waiting_;
  std::vector<Transfer*> flying_;  ///< Put, but not complete.
};

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

  /// Posts grants for short receives that wait since a while.
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
  bool post_grant(Transfer& transfer, Batch* batch = nullptr);
  void deliver(Transfer& transfer, std::uint64_t word);
  void consume(std::uint64_t number);
  bool report();

  std::uint64_t started_ = 0;
  std::uint64_t consumed_ = 0;  ///< All messages below are consumed ...
  std::uint32_t ahead_ = 0;     ///< ... and those of this mask above.
  std::uint64_t reported_ = 0;
  std::array<std::uint64_t, kEntries> words_{};  ///< Grants as last written.
  std::vector<Transfer*> posted_;                ///< In order of numbers.
};

/// "node 3" or "rank 3 of the job, axis 2, travelling in direction +1", for
/// messages.
std::string describe(const ChannelId& id);

}  // namespace qmp
