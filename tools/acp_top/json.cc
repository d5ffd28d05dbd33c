// Writes and reads pictures as JSON. Called by main.cc. Pure. The members of a
// rank are the columns of the table.
#include "json.h"

#include <fmt/core.h>

#include "base/printable.h"
#include "findings.h"

#include <nlohmann/json.hpp>

namespace acp::top {

namespace {

using nlohmann::json;

json json_of(const Number& value) {
  return value ? json(*value) : json(nullptr);
}

json json_of(const Real& value) {
  return value ? json(*value) : json(nullptr);
}

json json_of(const std::string& value) {
  return value;
}

json json_of(State value) {
  return std::string(name_of(value));
}

/// Each overload returns false for a value of another type.
bool read(const json& value, Number& number) {
  if (value.is_null()) return true;
  if (!value.is_number_integer()) return false;
  number = value.get<std::int64_t>();
  return true;
}

bool read(const json& value, Real& number) {
  if (value.is_null()) return true;
  if (!value.is_number()) return false;
  number = value.get<double>();
  return true;
}

/// The text goes to a terminal, so it may hold no command for it.
bool read(const json& value, std::string& text) {
  if (!value.is_string()) return false;
  text = printable(value.get_ref<const std::string&>());
  return true;
}

bool read(const json& value, State& state) {
  if (!value.is_string()) return false;
  const auto named = state_named(value.get_ref<const std::string&>());
  if (named) state = *named;
  return named.has_value();
}

bool read(const json& value, std::int64_t& number) {
  if (!value.is_number_integer()) return false;
  number = value.get<std::int64_t>();
  return true;
}

bool read(const json& value, double& number) {
  if (!value.is_number()) return false;
  number = value.get<double>();
  return true;
}

/// Reads a member, and notes the first one that is missing or of another type.
template <typename T>
void read_member(const json& object,
                 std::string_view name,
                 T& value,
                 std::string& why) {
  const auto member = object.is_object() ? object.find(name) : object.end();
  const bool is_good = member != object.end() && read(*member, value);
  if (!is_good && why.empty()) {
    why = fmt::format("member '{}' is missing, or not of its type", name);
  }
}

RankRow row_from_json(const json& object, std::string& why) {
  RankRow row;
  for (const Column& column : columns()) {
    std::visit(
        [&](auto member) {
          read_member(object, column.name, row.*member, why);
        },
        column.member);
  }
  return row;
}

}  // namespace

std::string json_of(const Picture& picture) {
  json ranks = json::array();
  for (const RankRow& row : picture.rows) {
    json rank = json::object();
    for (const Column& column : columns()) {
      std::visit(
          [&](auto member) {
            rank[std::string(column.name)] = json_of(row.*member);
          },
          column.member);
    }
    ranks.push_back(std::move(rank));
  }
  const json document = {{"schema", kJsonSchema},
                         {"acprun", picture.acprun},
                         {"job_ranks", picture.ranks},
                         {"hosts", picture.hosts},
                         {"program", picture.program},
                         {"age_s", picture.age_s},
                         {"end", picture.end},
                         {"circles", find_circles(picture)},
                         {"findings", findings_of(picture)},
                         {"ranks", std::move(ranks)}};
  return document.dump(1, ' ', /*ensure_ascii=*/true,
                       json::error_handler_t::replace) +
         '\n';
}

std::variant<Picture, BadJson> picture_from_json(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return BadJson{"it is not JSON"};
  std::string why;
  std::int64_t schema = 0;
  Picture picture;
  read_member(document, "schema", schema, why);
  if (why.empty() && schema != kJsonSchema) {
    return BadJson{fmt::format("it has schema {}, and this acp_top reads {}",
                               schema, kJsonSchema)};
  }
  read_member(document, "acprun", picture.acprun, why);
  read_member(document, "job_ranks", picture.ranks, why);
  read_member(document, "hosts", picture.hosts, why);
  read_member(document, "program", picture.program, why);
  read_member(document, "age_s", picture.age_s, why);
  read_member(document, "end", picture.end, why);
  if (!why.empty()) return BadJson{why};
  const auto ranks = document.find("ranks");
  if (ranks == document.end() || !ranks->is_array()) {
    return BadJson{"member 'ranks' is missing, or not of its type"};
  }
  for (const json& rank : *ranks) {
    picture.rows.push_back(row_from_json(rank, why));
    if (!why.empty()) {
      return BadJson{fmt::format("element {} of 'ranks': {}",
                                 picture.rows.size() - 1, why)};
    }
  }
  return picture;
}

}  // namespace acp::top
