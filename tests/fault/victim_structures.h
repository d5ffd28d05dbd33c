// Operations on data structures for victim.cc. All ranks run them until the job
// ends, because one rank, the victim, dies among them.
#pragma once

#include <functional>
#include <string_view>

/// Whether a moment belongs to a data structure. At "in_vector", "in_deque",
/// "in_list", "in_set", "in_map" and "in_workspace" the victim dies in any
/// operation. At "vector_reserved", "deque_locked", "list_compared" and
/// "map_locked" it dies with a lock or a reservation that others wait for.
bool is_structure_moment(std::string_view moment);

/// Makes the structures that all ranks use. Collective.
void make_structures();

/// Calls `on_step` after each operation, until one fails because the job ends.
void use_structures(std::string_view moment,
                    const std::function<void()>& on_step);

/// Takes the lock or the reservation that the moment names, and calls `die`. No
/// other rank may use the structures yet.
void die_with_structure(std::string_view moment,
                        const std::function<void()>& die);
