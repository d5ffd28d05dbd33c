// Each rank writes its number to the next one, and checks the number that came.
#include <cstdio>

#include <acp/acp.hpp>

int main(int argc, char** argv) {
  const acp::job job(argc, argv);
  const int next = (job.rank() + 1) % job.ranks();
  const int before = (job.rank() + job.ranks() - 1) % job.ranks();
  acp::put(acp::starter<int>(next), job.rank());
  job.sync();
  const int got = acp::get(acp::starter<int>(job.rank()));
  if (got != before) acp_abort("a wrong number");
  std::printf("hello from rank %d of %d\n", job.rank(), job.ranks());
}
