// Settings: defaults, units, and the texts that are refused.
#include "settings/settings.h"

#include <array>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "base/byte_count.h"
#include "base/join_texts.h"
#include "base/spelling.h"
#include "settings/networks.h"

namespace acp {

TEST_CASE("settings: a table of documented defaults", "[base][settings]") {
  const Settings settings;
  CHECK(settings.number(SettingId::kStarterMemory) == 10240);
  CHECK(settings.text(SettingId::kNet) == "auto");
  for (const Setting& setting : settings_table()) {
    CHECK(setting.name.starts_with("ACP_"));
    CHECK(setting.documentation.ends_with("."));
  }
}

TEST_CASE("settings: sizes take K, M, G and T", "[base][settings]") {
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("4096") == 4096);
  CHECK(parse_bytes("4k") == 4096);
  CHECK(parse_bytes("2G") == std::uint64_t{2} << 30);
  for (const char* bad : {"", "K", "-1", "1KB", "12x", " 1", "1 "}) {
    INFO(bad);
    CHECK_FALSE(parse_bytes(bad).has_value());
  }
  CHECK_FALSE(parse_bytes("99999999999T").has_value());
}

TEST_CASE("settings: the environment is read and checked", "[base][settings]") {
  std::map<std::string, std::string> environment{{"ACP_NET", "udp"}};
  const auto lookup = [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  const Result<Settings> good = Settings::from_environment(lookup);
  REQUIRE(good.ok());
  CHECK(good.value().text(SettingId::kNet) == "udp");
  CHECK(good.value().source(SettingId::kNet) == SettingSource::kEnvironment);
  CHECK(good.value().source(SettingId::kLog) == SettingSource::kDefault);

  environment["ACP_NET"] = "token-ring";
  CHECK(Settings::from_environment(lookup).status() == Status::kBadOption);
}

TEST_CASE("settings: texts are joined, empty ones as well",
          "[base][settings]") {
  CHECK(join_texts(std::array<std::string_view, 0>{}, ", ").empty());
  CHECK(join_texts(std::array{std::string("one")}, ", ") == "one");
  CHECK(join_texts(std::array<std::string_view, 3>{"", "b", ""}, ",") == ",b,");
}

TEST_CASE("settings: the nearest word is offered", "[base][settings]") {
  constexpr std::array<std::string_view, 3> kWords = {"ACP_NET", "ACP_LOG",
                                                      "ACP_STARTER_MEMORY"};
  CHECK(nearest_word("ACP_STARTER_MEMROY", kWords, "ACP_") ==
        "ACP_STARTER_MEMORY");
  CHECK(nearest_word("ACP_NTE", kWords, "ACP_") == "ACP_NET");
  CHECK(nearest_word("COMPLETELY_DIFFERENT_WORD", kWords, "ACP_").empty());
  CHECK(nearest_word("ACP_FOO", kWords, "ACP_").empty());
  CHECK(nearest_word("ACP_LGO", kWords, "ACP_") == "ACP_LOG");
}

TEST_CASE("settings: acprun's options name the same rows", "[base][settings]") {
  CHECK(setting_of_option("--acp-envnet") == SettingId::kNet);
  CHECK(setting_of_option("--acp-envent") == SettingId::kNet);
  CHECK(setting_of_option("--acp-net") == SettingId::kNet);
  CHECK(setting_of_option("--acp-startermemsize") == SettingId::kStarterMemory);
  CHECK(setting_of_option("--acp-heapsize") == SettingId::kHeapSize);
  CHECK(setting_of_option("--acp-nothing") == SettingId::kCount);
}

TEST_CASE("settings: verbs is another word for ib", "[settings]") {
  Settings settings;
  REQUIRE(settings.set(SettingId::kNet, "verbs", SettingSource::kOption) ==
          Status::kOk);
  CHECK(settings.text(SettingId::kNet) == "ib");
}

TEST_CASE("settings: networks as the launchers of ACP 2.1.0 spell them",
          "[settings]") {
  struct Row {
    const char* word;
    const char* name;
  };

  for (const Row& row :
       {Row{"UDP", "udp"}, Row{"Udp", "udp"}, Row{"IB", "ib"},
        Row{"INFINIBAND", "ib"}, Row{"infiniband", "ib"},
        Row{"InfiniBand", "ib"}, Row{"VERBS", "ib"}, Row{"UCX", "ucx"},
        Row{"SHM", "shm"}, Row{"AUTO", "auto"}, Row{"TOFU", "tofu"}}) {
    INFO(row.word);
    Settings settings;
    REQUIRE(settings.set(SettingId::kNet, row.word,
                         SettingSource::kEnvironment) == Status::kOk);
    CHECK(settings.text(SettingId::kNet) == row.name);
  }
  for (const char* word : {"", "ud", "udpx", "infiniban", "u dp"}) {
    INFO(word);
    Settings settings;
    CHECK(settings.set(SettingId::kNet, word, SettingSource::kEnvironment) !=
          Status::kOk);
  }
}

// A network is for ranks of different hosts, unless ACP_SHM=off takes shared
// memory away. ACP_NET=udp alone asks for the network between ranks of one host
// as well.
TEST_CASE("settings: shared memory is beside a network", "[settings]") {
  struct Row {
    const char* net;
    const char* shm;
    bool is_named;
    bool is_everywhere;
  };

  for (const Row& row :
       {Row{"auto", "auto", false, false}, Row{"auto", "off", false, true},
        Row{"shm", "auto", false, false}, Row{"ib", "auto", true, false},
        Row{"ib", "off", true, true}, Row{"udp", "auto", true, true}}) {
    INFO(row.net << ", ACP_SHM=" << row.shm);
    Settings settings;
    REQUIRE(settings.set(SettingId::kNet, row.net, SettingSource::kOption) ==
            Status::kOk);
    REQUIRE(settings.set(SettingId::kShm, row.shm,
                         SettingSource::kEnvironment) == Status::kOk);
    CHECK(is_network_named(settings) == row.is_named);
    CHECK(is_network_everywhere(settings) == row.is_everywhere);
  }
}

TEST_CASE("settings: atomics by devices take the network inside a host, too",
          "[settings]") {
  Settings settings;
  REQUIRE(settings.set(SettingId::kVerbsAtomics, "device",
                       SettingSource::kEnvironment) == Status::kOk);
  CHECK_FALSE(is_network_everywhere(settings));
  REQUIRE(settings.set(SettingId::kNet, "ib", SettingSource::kEnvironment) ==
          Status::kOk);
  CHECK(is_network_everywhere(settings));
}

TEST_CASE("settings: the nets of this build are among the choices",
          "[settings]") {
  for (const std::string_view net : {"auto", "shm", "udp", "ib", "ucx"}) {
    CHECK(is_network_built_in(net));
    CHECK(networks_built_in().find(net) != std::string::npos);
  }
  CHECK(module_of_network("udp").empty());
  CHECK(module_of_network("ib") == "verbs");
  CHECK(module_of_network("ucx") == "ucx");
  CHECK_FALSE(is_network_built_in("tofu"));
  CHECK_FALSE(is_network_built_in("token-ring"));
  CHECK(networks_built_in().find("tofu") == std::string::npos);
}

TEST_CASE("settings: are found by name, choices have numbers",
          "[base][settings]") {
  CHECK(setting_named("ACP_HEAP_SIZE") == SettingId::kHeapSize);
  CHECK(setting_named("ACP_CH_BUFFER") == SettingId::kChannelBuffer);
  CHECK(setting_named("ACP_CH") == SettingId::kCount);
  Settings settings;
  CHECK(settings.choice(SettingId::kMallocDebug) == 0);
  REQUIRE(settings.set(SettingId::kMallocDebug, "on",
                       SettingSource::kEnvironment) == Status::kOk);
  CHECK(settings.choice(SettingId::kMallocDebug) == 1);
  REQUIRE(settings.set(SettingId::kNet, "tofu", SettingSource::kEnvironment) ==
          Status::kOk);
  CHECK(settings.choice(SettingId::kNet) == 5);
}

}  // namespace acp
