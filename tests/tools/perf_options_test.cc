// Tests the command line of acp_perf, and the rows that it selects.
#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "options.h"
#include "rows.h"
#include "runner.h"

using namespace acp::perf;

namespace {

Parsed parse(std::vector<const char*> words) {
  words.insert(words.begin(), "acp_perf");
  return parse_options(static_cast<int>(words.size()), words.data());
}

std::vector<std::string> names_selected(bool is_direct,
                                        const char* rows,
                                        Network network = Network::kOther) {
  Context context;
  context.is_direct = is_direct;
  context.network = network;
  Options options;
  options.rows = rows;
  const Rows all = all_rows();
  std::vector<std::string> names;
  for (const std::size_t i : select_rows(context, all, options)) {
    names.push_back(all[i].name);
  }
  return names;
}

}  // namespace

TEST_CASE("acp_perf: options have their meaning", "[perf]") {
  const Parsed parsed = parse({"--time-ms", "7", "--rounds", "2", "--rows",
                               "^put", "--csv", "--no-pin", "--start", "2,64"});
  REQUIRE_FALSE(parsed.is_done);
  CHECK(parsed.options.time_ms == 7);
  CHECK(parsed.options.rounds == 2);
  CHECK(parsed.options.rows == "^put");
  CHECK(parsed.options.format == Format::kCsv);
  CHECK_FALSE(parsed.options.pin);
  CHECK(parsed.options.start == std::vector<int>{2, 64});
  CHECK(parsed.options.resets == 0);
  CHECK(parse({"--resets", "9"}).options.resets == 9);
}

TEST_CASE("acp_perf: sizes of a sweep", "[perf]") {
  const Options options = parse({"--sweep", "8:2M", "--svg", "a.svg"}).options;
  CHECK(options.sweep_least == 8);
  CHECK(options.sweep_most == 2 << 20);
  CHECK(options.svg == "a.svg");
  const Rows rows = sweep_rows(8, 4096);
  std::set<std::string> names;
  for (const Row& row : rows) {
    CHECK(row.plotted_at != 0);
    names.insert(row.name);
  }
  CHECK(names.size() == rows.size());
  for (const char* name : {"raw.memmove.8", "put.time.4K", "get.512",
                           "channel.time.8", "add8.window.64"}) {
    CHECK(names.count(name) == 1);
  }
  CHECK(size_name(1536) == "1536");
}

TEST_CASE("acp_perf: a wrong option is an error with a text", "[perf]") {
  for (const auto& words :
       std::vector<std::vector<const char*>>{{"--rows", "("},
                                             {"--time-ms", "0"},
                                             {"--csv", "--json"},
                                             {"--quick", "--time-ms", "5"},
                                             {"--resets", "5", "--start", "2"},
                                             {"--sweep", "8"},
                                             {"--sweep", "4:8"},
                                             {"--sweep", "16:8"},
                                             {"--sweep", "8:16M"},
                                             {"--sweep", "8:x"},
                                             {"--svg", "a.svg"},
                                             {"--compare", "a.json"},
                                             {"--unknown"}}) {
    const Parsed parsed = parse(words);
    CHECK(parsed.is_done);
    CHECK(parsed.status != 0);
    CHECK_FALSE(parsed.text.empty());
  }
  CHECK(parse({"--help"}).status == 0);
}

TEST_CASE("acp_perf: a row brings the raw row of its path along", "[perf]") {
  using Names = std::vector<std::string>;
  CHECK(names_selected(true, "^put8$") == Names{"raw.store8.fence", "put8"});
  CHECK(names_selected(false, "^put8$") == Names{"raw.udp", "put8"});
  CHECK(names_selected(true, "threads") ==
        Names{"raw.store8.fence", "put8", "put8.threads"});
  CHECK(names_selected(false, "^sync$", Network::kRdma) ==
        names_selected(false, "^sync$"));
#ifdef ACP_HAS_VERBS
  CHECK(names_selected(false, "^(put8|chain.put_add)$", Network::kRdma) ==
        Names{"raw.rdma.put", "raw.rdma.put_add", "put8", "chain.put_add"});
#endif
#ifdef ACP_HAS_UCX
  CHECK(names_selected(false, "^(put8|sync)$", Network::kUcx) ==
        Names{"raw.udp", "raw.ucp.put8", "put8", "sync"});
#endif
  CHECK(names_selected(true, "nothing has this name").empty());
}

TEST_CASE("acp_perf: every row that is compared with exists", "[perf]") {
  const Rows all = all_rows();
  const auto exists = [&](const std::string& name) {
    return name.empty() || std::any_of(all.begin(), all.end(), [&](auto& row) {
             return row.name == name;
           });
  };
  for (const Row& row : all) {
    INFO(row.name);
    CHECK(exists(row.raw_direct));
    CHECK(exists(row.raw_network));
#ifdef ACP_HAS_VERBS
    CHECK(exists(row.raw_rdma));
#endif
    CHECK(row.run != nullptr);
    CHECK((row.partners == Partners::kNone) == (row.respond == nullptr));
  }
}
