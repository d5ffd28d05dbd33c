// The settings of HMPI as acp_info prints them.
#pragma once

#include <array>
#include <string_view>

namespace hmpi {

struct SettingRow {
  const char* name;
  std::string_view default_value;  ///< Reads as the default does.
  std::string_view choices;        ///< Separated by '|'; empty: bytes.
  std::string_view meaning;
};

inline constexpr std::array<SettingRow, 12> kSettingRows{{
    {"HMPI_INLINE", "4K", "",
     "Messages up to so many bytes travel inside the ring between two ranks; "
     "8K at most."},
    {"HMPI_COPY", "8K", "",
     "Messages up to so many bytes are copied at once, and their send is "
     "complete."},
    {"HMPI_DETACH", "64K", "",
     "A blocking send of up to so many bytes ends without its receiver."},
    {"HMPI_BOTH_FROM", "256K", "",
     "From this size on both processes copy, if both buffers are shared "
     "memory."},
    {"HMPI_KEPT", "16M", "",
     "Bytes of short messages that one process may have sent to another one "
     "that does not receive; then sends wait."},
    {"HMPI_CMA", "on", "on|off",
     "Whether private memory is copied by the kernel (process_vm_readv); off "
     "takes a buffer between the two processes."},
    {"HMPI_HEAP", "large", "large|all|off",
     "Which blocks of malloc other processes of the host can read: large is "
     "those of HMPI_HEAP_FROM bytes and more."},
    {"HMPI_HEAP_FROM", "64K", "", "The least size of such a block."},
    {"HMPI_HEAP_SIZE", "0", "",
     "Bytes of address space for such blocks in each process; 0 takes three "
     "quarters of ACP_HEAP_SIZE, and HMPI sets that to 16G where no launcher "
     "of ACP has set it."},
    {"HMPI_POOL", "256M", "",
     "Bytes of freed buffers that a process keeps for its next OPI_Alloc; 0 "
     "returns each buffer to the process that made it."},
    {"HMPI_DEBUG", "off", "off|on",
     "Whether a use of a buffer after OPI_Give ends the process, with a line "
     "that names the receiver."},
    {"HMPI_STATS", "off", "off|on|PATH",
     "Whether rank 0 prints in MPI_Finalize how many messages of all ranks "
     "went which way; a path writes them there as JSON."},
}};

}  // namespace hmpi
