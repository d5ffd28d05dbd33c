// The functions of chapter 4.3, acp/vector.h. Programs call them. Each makes
// one call and translates the result, and takes no lock.

#include "acp/vector.h"
#include "middle/structure/sequence.h"
#include "middle/vector/vector.h"

namespace {

using acp::middle::structure::Beyond;
using acp::middle::structure::Call;
using acp::middle::structure::kToTheEnd;
using acp::middle::structure::Range;
using acp::middle::structure::Shape;
using Vectors =
    acp::middle::structure::Sequence<acp::middle::vector::FrozenVector>;

Shape read(const char* function, acp_vector_t vector) {
  Shape shape;
  Call call;
  return Vectors::read(function, vector.ga, shape, call) ? shape : Shape{};
}

bool make_range(const char* function,
                acp_vector_it_t start,
                acp_vector_it_t end,
                Range& range) {
  return Vectors::make_range(function, start.vector.ga, start.index,
                             end.vector.ga, end.index, range);
}

}  // namespace

extern "C" {

void acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2) {
  if (vector1.ga == vector2.ga) {
    read("acp_assign_vector", vector1);
  } else {
    Vectors::assign("acp_assign_vector", vector1.ga,
                    {vector2.ga, 0, kToTheEnd});
  }
}

void acp_assign_range_vector(acp_vector_t vector,
                             acp_vector_it_t start,
                             acp_vector_it_t end) {
  Range range{};
  if (make_range("acp_assign_range_vector", start, end, range)) {
    Vectors::assign("acp_assign_range_vector", vector.ga, range);
  }
}

acp_ga_t acp_at_vector(acp_vector_t vector, int offset) {
  return Vectors::at("acp_at_vector", vector.ga, offset);
}

acp_vector_it_t acp_begin_vector(acp_vector_t vector) {
  return {vector, 0};
}

size_t acp_capacity_vector(acp_vector_t vector) {
  return read("acp_capacity_vector", vector).capacity;
}

void acp_clear_vector(acp_vector_t vector) {
  Vectors::clear("acp_clear_vector", vector.ga);
}

acp_vector_t acp_create_vector(size_t size, int rank) {
  return {Vectors::create("acp_create_vector", size, size, rank)};
}

void acp_destroy_vector(acp_vector_t vector) {
  Vectors::destroy("acp_destroy_vector", vector.ga);
}

int acp_empty_vector(acp_vector_t vector) {
  return read("acp_empty_vector", vector).size == 0 ? 1 : 0;
}

acp_vector_it_t acp_end_vector(acp_vector_t vector) {
  const Shape shape = read("acp_end_vector", vector);
  return {vector, acp::middle::structure::index_of(shape.size)};
}

acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size) {
  Vectors::erase("acp_erase_vector", it.vector.ga, it.index, size,
                 Beyond::kClamp);
  return it;
}

acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start,
                                       acp_vector_it_t end) {
  Range range{};
  if (make_range("acp_erase_range_vector", start, end, range)) {
    Vectors::erase("acp_erase_range_vector", range.handle, start.index,
                   range.end - range.start, Beyond::kFail);
  }
  return start;
}

acp_vector_it_t acp_insert_vector(acp_vector_it_t it,
                                  const acp_ga_t ga,
                                  size_t size) {
  Vectors::insert("acp_insert_vector", it.vector.ga, it.index, ga, size);
  return it;
}

acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it,
                                        acp_vector_it_t start,
                                        acp_vector_it_t end) {
  Range range{};
  if (make_range("acp_insert_range_vector", start, end, range)) {
    Vectors::insert_range("acp_insert_range_vector", it.vector.ga, it.index,
                          range);
  }
  return it;
}

void acp_pop_back_vector(acp_vector_t vector, size_t size) {
  Vectors::pop_back("acp_pop_back_vector", vector.ga, size);
}

void acp_push_back_vector(acp_vector_t vector, const acp_ga_t ga, size_t size) {
  acp::middle::vector::push_back(vector.ga, ga, size);
}

void acp_reserve_vector(acp_vector_t vector, size_t size) {
  Vectors::reserve("acp_reserve_vector", vector.ga, size);
}

size_t acp_size_vector(acp_vector_t vector) {
  return read("acp_size_vector", vector).size;
}

void acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2) {
  Vectors::swap("acp_swap_vector", vector1.ga, vector2.ga);
}

acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int n) {
  it.index = acp::middle::structure::advanced(it.index, n, 0);
  return it;
}

acp_ga_t acp_dereference_vector_it(acp_vector_it_t it) {
  return Vectors::at("acp_dereference_vector_it", it.vector.ga, it.index);
}

int acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last) {
  return Vectors::distance("acp_distance_vector_it", first.vector.ga,
                           first.index, last.vector.ga, last.index);
}

}  // extern "C"
