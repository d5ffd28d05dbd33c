// Tests of acp.hpp: channels, workspaces and published names.
#include <numeric>
#include <vector>

#include "acp/acp.hpp"
#include "support/spmd.h"
#include "support/stderr_capture.h"

namespace {

template <typename Call>
int code_of(const Call& call) {
  const spmd::StderrCapture quiet;
  try {
    call();
  } catch (const acp::error& error) {
    return error.code();
  }
  return 0;
}

int right() {
  return spmd::right_of(acp::rank());
}

int left() {
  return (acp::rank() + acp::ranks() - 1) % acp::ranks();
}

}  // namespace

SPMD_CASE(cpp_channel, "channel: elements, messages, the end of the sender") {
  SPMD_NEEDS_RANKS(2);
  acp::channel<int> out(acp::rank(), right());
  acp::channel<int> in(left(), acp::rank());
  for (int i = 0; i < 10; ++i)
    out.send(i * 100 + acp::rank());
  for (int i = 0; i < 10; ++i) {
    EXPECT(in.receive() == i * 100 + left());
  }
  std::vector<int> many(1000);
  std::iota(many.begin(), many.end(), acp::rank());
  acp::request sent = out.async_send(many);
  std::vector<int> room(2000);
  acp::request request = in.async_receive(room);
  EXPECT(request.wait() == many.size() * sizeof(int));
  EXPECT(sent.wait() == 0U);
  EXPECT_EQ(room[999], 999 + left());
  out.send(std::span<const int>(many).first(3));
  EXPECT(in.receive(std::span(room)) == 3U);
  out.send(std::span<const int>());
  EXPECT_EQ(code_of([&] { (void)in.receive(); }), ACPX_INVALID_ARGUMENT);
  for (int i = 0; i < 5; ++i)
    out.send(i);
  acp::channel<int> moved = std::move(out);
  moved.close();
  int count = 0;
  for (const int value : in) {
    EXPECT_EQ(value, count++);
  }
  EXPECT_EQ(count, 5);
  EXPECT(in.receive() == std::nullopt);
  EXPECT_EQ(code_of([] { acp::channel<int>(0, 0); }), ACPX_INVALID_ARGUMENT);
  acp::sync();
}

SPMD_CASE(cpp_workspace, "workspace: values and ranges at offsets") {
  const auto me = static_cast<std::size_t>(acp::rank());
  const auto procs = static_cast<std::size_t>(acp::ranks());
  acp::workspace space(procs * 1024);
  space.put(me * 1024, 10.5 + acp::rank());
  acp::registered<std::uint32_t> words(16);
  std::iota(words.begin(), words.end(), 1000U * static_cast<unsigned>(me));
  space.write(me * 1024 + 64, words.ptr(), 16);
  acp::sync();
  const auto peer = static_cast<std::size_t>(right());
  EXPECT_EQ(space.get<double>(peer * 1024), 10.5 + right());
  space.read(peer * 1024 + 64, words.ptr(), 16);
  EXPECT_EQ(words[15], 1000U * static_cast<unsigned>(peer) + 15);
  EXPECT_EQ(code_of([&] { (void)space.get<double>(procs * 1024); }),
            ACPX_BAD_ADDRESS);
  acp::workspace moved = std::move(space);
  EXPECT_EQ(moved.get<double>(peer * 1024), 10.5 + right());
  acp::sync();
}

SPMD_CASE(cpp_names, "publish, lookup: pointers, values, handles, limits") {
  const std::string mine = "of " + std::to_string(acp::rank());
  acp::registered<double> field(8);
  field[3] = acp::rank();
  EXPECT(acp::publish("field " + mine, field.ptr()));
  EXPECT(!acp::publish("field " + mine, field.ptr()));
  const auto theirs = acp::lookup<acp::global_ptr<double>>(
      "field of " + std::to_string(right()));
  EXPECT_EQ(acp::get(theirs + 3), static_cast<double>(right()));
  acp::set<int> keys(10);
  EXPECT(acp::publish("keys " + mine, keys));
  auto others = acp::lookup<acp::set<int>>("keys of " + std::to_string(left()));
  EXPECT(!others.is_owner());
  others.insert(5);
  acp::sync();
  EXPECT(keys.contains(5));
  EXPECT(acp::lookup_for<acp::set<int>>(
             "no keys", std::chrono::milliseconds(20)) == std::nullopt);
  EXPECT_EQ(code_of([&] { acp::lookup<char>("field " + mine); }),
            ACPX_TOO_LARGE);
  EXPECT_EQ(code_of([] { acp::publish("", 1); }), ACPX_INVALID_ARGUMENT);
  EXPECT_EQ(code_of([] { (void)acp::unpublish(""); }), ACPX_INVALID_ARGUMENT);
  acp::sync();
  EXPECT(acp::unpublish("field " + mine) && acp::unpublish("keys " + mine));
  EXPECT(!acp::unpublish("keys " + mine));
}
