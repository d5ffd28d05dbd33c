// Error lines of data structures and channels begin with the function that the
// program called, also when a call inside of it fails.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "acp.h"
#include "acp/extension.h"
#include "support/spmd.h"
#include "support/stderr_capture.h"

namespace {

/// The call fails, and each line that it writes names `function`.
void expect_named(const char* function, const std::function<void()>& call) {
  acp_errno = 0;
  spmd::StderrCapture capture;
  call();
  const int code = acp_errno;
  const std::string text = capture.stop();
  EXPECT(code != 0);
  constexpr std::string_view kMark = "error: ";
  std::size_t lines = 0;
  for (std::size_t at = text.find(kMark); at != std::string::npos;
       at = text.find(kMark, at)) {
    at += kMark.size();
    ++lines;
    const std::string_view rest = std::string_view{text}.substr(at);
    const std::string_view name = rest.substr(0, rest.find_first_of("(: "));
    if (name != function) {
      spmd::fail("not of " + std::string(function) + ": " + text);
    }
  }
  if (lines != 1) {
    spmd::fail("not one line of " + std::string(function) + ": " + text);
  }
  acp_errno = 0;
}

#define EXPECT_NAMED(function, ...) \
  expect_named(#function, [&] { (void)function(__VA_ARGS__); })

constexpr std::size_t kHuge = SIZE_MAX / 4;

acp_ga_t memory() {
  return acp_query_starter_ga(acp_rank());
}

}  // namespace

SPMD_CASE(vector_errors_named, "vector: errors name the called function") {
  const acp_vector_t vector = acp_create_vector(8, 0);
  EXPECT_NAMED(acp_create_vector, kHuge, 0);
  EXPECT_NAMED(acp_create_vector, 8, -1);
  EXPECT_NAMED(acp_push_back_vector, vector, memory(), kHuge);
  EXPECT_NAMED(acp_push_back_vector, vector, ACP_GA_NULL, 8);
  EXPECT_NAMED(acp_reserve_vector, vector, kHuge);
  acp_destroy_vector(vector);
  EXPECT_NAMED(acp_push_back_vector, vector, memory(), 8);
  EXPECT_NAMED(acp_size_vector, vector);
}

SPMD_CASE(deque_errors_named, "deque: errors name the called function") {
  const acp_deque_t deque = acp_create_deque(8, 0);
  EXPECT_NAMED(acp_create_deque, kHuge, 0);
  EXPECT_NAMED(acp_push_back_deque, deque, memory(), kHuge);
  EXPECT_NAMED(acp_push_front_deque, deque, ACP_GA_NULL, 8);
  EXPECT_NAMED(acp_reserve_deque, deque, kHuge);
  acp_destroy_deque(deque);
  EXPECT_NAMED(acp_size_deque, deque);
}

SPMD_CASE(list_errors_named, "list: errors name the called function") {
  const acp_list_t list = acp_create_list(0);
  EXPECT_NAMED(acp_create_list, -1);
  EXPECT_NAMED(acp_push_back_list, list, {memory(), kHuge}, 0);
  EXPECT_NAMED(acp_push_back_list, list, {memory(), 8}, -1);
  EXPECT_NAMED(acp_push_back_list, list, {ACP_GA_NULL, 8}, 0);
  acp_destroy_list(list);
  EXPECT_NAMED(acp_size_list, list);
}

SPMD_CASE(table_errors_named, "set, map: errors name the called function") {
  const int ranks[1] = {acp_rank()};
  const acp_element_t key{memory(), 8};
  const acp_set_t set = acp_create_set(1, ranks, 10, 0);
  const acp_map_t map = acp_create_map(1, ranks, 10, 0);
  EXPECT_NAMED(acp_create_set, 1, ranks, INT32_MAX, 0);
  EXPECT_NAMED(acp_create_map, 1, ranks, INT32_MAX, 0);
  EXPECT_NAMED(acp_create_map, INT32_MAX, ranks, 1, 0);
  EXPECT_NAMED(acp_insert_set, set, {memory(), kHuge});
  EXPECT_NAMED(acp_insert_map, map, {key, {memory(), kHuge}});
  EXPECT_NAMED(acp_find_map, map, {ACP_GA_NULL, 8});
  EXPECT_EQ(acp_insert_map(map, {key, {memory(), 500}}), 1);
  EXPECT_NAMED(acp_retrieve_map, map, {key, {ACP_GA_NULL, 500}});
  acp_destroy_set(set);
  acp_destroy_map(map);
  EXPECT_NAMED(acp_remove_set, set, key);
  EXPECT_NAMED(acp_size_map, map);
}

SPMD_CASE(workspace_errors_named,
          "workspace: errors name the called function") {
  acp_setparams_ws(0, 0);
  EXPECT_NAMED(acp_create_ws, 0);
  EXPECT_NAMED(acp_create_ws, SIZE_MAX);
  EXPECT_NAMED(acp_read_ws, ACP_WSD_NULL, memory(), 1, 0);
  EXPECT_NAMED(acp_write_ws, ACP_WSD_NULL, memory(), 1, 0);
}

SPMD_CASE(channel_errors_named, "channel: errors name the called function") {
  char byte = 0;
  EXPECT_NAMED(acp_create_ch, 0, -1);
  EXPECT_NAMED(acp_nbsend_ch, ACP_CH_NULL, &byte, 1);
  EXPECT_NAMED(acp_nbrecv_ch, ACP_CH_NULL, &byte, 1);
  EXPECT_NAMED(acp_nbfree_ch, ACP_CH_NULL);
  EXPECT_NAMED(acp_free_ch, ACP_CH_NULL);
  EXPECT_NAMED(acp_wait_ch, ACP_REQUEST_NULL);
  acp_request_t none[1] = {ACP_REQUEST_NULL};
  std::size_t size = 0;
  EXPECT_NAMED(acp_waitall_ch, none, 1, &size);
}
