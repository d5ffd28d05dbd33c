// The public headers, seen from inside: the one place where symbols are made
// visible. Everything else of the library is hidden.
#pragma once

#pragma GCC visibility push(default)
#include "acp.h"            // IWYU pragma: export
#include "acp/extension.h"  // IWYU pragma: export
#pragma GCC visibility pop
