// ACP for C++20: the functions of acp.h and acp/extension.h with types, owners,
// futures and ranges. Header only. docs/cpp.md is the page to begin with.
//
// Conventions, in addition to those of the C headers:
//
//  1. Elements are trivially copyable types: ranks exchange their bytes. Keys
//     of sets and maps also have no padding, because keys are compared as
//     bytes.
//  2. A failure is an exception, acp::error, with the code of acp_errno. The
//     library has written its line before. Empty, full, absent and too late are
//     answers: bool and std::optional.
//  3. Owners can be moved, not copied. Their destructors never throw, and do
//     nothing after the end of the job and after job::reset().
//  4. A function that takes or gives a value by itself waits for the network.
//     Functions that begin with async_, and copy(), return a future at once.
//  5. Every function may be called from any thread, unless it says otherwise.
//     One object that is changed needs a lock, as in the standard library.
//  6. Programs of several ranks see one structure through handles: handle() is
//     the struct of C, which acp::publish() passes on.
#ifndef ACP_HPP
#define ACP_HPP

#include "acp/cpp/channel.hpp"
#include "acp/cpp/error.hpp"
#include "acp/cpp/future.hpp"
#include "acp/cpp/global_ptr.hpp"
#include "acp/cpp/job.hpp"
#include "acp/cpp/list.hpp"
#include "acp/cpp/memory.hpp"
#include "acp/cpp/names.hpp"
#include "acp/cpp/sequence.hpp"
#include "acp/cpp/table.hpp"
#include "acp/cpp/task.hpp"
#include "acp/cpp/workspace.hpp"

#endif  // ACP_HPP
