/* The functions of data structures by the name of the operation alone. The
 * first argument says which structure. It is one of the words vector, deque,
 * list, set, map, ws (create and destroy).
 *
 *   acp_push_back(vector, v, ga, size)  is  acp_push_back_vector(v, ga, size)
 *
 * A structure has the operations of its header.
 * Define ACP_NO_GENERIC before acp.h to have the names for something else. */
#ifndef ACP_GENERIC_H
#define ACP_GENERIC_H

#ifndef ACP_NO_GENERIC

#define acp_assign(type, ...) acp_assign_##type(__VA_ARGS__)
#define acp_assign_local(type, ...) acp_assign_local_##type(__VA_ARGS__)
#define acp_assign_range(type, ...) acp_assign_range_##type(__VA_ARGS__)
#define acp_at(type, ...) acp_at_##type(__VA_ARGS__)
#define acp_back(type, ...) acp_back_##type(__VA_ARGS__)
#define acp_begin(type, ...) acp_begin_##type(__VA_ARGS__)
#define acp_begin_local(type, ...) acp_begin_local_##type(__VA_ARGS__)
#define acp_capacity(type, ...) acp_capacity_##type(__VA_ARGS__)
#define acp_clear(type, ...) acp_clear_##type(__VA_ARGS__)
#define acp_clear_local(type, ...) acp_clear_local_##type(__VA_ARGS__)
#define acp_create(type, ...) acp_create_##type(__VA_ARGS__)
#define acp_destroy(type, ...) acp_destroy_##type(__VA_ARGS__)
#define acp_empty(type, ...) acp_empty_##type(__VA_ARGS__)
#define acp_empty_local(type, ...) acp_empty_local_##type(__VA_ARGS__)
#define acp_end(type, ...) acp_end_##type(__VA_ARGS__)
#define acp_end_local(type, ...) acp_end_local_##type(__VA_ARGS__)
#define acp_erase(type, ...) acp_erase_##type(__VA_ARGS__)
#define acp_erase_range(type, ...) acp_erase_range_##type(__VA_ARGS__)
#define acp_find(type, ...) acp_find_##type(__VA_ARGS__)
#define acp_front(type, ...) acp_front_##type(__VA_ARGS__)
#define acp_insert(type, ...) acp_insert_##type(__VA_ARGS__)
#define acp_insert_range(type, ...) acp_insert_range_##type(__VA_ARGS__)
#define acp_merge(type, ...) acp_merge_##type(__VA_ARGS__)
#define acp_merge_local(type, ...) acp_merge_local_##type(__VA_ARGS__)
#define acp_move(type, ...) acp_move_##type(__VA_ARGS__)
#define acp_move_local(type, ...) acp_move_local_##type(__VA_ARGS__)
#define acp_pop_back(type, ...) acp_pop_back_##type(__VA_ARGS__)
#define acp_pop_front(type, ...) acp_pop_front_##type(__VA_ARGS__)
#define acp_push_back(type, ...) acp_push_back_##type(__VA_ARGS__)
#define acp_push_front(type, ...) acp_push_front_##type(__VA_ARGS__)
#define acp_remove(type, ...) acp_remove_##type(__VA_ARGS__)
#define acp_reserve(type, ...) acp_reserve_##type(__VA_ARGS__)
#define acp_retrieve(type, ...) acp_retrieve_##type(__VA_ARGS__)
#define acp_reverse(type, ...) acp_reverse_##type(__VA_ARGS__)
#define acp_size(type, ...) acp_size_##type(__VA_ARGS__)
#define acp_size_local(type, ...) acp_size_local_##type(__VA_ARGS__)
#define acp_sort(type, ...) acp_sort_##type(__VA_ARGS__)
#define acp_splice(type, ...) acp_splice_##type(__VA_ARGS__)
#define acp_splice_range(type, ...) acp_splice_range_##type(__VA_ARGS__)
#define acp_swap(type, ...) acp_swap_##type(__VA_ARGS__)
#define acp_unique(type, ...) acp_unique_##type(__VA_ARGS__)

/* Functions of iterators, by both names in use. */
#define acp_advance(type, ...) acp_advance_##type##_it(__VA_ARGS__)
#define acp_advance_it(type, ...) acp_advance_##type##_it(__VA_ARGS__)
#define acp_decrement(type, ...) acp_decrement_##type##_it(__VA_ARGS__)
#define acp_decrement_it(type, ...) acp_decrement_##type##_it(__VA_ARGS__)
#define acp_dereference(type, ...) acp_dereference_##type##_it(__VA_ARGS__)
#define acp_dereference_it(type, ...) acp_dereference_##type##_it(__VA_ARGS__)
#define acp_distance(type, ...) acp_distance_##type##_it(__VA_ARGS__)
#define acp_distance_it(type, ...) acp_distance_##type##_it(__VA_ARGS__)
#define acp_increment(type, ...) acp_increment_##type##_it(__VA_ARGS__)
#define acp_increment_it(type, ...) acp_increment_##type##_it(__VA_ARGS__)

#endif /* ACP_NO_GENERIC */

#endif /* ACP_GENERIC_H */
