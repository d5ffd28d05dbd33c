// What a victim and the others do with data structures until the job ends.
#pragma once

#include <functional>
#include <string_view>

/// Whether the moment is one of these: "in_vector", "in_deque", "in_list",
/// "in_set", "in_map", "in_workspace": all operations, again and again;
/// "vector_reserved", "deque_locked", "list_compared", "map_locked": the victim
/// dies when it has what the others wait for.
bool is_structure_moment(std::string_view moment);

/// Makes what all ranks use. Collective.
void make_structures();

/// Calls `on_step` after each operation, until one fails because the job ends.
void use_structures(std::string_view moment,
                    const std::function<void()>& on_step);

/// Takes what the others wait for, and calls `die`. Nobody else may use the
/// structures yet.
void die_with_structure(std::string_view moment,
                        const std::function<void()>& die);
