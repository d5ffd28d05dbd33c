// The numbers of the operations of each structure. The code of ranks executes
// them, and model.h has their results.
#pragma once

#include <cstdint>

namespace explore {

/// There are two deques, or two vectors. An element is a word and its
/// complement, so that a torn one is noticed.
namespace sequence {

/// Bit of the variant: the control of the first was that of another structure.
inline constexpr std::uint64_t kReused = 1;

enum Code : std::uint16_t {
  kPushBack,   ///< a: the element.
  kPushFront,  ///< a: the element. Not with vectors.
  kPopBack,
  kPopFront,   ///< Not with vectors.
  kTakeBack,   ///< Returns the element. Not with vectors.
  kTakeFront,  ///< Returns the element. Not with vectors.
  kSize,       ///< Returns the number of elements.
  kEmpty,      ///< Returns 1 if there is none.
  kCapacity,   ///< a: elements at least.
  kInsert,     ///< a: the element, b: its position.
  kErase,      ///< a: the position.
  kClear,
  kReserve,     ///< a: elements.
  kAt,          ///< Returns the element at a position, read from its address.
  kPushOther,   ///< Pushes to the second.
  kAssign,      ///< The second to the first. b: a number for the copy.
  kAssignBack,  ///< The first to the second. b: a number for the copy.
  kSwap,
  kSwapBack,  ///< Names the second first.
  kDestroy,
  kPushGone,     ///< Pushes to the structure that had the first one's control.
  kPushAsOther,  ///< A function of the other kind of structure.
  kPushNowhere,  ///< From an address of rank b that does not exist.
  kRemember,     ///< Keeps the address of the first element.
  kPushKept,     ///< From the address kept.
  kFillHeap,     ///< Leaves no memory for a growth.
  kCodes
};

}  // namespace sequence

/// There are two maps, or two sets.
namespace table {

/// Bits of the variant.
inline constexpr std::uint64_t kLargeKeys = 1;    ///< Keys of 40 bytes.
inline constexpr std::uint64_t kLargeValues = 2;  ///< Values of 64 bytes.
inline constexpr std::uint64_t kAllRanks = 4;     ///< A share on each rank.
inline constexpr std::uint64_t kReversed = 8;  ///< The second, on ranks 1, 0.

/// Keys are below this number.
inline constexpr std::uint64_t kKeys = 4;

enum Code : std::uint16_t {
  kInsert,    ///< a: key, b: value. Returns 1 if inserted.
  kRemove,    ///< a: key.
  kFind,      ///< a: key. Returns 1 if found.
  kRetrieve,  ///< a: key. Returns the value.
  kUpsert,    ///< a: key, b: addend. Returns the old value, or kNothing.
  kSize,      ///< Returns the number of elements.
  kEmpty,     ///< Returns 1 if there is none.
  kClear,
  kInsertOther,  ///< In the second table.
  kRemoveOther,
  kAssign,       ///< The second to the first.
  kAssignLocal,  ///< Its part of the caller's rank.
  kMerge,        ///< The second into the first.
  kMove,         ///< The second into the first.
  kSwap,
  kWalk,  ///< a: a bit for each key that it has to meet.
  kDestroy,
  kRecreate,    ///< Destroys the second table, and creates it again.
  kSwapValues,  ///< a, b: keys. The example of docs/testing.md: it has a race.
  // Parts of whole operations, in the model alone. a: key.
  kRetainOne,
  kAssignOne,
  kMergeOne,
  kMoveOne,
  kClearOne,
  kCodes
};

}  // namespace table

namespace list {

/// There are two lists. Elements as in a deque.
enum Code : std::uint16_t {
  kPushBack,   ///< a: the element, b: its rank.
  kPushFront,  ///< a: the element, b: its rank.
  kPushOther,  ///< At the back of the second list.
  kPopBack,
  kPopFront,
  kSize,      ///< Returns the number of elements.
  kRemember,  ///< Keeps an iterator to the first element.
  kInsert,    ///< In front of the element kept. a: the element, b: its rank.
  kErase,     ///< The element kept.
  kWalk,      ///< a: a bit for each element that it has to meet.
  kClear,
  kReverse,
  kMerge,      ///< The second list into the first.
  kMergeBack,  ///< The first list into the second.
  kSort,
  kUnique,
  kRemove,      ///< a: the elements to remove.
  kAssign,      ///< The second to the first. b: a number for the copy.
  kAssignBack,  ///< The first to the second. b: a number for the copy.
  kSwap,
  kSwapBack,     ///< Names the second list first.
  kSplice,       ///< The first element of the second list to the first.
  kSpliceBack,   ///< The other way.
  kSortAndPush,  ///< A comparator pushes to the list. Returns 1 if refused.
  kSortAndPushOther,  ///< A comparator pushes to the second list. a: element.
  kEmpty,
  kInsertShort,  ///< An element of 8 bytes at the end, which is kept.
  kBytes,        ///< Returns the size of the element kept.
  kCodes
};

}  // namespace list

namespace heap {

enum Code : std::uint16_t {
  kAllocate,  ///< a: bytes, b: rank.
  kFree,      ///< a: number of the block in the list of rank b.
  kTrim,
  /// This code does what kAllocate does, on a heap with room for two blocks.
  kAllocateLast,
  /// This code does what kFree does, on a block that another rank frees as
  /// well.
  kFreeMaybe,
  kCodes
};

}  // namespace heap

namespace workspace {

/// Words that operations use: one on rank 0 and one on rank 1.
inline constexpr std::uint64_t kWords = 2;

/// The number in the workspace of a used word.
constexpr std::uint64_t word_number(std::uint64_t word) {
  return word * 8;
}

enum Code : std::uint16_t {
  kWrite,  ///< a: number of the word, b: value.
  kRead,   ///< a: number of the word. Returns the value.
  /// Creates and destroys a workspace of a words, with all other ranks. b: 1 if
  /// all want as much, so that it succeeds.
  kCreate,
  kCodes
};

}  // namespace workspace

namespace channel {

enum Code : std::uint16_t {
  kSend,     ///< a: the number, b: how often it is repeated.
  kReceive,  ///< b: as kSend. Returns the number.
  kFree,
  kCodes
};

}  // namespace channel

}  // namespace explore
