// Messages of PMI-1 and PMI-2, as Hydra and Slurm write them.
#include "runtime/pmi_message.h"

#include <string>

#include <catch2/catch.hpp>

namespace acp::runtime {

TEST_CASE("pmi_message: an answer of PMI-1 has a command and fields",
          "[pmi_message]") {
  const auto message =
      decode_pmi(PmiDialect::kPmi1,
                 "cmd=get_result rc=0 msg=success value=(vector,(0,1,1))");
  REQUIRE(message.has_value());
  CHECK(message->command == "get_result");
  REQUIRE(message->find("value") != nullptr);
  CHECK(*message->find("value") == "(vector,(0,1,1))");
  CHECK(message->find("none") == nullptr);
  CHECK(message->is_success());
}

TEST_CASE("pmi_message: a refusal is no success", "[pmi_message]") {
  const auto message =
      decode_pmi(PmiDialect::kPmi1,
                 "cmd=get_result rc=-1 msg=key_x_not_found value=unknown");
  REQUIRE(message.has_value());
  CHECK(message->number("rc") == -1);
  CHECK_FALSE(message->is_success());
}

TEST_CASE("pmi_message: a semicolon in a value of PMI-2 is written twice",
          "[pmi_message]") {
  const PmiMessage message{"kvs-put", {{"key", "a;b"}, {"value", ";;"}}};
  const std::string bytes = encode_pmi(PmiDialect::kPmi2, message);
  const std::string text = "cmd=kvs-put;key=a;;b;value=;;;;;";
  CHECK(bytes == "000032" + text);
  CHECK(decode_pmi2_length("000032") == text.size());
  CHECK(decode_pmi(PmiDialect::kPmi2, text) == message);
}

TEST_CASE("pmi_message: PMI-1 ends with a line end", "[pmi_message]") {
  CHECK(encode_pmi(PmiDialect::kPmi1, {"barrier_in", {}}) ==
        "cmd=barrier_in\n");
  CHECK(
      encode_pmi(PmiDialect::kPmi1, {"put", {{"key", "k"}, {"value", "v"}}}) ==
      "cmd=put key=k value=v\n");
}

TEST_CASE("pmi_message: a length is filled up with spaces or zeros",
          "[pmi_message]") {
  CHECK(decode_pmi2_length("    12") == 12);
  CHECK(decode_pmi2_length("12    ") == 12);  // Slurm
  CHECK(decode_pmi2_length("000012") == 12);
  for (const char* text :
       {"", "12", "      ", "    1x", "-00012", "099999", "0000012"}) {
    INFO("\"" << text << "\"");
    CHECK_FALSE(decode_pmi2_length(text).has_value());
  }
}

TEST_CASE("pmi_message: a text without a command is refused", "[pmi_message]") {
  for (const char* text :
       {"", " ", "get_result", "rc=0 cmd=get_result", "cmd=x word", "=x"}) {
    INFO("\"" << text << "\"");
    CHECK_FALSE(decode_pmi(PmiDialect::kPmi1, text).has_value());
  }
}

}  // namespace acp::runtime
