// Ranks 0 and 1 as two processes of plain UCP, beside the job of ACP. Rank 0
// puts and gets in the inbox of rank 1, which only drives its worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "row.h"
#include "ucp_library.h"

namespace acp::perf {

/// One end. Ranks 0 and 1 make theirs in the same row. Devices, features,
/// error mode, executor of atomics and all other settings are those of the
/// transport `ucx` in color 0.
/// Not thread-safe.
class UcpPair {
 public:
  explicit UcpPair(Context& context);
  UcpPair(const UcpPair&) = delete;
  UcpPair& operator=(const UcpPair&) = delete;
  ~UcpPair();

  /// On rank 0: connects to rank 1. False: obstacle() says why.
  bool connect();
  /// On rank 1: offers the inbox to rank 0, and drives the worker until the row
  /// is over.
  void serve();

  /// Why the pair cannot be used; "" when it can.
  const std::string& obstacle() const { return obstacle_; }

  /// Each starts one operation of rank 0 at `offset` of rank 1's inbox. A null
  /// request is an operation that has ended.
  ucs_status_ptr_t put(const void* from, std::size_t bytes, std::size_t offset);
  ucs_status_ptr_t get(void* to, std::size_t bytes, std::size_t offset);
  /// `result` gets the old value. A compare-and-swap compares with `operand`,
  /// and takes the new value from `result`.
  ucs_status_ptr_t atomic(ucp_atomic_op_t operation,
                          const std::uint64_t* operand,
                          std::uint64_t* result,
                          std::size_t offset);

  /// Waits for the request, and frees it. False: it has failed.
  bool wait(ucs_status_ptr_t request);
  /// Frees the request, which goes on. False: it has failed already.
  bool release(ucs_status_ptr_t request);
  /// Waits until all puts are in the memory of rank 1. False: one has failed.
  bool flush();

 private:
  bool open();
  bool make_endpoint(const void* address);
  ucs_status_t make_endpoint_in(ucp_err_handling_mode_t mode,
                                const void* address);
  void publish();
  bool fail(const char* call, ucs_status_t status);

  Context& context_;
  const UcpLibrary* ucp_;
  ucp_context_h context_of_ucp_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_mem_h memory_ = nullptr;  ///< On rank 1: its inbox.
  ucp_ep_h endpoint_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  std::uint64_t remote_ = 0;  ///< Address of the inbox of rank 1 there.
  std::string obstacle_;
};

}  // namespace acp::perf
