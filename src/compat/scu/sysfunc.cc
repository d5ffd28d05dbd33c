// The functions of scu/sysfunc.h: checks, and calls of the node. Programs call
// them. None may return a failure: it ends the job.
#include "scu/sysfunc.h"

#include <cstring>

#include "compat/scu/global_sum.h"
#include "compat/scu/node.h"
#include "inbox/reserved_call.h"

using scu::node;
using scu::Transfer;

namespace {

/// The calls have no failure, so the job ends when one has no memory to begin.
class ReservedCall {
 public:
  explicit ReservedCall(const char* function) {
    if (inbox::ReservedCall::lacks_memory()) {
      scu::raise(std::string(function) + ": no memory");
    }
  }

 private:
  inbox::ReservedCall call_;
};

std::vector<Transfer> all_of(const char* function, SCUDirArg** arg, int n) {
  if (n < 0 || (arg == nullptr && n > 0)) {
    scu::raise(std::string(function) + ": " + std::to_string(n) +
               " transfers, or an array that is NULL");
  }
  std::vector<Transfer> all;
  all.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    all.push_back(scu::transfer_of(function, arg[i]));
  }
  return all;
}

/// Copies of one transfer, at addresses `offset[i]` elements behind its own.
std::vector<Transfer> at_offsets(const Transfer& base,
                                 const unsigned int* offset,
                                 int n) {
  std::vector<Transfer> all;
  all.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    all.push_back(base);
    all.back().address = static_cast<char*>(base.address) +
                         static_cast<std::size_t>(offset[i]) *
                             static_cast<std::size_t>(base.shape.element_bytes);
  }
  return all;
}

}  // namespace

unsigned int SCUSync() {
  const ReservedCall call("sync");
  if (QMP_comm_barrier(node().comm()) != QMP_SUCCESS) {
    scu::raise(std::string("sync: ") + QMP_get_error_string(nullptr));
  }
  return 0;
}

unsigned int sync() {
  return SCUSync();
}

int UniqueID() {
  return node().number() + 1;
}

int CoorT() {
  return node().coordinate(SCU_T);
}

int CoorX() {
  return node().coordinate(SCU_X);
}

int CoorY() {
  return node().coordinate(SCU_Y);
}

int CoorZ() {
  return node().coordinate(SCU_Z);
}

int SizeT() {
  return node().size(SCU_T);
}

int SizeX() {
  return node().size(SCU_X);
}

int SizeY() {
  return node().size(SCU_Y);
}

int SizeZ() {
  return node().size(SCU_Z);
}

int NumNodes() {
  return QMP_comm_get_number_of_nodes(node().comm());
}

unsigned int Seed() {
  return node().own_seed();
}

unsigned int SeedS() {
  return node().definition().seed;
}

unsigned int SeedT() {
  return node().own_seed();
}

unsigned int SeedST() {
  return node().definition().seed;
}

int SCURemap(SCUDir dir) {
  return dir;
}

void SCUTrans(SCUDirArg* arg) {
  const ReservedCall call("SCUTrans");
  node().start("SCUTrans", {scu::transfer_of("SCUTrans", arg)});
}

void SCUTrans(SCUDirArg** arg, int n) {
  const ReservedCall call("SCUTrans");
  node().start("SCUTrans", all_of("SCUTrans", arg, n));
}

// NOLINTNEXTLINE(readability-non-const-parameter): as the text has it
void SCUTrans(SCUDirArg* arg, unsigned int* offset, int n) {
  const ReservedCall call("SCUTrans");
  if (n < 0 || (offset == nullptr && n > 0)) {
    scu::raise("SCUTrans: " + std::to_string(n) +
               " offsets, or an array that is NULL");
  }
  node().start("SCUTrans",
               at_offsets(scu::transfer_of("SCUTrans", arg), offset, n));
}

void SCUSetDMA(SCUDirArg* arg) {
  const ReservedCall call("SCUSetDMA");
  node().keep_shape(scu::transfer_of("SCUSetDMA", arg));
}

void SCUSetDMA(SCUDirArg** arg, int n) {
  const ReservedCall call("SCUSetDMA");
  for (const Transfer& each : all_of("SCUSetDMA", arg, n)) {
    node().keep_shape(each);
  }
}

void SCUTransAddr(SCUDirArg* arg) {
  SCUTransAddr(&arg, 1);
}

void SCUTransAddr(SCUDirArg** arg, int n) {
  const ReservedCall call("SCUTransAddr");
  std::vector<Transfer> all = all_of("SCUTransAddr", arg, n);
  for (Transfer& each : all) {
    each.shape = node().kept_shape("SCUTransAddr", each);
  }
  node().start("SCUTransAddr", all);
}

void SCUTransComplete() {
  const ReservedCall call("SCUTransComplete");
  node().complete();
}

void SCUCommsInit() {
  scu::node_as_it_is().join();
}

void SCUCommsFinalize() {
  if (scu::node_as_it_is().is_joined()) {
    scu::node_as_it_is().leave();
  }
}

void SCUGlobalSum(Type_tag t, size_t tsize, int n, void* ivec, void* ovec) {
  const ReservedCall call("SCUGlobalSum");
  scu::global_sum(node(), t, tsize, n, ivec, ovec);
}

// NOLINTNEXTLINE(readability-non-const-parameter): clients know the type
char* MPICommsStringTokenizer(char* /*str*/,
                              const char* delim,
                              char** tok_pos) {
  char* begin = *tok_pos + std::strspn(*tok_pos, delim);
  if (*begin == '\0') {
    return nullptr;
  }
  const std::size_t length = std::strcspn(begin, delim);
  *tok_pos = begin + length;
  return ::strndup(begin, length);
}

// NOLINTNEXTLINE(readability-non-const-parameter): as the text has it
void SCURaiseError(char* errstr) {
  scu::raise(errstr != nullptr ? errstr : "(no text)");
}

void SCURaiseError(const char* errstring) {
  scu::raise(errstring != nullptr ? errstring : "(no text)");
}
