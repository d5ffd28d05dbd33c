// Makes JSON of the facts, for programs.
#pragma once

#include <vector>

#include "checks.h"
#include "facts.h"

#include <nlohmann/json_fwd.hpp>

namespace acp::info {

nlohmann::json json_of(const std::vector<TransportFact>& transports);
nlohmann::json json_of(const RdmaFact& rdma);
nlohmann::json json_of(const Limits& limits);
nlohmann::json json_of(const std::vector<SettingFact>& settings);
nlohmann::json json_of(const AddressFact& address);
nlohmann::json json_of(const std::vector<Check>& checks);

}  // namespace acp::info
