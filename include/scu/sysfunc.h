// QCDSP communications, the interface of the operating system, for C++.
// docs/compat.md describes the definition of the machine (COMMS_DEF), and says
// what the original text leaves open.
//
// Conventions:
//
//  1. The first call of any function here joins the job; all nodes have to make
//     one. A program may end without SCUCommsFinalize.
//  2. A failure is told by SCURaiseError and ends the job.
//  3. One thread at a time calls these functions.
//  4. Include this header before <unistd.h>, and before headers that include
//     that one: both have a function sync(). Where that is too late, sync() is
//     a macro.
#ifndef SYSFUNC_H
#define SYSFUNC_H

#include <stddef.h>

#include "scu_dir_arg.h"
#include "scu_enum.h"

#if defined(__cplusplus) && defined(_UNISTD_H)
// Streams have members of that name, so they are included before the macro.
#include <fstream>
#include <iostream>
#include <sstream>
#define sync() SCUSync()
#elif defined(__cplusplus)
// A later #include <unistd.h> then does nothing.
#define sync scu_sync_of_unistd
#include <unistd.h>
#undef sync
/// Waits for all nodes. Returns 0.
unsigned int sync();
#endif

// Programs expect these headers to come with this one. They stand behind the
// part above, which has to see first whether <unistd.h> was included.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Axes of the machine.
#ifndef NDIM
#define NDIM 4
#endif

/// The environment variable and the file that have the definition of the
/// machine. They can be set when the library is built; defining others in a
/// program changes nothing.
#ifndef COMMS_ENVVAR
#define COMMS_ENVVAR "COMMS_DEF"
#endif
#ifndef COMMS_DEFFILE
#define COMMS_DEFFILE "commsMPI.def"
#endif

/// Does what sync() does, under a name that clashes with no other.
unsigned int SCUSync();

// ---- The machine ------------------------------------------------------------

/// A number from 1 to NumNodes() that no other node has.
int UniqueID();

/// The coordinates of this node in the torus, and the size of the torus.
int CoorT();
int CoorX();
int CoorY();
int CoorZ();
int SizeT();
int SizeX();
int SizeY();
int SizeZ();
int NumNodes();

/// Seeds for random generators. SeedS and SeedST return {SEED=...}, on every
/// node. Seed and SeedT return the number in {SEEDFILE=...} with the index of
/// this node.
unsigned int Seed();
unsigned int SeedS();
unsigned int SeedT();
unsigned int SeedST();

/// The physical link of a direction; here always `dir`.
///
/// @param dir  a direction
int SCURemap(SCUDir dir);

// ---- Transfers --------------------------------------------------------------

// A transfer is under way until SCUTransComplete. A receive in a direction
// meets what the neighbour there sends in the opposite direction, in the order
// of the starts on each side. A send of up to 4096 bytes is a copy: its memory
// may be used at once. On an axis of size 1 a node is its own neighbour. The
// two ends may have different shapes. A message may be shorter than its
// receive; a longer one is a failure.
//
// @param arg     a transfer; or @p n of them
// @param n       how many, 0 or more
// @param offset  for each transfer, elements from the address to its memory

/// Starts one transfer.
void SCUTrans(SCUDirArg* arg);
/// Starts @p n transfers at once.
void SCUTrans(SCUDirArg** arg, int n);
/// Starts @p n transfers of one shape; number i begins offset[i] elements
/// behind the address.
void SCUTrans(SCUDirArg* arg, unsigned int* offset, int n);

/// Keeps the shape (block length, blocks, stride, size of an element) for a
/// direction, separately for sends and receives. Transfers nothing.
void SCUSetDMA(SCUDirArg* arg);
void SCUSetDMA(SCUDirArg** arg, int n);
/// Starts transfers with the shapes kept, at the addresses of the arguments.
void SCUTransAddr(SCUDirArg* arg);
void SCUTransAddr(SCUDirArg** arg, int n);

/// Waits until all transfers of this node are complete.
void SCUTransComplete();

// ---- Additions of MPI-SCU ---------------------------------------------------

/// The type of the elements of SCUGlobalSum.
enum Type_tag { TYPE_float = 0, TYPE_IFloat = 0, TYPE_int = 1 };

/// Joins the job now.
void SCUCommsInit(void);
/// Completes all transfers and leaves the job. All nodes call it, last.
void SCUCommsFinalize(void);

/// Adds up vectors over all nodes, element by element; each node gets the sum,
/// with the same bits. All nodes call it.
///
/// @param t      TYPE_float or TYPE_int
/// @param tsize  bytes of an element: 4, 8 or sizeof(long double); of an int 1,
///               2, 4 or 8
/// @param n      elements, 0 or more
/// @param ivec   the elements that are added
/// @param ovec   where the sum goes; may be @p ivec
void SCUGlobalSum(Type_tag t, size_t tsize, int n, void* ivec, void* ovec);

/// The next word of a text.
///
/// @param str      not looked at; programs pass the beginning of the text
/// @param delim    the characters between words
/// @param tok_pos  where to look; receives the position behind the word, and
///                 keeps its value when there is no word
/// @return a copy of the word, to be freed by free(); NULL: there is none
char* MPICommsStringTokenizer(char* str, const char* delim, char** tok_pos);

/// Writes the text to stdout and ends the job with status 1.
///
/// @param errstr     the text
/// @param errstring  the text
void SCURaiseError(char* errstr);
void SCURaiseError(const char* errstring);

#endif  // SYSFUNC_H
