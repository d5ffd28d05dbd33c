// The functions of chapter 4.4, acp/deque.h, and the extensions for deques.
// Programs call them. Each makes one call and translates the result, and takes
// no lock.

#include "acp/deque.h"
#include "acp/extension.h"
#include "middle/deque/deque.h"
#include "middle/structure/sequence.h"

namespace {

using acp::middle::deque::End;
using acp::middle::structure::Beyond;
using acp::middle::structure::Call;
using acp::middle::structure::kToTheEnd;
using acp::middle::structure::Range;
using acp::middle::structure::Shape;
using Deques =
    acp::middle::structure::Sequence<acp::middle::deque::LockedDeque>;

Shape read(const char* function, acp_deque_t deque) {
  Shape shape;
  Call call;
  return Deques::read(function, deque.ga, shape, call) ? shape : Shape{};
}

bool make_range(const char* function,
                acp_deque_it_t start,
                acp_deque_it_t end,
                Range& range) {
  return Deques::make_range(function, start.deque.ga, start.index, end.deque.ga,
                            end.index, range);
}

}  // namespace

extern "C" {

void acp_assign_deque(acp_deque_t deque1, acp_deque_t deque2) {
  if (deque1.ga == deque2.ga) {
    read("acp_assign_deque", deque1);
  } else {
    Deques::assign("acp_assign_deque", deque1.ga, {deque2.ga, 0, kToTheEnd});
  }
}

void acp_assign_range_deque(acp_deque_t deque,
                            acp_deque_it_t start,
                            acp_deque_it_t end) {
  Range range{};
  if (make_range("acp_assign_range_deque", start, end, range)) {
    Deques::assign("acp_assign_range_deque", deque.ga, range);
  }
}

acp_ga_t acp_at_deque(acp_deque_t deque, int offset) {
  return Deques::at("acp_at_deque", deque.ga, offset);
}

acp_deque_it_t acp_back_deque(acp_deque_t deque) {
  const Shape shape = read("acp_back_deque", deque);
  return {deque, acp::middle::structure::index_of(shape.size) - 1};
}

acp_deque_it_t acp_begin_deque(acp_deque_t deque) {
  return {deque, 0};
}

size_t acp_capacity_deque(acp_deque_t deque) {
  return read("acp_capacity_deque", deque).capacity;
}

void acp_clear_deque(acp_deque_t deque) {
  Deques::clear("acp_clear_deque", deque.ga);
}

acp_deque_t acp_create_deque(size_t size, int rank) {
  return {Deques::create("acp_create_deque", 0, size, rank)};
}

void acp_destroy_deque(acp_deque_t deque) {
  Deques::destroy("acp_destroy_deque", deque.ga);
}

int acp_empty_deque(acp_deque_t deque) {
  return read("acp_empty_deque", deque).size == 0 ? 1 : 0;
}

acp_deque_it_t acp_end_deque(acp_deque_t deque) {
  const Shape shape = read("acp_end_deque", deque);
  return {deque, acp::middle::structure::index_of(shape.size)};
}

acp_deque_it_t acp_erase_deque(acp_deque_it_t it, size_t size) {
  Deques::erase("acp_erase_deque", it.deque.ga, it.index, size, Beyond::kClamp);
  return it;
}

acp_deque_it_t acp_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end) {
  Range range{};
  if (make_range("acp_erase_range_deque", start, end, range)) {
    Deques::erase("acp_erase_range_deque", range.handle, start.index,
                  range.end - range.start, Beyond::kFail);
  }
  return start;
}

acp_deque_it_t acp_front_deque(acp_deque_t deque) {
  return {deque, -1};
}

acp_deque_it_t acp_insert_deque(acp_deque_it_t it,
                                const acp_ga_t ga,
                                size_t size) {
  Deques::insert("acp_insert_deque", it.deque.ga, it.index, ga, size);
  return it;
}

acp_deque_it_t acp_insert_range_deque(acp_deque_it_t it,
                                      acp_deque_it_t start,
                                      acp_deque_it_t end) {
  Range range{};
  if (make_range("acp_insert_range_deque", start, end, range)) {
    Deques::insert_range("acp_insert_range_deque", it.deque.ga, it.index,
                         range);
  }
  return it;
}

void acp_pop_back_deque(acp_deque_t deque, size_t size) {
  acp::middle::deque::pop("acp_pop_back_deque", deque.ga, End::kBack, size);
}

void acp_pop_front_deque(acp_deque_t deque, size_t size) {
  acp::middle::deque::pop("acp_pop_front_deque", deque.ga, End::kFront, size);
}

void acp_push_back_deque(acp_deque_t deque, const acp_ga_t ga, size_t size) {
  acp::middle::deque::push("acp_push_back_deque", deque.ga, End::kBack, ga,
                           size);
}

void acp_push_front_deque(acp_deque_t deque, const acp_ga_t ga, size_t size) {
  acp::middle::deque::push("acp_push_front_deque", deque.ga, End::kFront, ga,
                           size);
}

void acp_reserve_deque(acp_deque_t deque, size_t size) {
  Deques::reserve("acp_reserve_deque", deque.ga, size);
}

size_t acp_size_deque(acp_deque_t deque) {
  return read("acp_size_deque", deque).size;
}

void acp_swap_deque(acp_deque_t deque1, acp_deque_t deque2) {
  Deques::swap("acp_swap_deque", deque1.ga, deque2.ga);
}

acp_deque_it_t acp_advance_deque_it(acp_deque_it_t it, int n) {
  it.index = acp::middle::structure::advanced(it.index, n, -1);
  return it;
}

acp_ga_t acp_dereference_deque_it(acp_deque_it_t it) {
  return Deques::at("acp_dereference_deque_it", it.deque.ga, it.index);
}

acp_pair_t acpx_dereference_deque_it(acp_deque_it_t it, size_t size) {
  acp_pair_t pieces{};
  // The name by which programs write it.
  if (Deques::find_bytes("acp_dereference_deque_it", it.deque.ga, it.index,
                         pieces.first.ga, size)) {
    pieces.first.size = size;
  }
  return pieces;
}

int acp_distance_deque_it(acp_deque_it_t first, acp_deque_it_t last) {
  return Deques::distance("acp_distance_deque_it", first.deque.ga, first.index,
                          last.deque.ga, last.index);
}

int acpx_take_front_deque(acp_deque_t deque, acp_ga_t ga, size_t size) {
  return acp::middle::deque::take("acpx_take_front_deque", deque.ga,
                                  End::kFront, ga, size);
}

int acpx_take_back_deque(acp_deque_t deque, acp_ga_t ga, size_t size) {
  return acp::middle::deque::take("acpx_take_back_deque", deque.ga, End::kBack,
                                  ga, size);
}

acp_pair_t acpx_dereference_range_deque(acp_deque_it_t start,
                                        acp_deque_it_t end) {
  acp_pair_t pieces{};
  Range range{};
  if (make_range("acpx_dereference_range_deque", start, end, range)) {
    Deques::find_range("acpx_dereference_range_deque", range, pieces.first.ga,
                       pieces.first.size);
  }
  return pieces;
}

}  // extern "C"
