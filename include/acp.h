/* ACP: Advanced Communication Primitives, specification 2.1.
 * Umbrella header: everything the specification defines, and nothing else.
 * Names that begin with acpx_ need #include <acp/extension.h> as well: they are
 * additions of this implementation. */
#ifndef ACP_H
#define ACP_H

#include <stddef.h>
#include <stdint.h>

#include "acp/channel.h"
#include "acp/deque.h"
#include "acp/element.h"
#include "acp/generic.h"
#include "acp/global_memory.h"
#include "acp/gma.h"
#include "acp/infrastructure.h"
#include "acp/list.h"
#include "acp/malloc.h"
#include "acp/map.h"
#include "acp/set.h"
#include "acp/vector.h"
#include "acp/workspace.h"

/* Small operations inside of a host without a call, where the program asks for
 * it. */
#ifdef ACP_INLINE
#include "acp/inline.h"
#endif

#endif /* ACP_H */
