// Makes JSON of the facts, for programs.
#pragma once

#include <string>
#include <vector>

#include "checks.h"
#include "facts.h"

#include <nlohmann/json_fwd.hpp>

namespace acp::info {

/// Returns a document as a text of ASCII, on one line with an indent of -1.
/// Bytes of names and paths that are no UTF-8 appear as U+FFFD.
std::string text_of(const nlohmann::json& document, int indent);

nlohmann::json json_of(const std::vector<TransportFact>& transports);
nlohmann::json json_of(const RdmaFact& rdma);
nlohmann::json json_of(const Limits& limits);
nlohmann::json json_of(const std::vector<SettingFact>& settings);
nlohmann::json json_of(const AddressFact& address);
nlohmann::json json_of(const std::vector<Check>& checks);

}  // namespace acp::info
