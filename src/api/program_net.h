// The network that a program was linked for, by `acpcc -ndev NETWORK`.
#pragma once

namespace acp::api {

/// A value of ACP_NET, or nullptr for a program that was linked without -ndev.
/// It is the program's default: ACP_NET and --acp-envnet take precedence.
const char* program_net() noexcept;

}  // namespace acp::api
