// Counts the datagrams that the calling thread sends. datagram_counter.cc
// defines sendto in the executable, so all shared libraries call it; the
// executable has to export it.
#pragma once

namespace datagram_counter {

/// Datagrams since the last call.
int take() noexcept;

}  // namespace datagram_counter
