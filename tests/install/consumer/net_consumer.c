/* A user's program that tells its network: a place in auto, shm, udp, ib. */
#include <stdint.h>
#include <stdio.h>

#include <acp.h>
#include <acp/extension.h>

int main(int argc, char** argv) {
  static const char* const nets[] = {"auto", "shm", "udp", "ib"};
  uint64_t net = 0;
  if (acp_init(&argc, &argv) != 0 || acpx_setting("ACP_NET", &net) != 0) {
    return 1;
  }
  printf("%s\n", net < 4 ? nets[net] : "another");
  return acp_finalize() == 0 ? 0 : 1;
}
