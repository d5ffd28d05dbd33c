// Tests the ring of a receiving end whose sender is on the same host, so that
// no operation of the basic layer is needed.
#include "middle/channel/ring_reader.h"

#include <atomic>
#include <cstddef>
#include <cstring>

#include <catch2/catch.hpp>

namespace acp::middle::channel {

namespace {

constexpr std::uint64_t kRing = 128;

struct RingSite : Site {
  RingSite() { ring_bytes = 2 * kRing; }
};

struct RingEnd {
  RingEnd() {
    std::memset(block.ring, 0xff, sizeof block.ring);
    reader.connect(1, &sender, kRing);
  }

  void write(std::uint64_t at, Record record, std::uint64_t size) {
    const std::uint64_t header = make_header(record, size);
    std::memcpy(block.ring + at, &header, sizeof header);
  }

  /// A ReceiverBlock and its ring.
  struct Block {
    ReceiverBlock mine;
    std::byte ring[2 * kRing];
  };

  RingSite site;
  Block block{};
  SenderBlock sender{};
  std::atomic<const std::uint64_t*> head{nullptr};
  RingReader reader{site, block.mine, 0, head};
  acp_handle_t newest = ACP_HANDLE_NULL;
};

}  // namespace

TEST_CASE("ring reader: it has no record before one was written",
          "[channel][ring]") {
  RingEnd end;
  CHECK(end.reader.size() == kRing);
  CHECK(end.reader.header() == 0);
}

TEST_CASE("ring reader: records follow each other at whole units",
          "[channel][ring]") {
  RingEnd end;
  end.write(0, Record::kMessage, 9);
  CHECK(record_of(end.reader.header()) == Record::kMessage);
  CHECK(end.reader.body() == end.block.ring + kHeaderBytes);
  end.write(32, Record::kSkip, 0);
  end.reader.consume(9, end.newest);
  CHECK(record_of(end.reader.header()) == Record::kSkip);
  CHECK(end.reader.body() == end.block.ring + 32 + kHeaderBytes);
}

TEST_CASE("ring reader: behind its end the ring begins again",
          "[channel][ring]") {
  RingEnd end;
  end.write(0, Record::kSkip, kRing - kHeaderBytes);
  end.reader.consume(kRing - kHeaderBytes, end.newest);
  CHECK(end.reader.body() == end.block.ring + kHeaderBytes);
}

TEST_CASE("ring reader: credit goes back at each quarter of the ring",
          "[channel][ring]") {
  RingEnd end;
  end.reader.consume(8, end.newest);
  CHECK(end.sender.consumed == 0);
  CHECK_FALSE(end.reader.owes_credit());
  end.reader.consume(8, end.newest);
  CHECK(end.sender.consumed == kRing / 4);
  CHECK_FALSE(end.reader.owes_credit());
  end.reader.consume(8, end.newest);
  CHECK(end.sender.consumed == kRing / 4);
}

TEST_CASE("ring reader: other threads see the next header until it is hidden",
          "[channel][ring]") {
  RingEnd end;
  end.reader.consume(8, end.newest);
  CHECK(end.head.load() == nullptr);
  end.reader.show_head();
  CHECK(static_cast<const void*>(end.head.load()) == end.block.ring + 16);
  end.reader.hide_head();
  CHECK(end.head.load() == nullptr);
}

}  // namespace acp::middle::channel
