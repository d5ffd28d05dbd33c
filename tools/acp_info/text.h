// Makes text of the facts, for people.
#pragma once

#include <string>
#include <vector>

#include "checks.h"
#include "facts.h"

namespace acp::info {

std::string text_of(const std::vector<TransportFact>& transports);
/// "" without RDMA devices.
std::string text_of(const RdmaFact& rdma);
std::string text_of(const Limits& limits);
std::string text_of(const std::vector<SettingFact>& settings);
std::string text_of(const AddressFact& address, const Limits& limits);
std::string text_of(const std::vector<Check>& checks);

}  // namespace acp::info
