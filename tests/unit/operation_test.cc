// The layout of requests and replies, and the bytes that decoding refuses.
#include "protocol/operation.h"

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "base/little_endian.h"
#include "support/messages.h"

namespace acp::protocol {

namespace {

using test::reply_message;
using test::request_message;

Step put_step(std::uint32_t size) {
  Step step;
  step.opcode = Opcode::kPut;
  step.size = size;
  step.remote = 0x1000;
  return step;
}

Step word_step(Opcode opcode, std::uint8_t width = 8) {
  Step step;
  step.opcode = opcode;
  step.width = width;
  return step;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

}  // namespace

TEST_CASE("operation: the bytes of a request are what the table says",
          "[protocol][operation]") {
  const auto golden = bytes_of({
      1,    2,    0,    0,    3,    0,    0,    0,     // head
      0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  // id
      1,    8,    0,    0,    3,    0,    0,    0,     // put of 3 bytes
      0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,  // remote
      0,    0,    0,    0,    0,    0,    0,    0,     // operand
      0,    0,    0,    0,    0,    0,    0,    0,     // compare
      5,    4,    1,    0,    0,    0,    0,    0,     // cas4 with signal
      0x10, 0,    0,    0,    0,    0,    0,    0,     // remote
      0x20, 0,    0,    0,    0,    0,    0,    0,     // operand
      0x30, 0,    0,    0,    0,    0,    0,    0,     // compare
      'a',  'b',  'c',
  });
  Step put = put_step(3);
  put.remote = 0x0123456789abcdef;
  Step cas = word_step(Opcode::kCas, 4);
  cas.flags = kSignalFlag;
  cas.remote = 0x10;
  cas.operand = 0x20;
  cas.compare = 0x30;
  const std::array steps = {put, cas};
  CHECK(request_message(0x1122334455667788, steps, bytes_of({'a', 'b', 'c'})) ==
        golden);

  const auto request = decode_request(golden);
  REQUIRE(request.has_value());
  CHECK(request->header.id == 0x1122334455667788);
  CHECK(request->header.steps == 2);
  CHECK(request->step(0).remote == 0x0123456789abcdef);
  CHECK(request->step(0).size == 3);
  CHECK(request->step(1).opcode == Opcode::kCas);
  CHECK(request->step(1).width == 4);
  CHECK(request->step(1).flags == kSignalFlag);
  CHECK(request->step(1).remote == 0x10);
  CHECK(request->step(1).operand == 0x20);
  CHECK(request->step(1).compare == 0x30);
  REQUIRE(request->data.size() == 3);
  CHECK(request->data[2] == std::byte{'c'});
}

TEST_CASE("operation: a copy has its source and its size in the last words",
          "[protocol][operation]") {
  const auto golden = bytes_of({
      10, 8, 0, 0, 0, 0, 0, 0,  // copy
      1,  0, 0, 0, 0, 0, 0, 1,  // remote: the destination
      2,  0, 0, 0, 0, 0, 0, 2,  // local: the source
      3,  0, 0, 0, 1, 0, 0, 0,  // size
  });
  Step copy;
  copy.remote = 0x0100000000000001;
  copy.local = 0x0200000000000002;
  copy.size = 0x100000003;
  const StepBytes bytes = encode_step(copy);
  CHECK(std::vector(bytes.begin(), bytes.end()) == golden);
  const Step decoded = decode_step(golden.data());
  CHECK(decoded.opcode == Opcode::kCopy);
  CHECK(decoded.remote == copy.remote);
  CHECK(decoded.local == copy.local);
  CHECK(decoded.size == copy.size);
}

TEST_CASE("operation: the bytes of a reply are what the table says",
          "[protocol][operation]") {
  const auto golden = bytes_of({
      2,
      7,
      5,
      0,
      2,
      0,
      0,
      0,  // kBadKey at step 5
      0x88,
      0x77,
      0x66,
      0x55,
      0x44,
      0x33,
      0x22,
      0x11,  // id
      'x',
      'y',
  });
  CHECK(reply_message(0x1122334455667788, Status::kBadKey, 5,
                      bytes_of({'x', 'y'})) == golden);
  const auto reply = decode_reply(golden);
  REQUIRE(reply.has_value());
  CHECK(reply->header.id == 0x1122334455667788);
  CHECK(reply->header.status == Status::kBadKey);
  CHECK(reply->header.failed_step == 5);
  REQUIRE(reply->data.size() == 2);
  CHECK(reply->data[1] == std::byte{'y'});
}

TEST_CASE("operation: the bytes of a shared reply are what the table says",
          "[protocol][operation]") {
  const auto golden = bytes_of({
      3,    0, 0, 0,                 // type
      8,    0, 0, 0,                 // bytes behind the first id
      0x11, 0, 0, 0, 0x22, 0, 0, 0,  //
      0x33, 0, 0, 0, 0x44, 0, 0, 0,  //
  });
  const auto ids = decode_shared_reply(golden);
  REQUIRE(ids.has_value());
  REQUIRE(ids->size() == 16);
  CHECK(load_little<std::uint64_t>(ids->data()) == 0x22'0000'0011);
  CHECK(load_little<std::uint64_t>(ids->data() + 8) == 0x44'0000'0033);
  CHECK_FALSE(decode_reply(golden).has_value());
  CHECK_FALSE(decode_shared_reply(
                  reply_message(1, Status::kOk, 0, std::vector<std::byte>(8)))
                  .has_value());
}

// Every truncation, and every value of each byte of the header, is tried.
TEST_CASE("operation: a damaged shared reply is refused",
          "[protocol][operation]") {
  const auto good = test::shared_reply_message(
      std::array{std::uint64_t{5}, std::uint64_t{6}, std::uint64_t{7}});
  REQUIRE(decode_shared_reply(good).has_value());
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_FALSE(decode_shared_reply(std::span(good).first(size)).has_value());
  }
  for (std::size_t at = 0; at < 8; ++at) {
    for (int value = 0; value < 256; ++value) {
      INFO("byte " << at << ", value " << value);
      auto bad = good;
      bad[at] = static_cast<std::byte>(value);
      CHECK(decode_shared_reply(bad).has_value() == (bad == good));
    }
  }
  auto longer = good;
  longer.push_back({});
  CHECK_FALSE(decode_shared_reply(longer).has_value());
  longer[4] = std::byte{17};
  CHECK_FALSE(decode_shared_reply(longer).has_value());
}

TEST_CASE("operation: what the first byte says", "[protocol][operation]") {
  CHECK_FALSE(message_type({}).has_value());
  for (int value = 0; value < 256; ++value) {
    const auto bytes = bytes_of({value, 0, 0});
    const auto type = message_type(bytes);
    CHECK(type.has_value() == (value >= 1 && value <= 3));
    CHECK((!type || static_cast<int>(*type) == value));
  }
}

// A reply without its results is a message of its own: the data were missing.
// Every other length is refused.
TEST_CASE("operation: every truncation and every longer message is refused",
          "[protocol][operation]") {
  const std::array steps = {put_step(5), word_step(Opcode::kAdd), put_step(4)};
  auto request = request_message(1, steps, std::vector<std::byte>(9));
  REQUIRE(decode_request(request).has_value());
  for (std::size_t size = 0; size < request.size(); ++size) {
    CHECK_FALSE(decode_request(std::span(request).first(size)).has_value());
  }
  request.push_back({});
  CHECK_FALSE(decode_request(request).has_value());

  auto reply = reply_message(1, Status::kOk, 0, std::vector<std::byte>(9));
  REQUIRE(decode_reply(reply).has_value());
  for (std::size_t size = 0; size < reply.size(); ++size) {
    CHECK(decode_reply(std::span(reply).first(size)).has_value() ==
          (size == sizeof(ReplyHeader)));
  }
  const auto without = std::span(reply).first(sizeof(ReplyHeader));
  CHECK(decode_reply(without)->header.status == Status::kBadAddress);
  reply.push_back({});
  CHECK_FALSE(decode_reply(reply).has_value());
}

TEST_CASE("operation: a request without data is known by its header",
          "[protocol][operation]") {
  const std::array steps = {put_step(5), word_step(Opcode::kAdd), put_step(4)};
  const auto request = request_message(3, steps, std::vector<std::byte>(9));
  const std::size_t head = request.size() - 9;
  for (std::size_t size = 0; size <= request.size(); ++size) {
    const auto header =
        decode_request_without_data(std::span(request).first(size));
    CHECK(header.has_value() == (size >= head && size < request.size()));
    CHECK((!header || header->id == 3));
  }
  const auto is_known_with = [&](std::size_t at, int value) {
    auto changed = request;
    changed.resize(head);
    changed[at] = static_cast<std::byte>(value);
    return decode_request_without_data(changed).has_value();
  };
  for (int value = 0; value < 256; ++value) {
    CHECK(is_known_with(0, value) == (value == 1));          // type
    CHECK(is_known_with(1, value) == (value == 3));          // steps
    CHECK(is_known_with(2, value) == (value <= kMoreFlag));  // flags
  }
}

TEST_CASE("operation: a damaged request is refused", "[protocol][operation]") {
  const std::array steps = {put_step(5), word_step(Opcode::kAdd)};
  const auto good = request_message(1, steps, std::vector<std::byte>(5));
  const auto is_taken_with = [&](std::size_t at, int value) {
    auto bad = good;
    bad[at] = static_cast<std::byte>(value);
    return decode_request(bad).has_value();
  };
  constexpr std::size_t kFirst = sizeof(RequestHeader);
  constexpr std::size_t kSecond = kFirst + kStepBytes;
  for (int value = 0; value < 256; ++value) {
    INFO("value " << value);
    CHECK(is_taken_with(0, value) == (value == 1));           // type
    CHECK(is_taken_with(1, value) == (value == 2));           // steps
    CHECK(is_taken_with(2, value) == (value == 0));           // flags
    CHECK(is_taken_with(3, value) == (value == 0));           // flags
    CHECK(is_taken_with(4, value) == (value == 5));           // data bytes
    CHECK(is_taken_with(5, value) == (value == 0));           // data bytes
    CHECK(is_taken_with(7, value) == (value == 0));           // data bytes
    CHECK(is_taken_with(kFirst + 4, value) == (value == 5));  // size of the put
    CHECK(is_taken_with(kFirst + 7, value) == (value == 0));
    CHECK(is_taken_with(kSecond + 1, value) == (value == 4 || value == 8));
    CHECK(is_taken_with(kSecond + 2, value) == (value <= 1));  // flags
    CHECK(is_taken_with(kSecond + 3, value) == (value == 0));
    // A put would carry data, a copy must be the only step, and all other
    // values name no opcode.
    const bool is_opcode = value >= 1 && value <= 9;
    CHECK(is_taken_with(kSecond, value) == is_opcode);
  }
}

// All values of the flags are tried with each kind of step. Only a single put
// without a signal may be a part.
TEST_CASE("operation: a part of a request is one put",
          "[protocol][operation]") {
  const auto is_taken = [](std::vector<Step> steps, int flags) {
    std::size_t data_bytes = 0;
    for (const Step& step : steps) {
      data_bytes += request_bytes(step);
    }
    auto bytes = request_message(1, steps, std::vector<std::byte>(data_bytes));
    bytes[offsetof(RequestHeader, flags)] = static_cast<std::byte>(flags);
    return decode_request(bytes).has_value();
  };
  for (int flags = 0; flags < 256; ++flags) {
    const bool is_part = flags == kMoreFlag;
    CHECK(is_taken({put_step(5)}, flags) == (flags == 0 || is_part));
    CHECK(is_taken({put_step(5), put_step(5)}, flags) == (flags == 0));
    CHECK(is_taken({word_step(Opcode::kPut8)}, flags) == (flags == 0));
    CHECK(is_taken({word_step(Opcode::kGet)}, flags) == (flags == 0));
    CHECK(is_taken({word_step(Opcode::kCopy)}, flags) == (flags == 0));
  }
  Step signal = put_step(5);
  signal.flags = kSignalFlag;
  CHECK(is_taken({signal}, 0));
  CHECK_FALSE(is_taken({signal}, kMoreFlag));
}

// No operation waits for the answer of such a request, so an id or a result
// would be useless.
TEST_CASE("operation: an unanswered request is one step without results",
          "[protocol][operation]") {
  const auto is_taken = [](std::vector<Step> steps, std::uint64_t id) {
    std::size_t data_bytes = 0;
    for (const Step& step : steps) {
      data_bytes += request_bytes(step);
    }
    auto bytes = request_message(id, steps, std::vector<std::byte>(data_bytes));
    bytes[offsetof(RequestHeader, flags)] = std::byte{kUnansweredFlag};
    return decode_request(bytes).has_value();
  };
  for (const Opcode opcode : {Opcode::kPut8, Opcode::kAdd, Opcode::kCas}) {
    CHECK(is_taken({word_step(opcode)}, 0));
    CHECK_FALSE(is_taken({word_step(opcode)}, 1));
    CHECK_FALSE(is_taken({word_step(opcode), word_step(opcode)}, 0));
  }
  CHECK(is_taken({put_step(5)}, 0));
  CHECK_FALSE(is_taken({word_step(Opcode::kGet)}, 0));
  CHECK_FALSE(is_taken({word_step(Opcode::kCopy)}, 0));
}

TEST_CASE("operation: each opcode alone", "[protocol][operation]") {
  for (int value = 0; value < 256; ++value) {
    Step step;
    step.opcode = static_cast<Opcode>(value);
    CHECK(decode_request(request_message(1, {&step, 1}, {})).has_value() ==
          (value >= 1 && value <= 10));
  }
  Step signal_copy = word_step(Opcode::kCopy);
  signal_copy.flags = kSignalFlag;
  CHECK_FALSE(
      decode_request(request_message(1, {&signal_copy, 1}, {})).has_value());
  const std::array two_copies = {word_step(Opcode::kCopy),
                                 word_step(Opcode::kCopy)};
  CHECK_FALSE(decode_request(request_message(1, two_copies, {})).has_value());
}

TEST_CASE("operation: a put of a word has eight bytes",
          "[protocol][operation]") {
  for (int width = 0; width < 256; ++width) {
    const Step step =
        word_step(Opcode::kPut8, static_cast<std::uint8_t>(width));
    CHECK(decode_request(request_message(1, {&step, 1}, {})).has_value() ==
          (width == 8));
  }
}

TEST_CASE("operation: one to sixteen steps", "[protocol][operation]") {
  for (std::size_t count = 0; count <= 20; ++count) {
    const std::vector<Step> steps(count, word_step(Opcode::kXor));
    CHECK(decode_request(request_message(1, steps, {})).has_value() ==
          (count >= 1 && count <= kMaxSteps));
  }
}

TEST_CASE("operation: sizes that overflow together are refused",
          "[protocol][operation]") {
  // 16 puts whose sizes add up to 2^36, with no data.
  const std::vector<Step> huge(kMaxSteps, put_step(UINT32_MAX));
  CHECK_FALSE(decode_request(request_message(1, huge, {})).has_value());
  const std::array wrap = {put_step(0x80000000), put_step(0x80000000)};
  CHECK_FALSE(decode_request(request_message(1, wrap, {})).has_value());
  // A get of any size carries no data.
  Step get = put_step(UINT32_MAX);
  get.opcode = Opcode::kGet;
  CHECK(decode_request(request_message(1, {&get, 1}, {})).has_value());
}

TEST_CASE("operation: a damaged reply is refused", "[protocol][operation]") {
  const auto good =
      reply_message(1, Status::kBadKey, 3, std::vector<std::byte>(6));
  const auto is_taken_with = [&](std::size_t at, int value) {
    auto bad = good;
    bad[at] = static_cast<std::byte>(value);
    return decode_reply(bad).has_value();
  };
  for (int value = 0; value < 256; ++value) {
    INFO("value " << value);
    CHECK(is_taken_with(0, value) == (value == 2));
    CHECK(is_taken_with(1, value) == (value < kStatusCount));
    CHECK(is_taken_with(2, value) == (value < 16));
    CHECK(is_taken_with(3, value) == (value == 0));
    CHECK(is_taken_with(4, value) == (value == 6));
    CHECK(is_taken_with(5, value) == (value == 0));
  }
}

// Good requests get up to three flipped bits. Each one that still decodes has
// to have as many bytes of data as its steps say.
TEST_CASE("operation: random bytes never make a request that lies",
          "[protocol][operation]") {
  std::mt19937_64 random(7);
  int taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::array steps = {put_step(8), word_step(Opcode::kAdd),
                              put_step(8)};
    auto bytes = request_message(random(), steps, std::vector<std::byte>(16));
    for (auto flips = random() % 4; flips > 0; --flips) {
      const std::size_t bit = random() % (bytes.size() * 8);
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
    if (const auto request = decode_request(bytes)) {
      ++taken;
      std::size_t needed = 0;
      for (std::size_t step = 0; step < request->header.steps; ++step) {
        needed += request_bytes(request->step(step));
      }
      REQUIRE(needed == request->data.size());
      REQUIRE(request->data.data() + needed == bytes.data() + bytes.size());
    }
  }
  CHECK(taken > 0);
}

}  // namespace acp::protocol
