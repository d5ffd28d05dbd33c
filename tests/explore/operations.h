// The numbers of the operations of each structure. The code of ranks executes
// them, and model.h has their results.
#pragma once

#include <cstdint>

namespace explore {

namespace deque {

/// Elements are a word and its complement, so that torn ones are noticed.
enum Code : std::uint16_t {
  kPushBack,   ///< a: the element.
  kPushFront,  ///< a: the element.
  kPopBack,
  kPopFront,
  kTakeBack,   ///< Returns the element.
  kTakeFront,  ///< Returns the element.
  kSize,       ///< Returns the number of elements.
  kInsert,     ///< a: the element, b: its position.
  kErase,      ///< a: the position.
  kClear,
  kReserve,  ///< a: elements.
  kFirst,    ///< Returns the first element, read from its address.
  kCodes
};

}  // namespace deque

namespace map {

/// Bits of the variant of a map.
inline constexpr std::uint64_t kLargeKeys = 1;    ///< Keys of 40 bytes.
inline constexpr std::uint64_t kLargeValues = 2;  ///< Values of 64 bytes.
inline constexpr std::uint64_t kAllRanks = 4;     ///< A share on each rank.

enum Code : std::uint16_t {
  kInsert,    ///< a: key, b: value. Returns 1 if inserted.
  kRemove,    ///< a: key.
  kFind,      ///< a: key. Returns 1 if found.
  kRetrieve,  ///< a: key. Returns the value.
  kUpsert,    ///< a: key, b: addend. Returns the old value, or kNothing.
  kSize,      ///< Returns the number of elements.
  kClear,
  kCodes
};

}  // namespace map

namespace vector {

/// Elements as in a deque.
enum Code : std::uint16_t {
  kPushBack,  ///< a: the element.
  kPopBack,
  kSize,    ///< Returns the number of elements.
  kInsert,  ///< a: the element, b: its position.
  kErase,   ///< a: the position.
  kClear,
  kReserve,  ///< a: elements.
  kCodes
};

}  // namespace vector

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
