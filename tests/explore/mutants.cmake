# Copies of middle-layer sources with one answer to an attack taken out. Each makes
# an exploration fail, or the explorer would not see such an error. The product is
# compiled from src alone.

# explore_mutant(NAME FILE SCENARIO MODE OLD NEW [OPTION...]): replaces OLD by NEW
# in a file of src/middle, by read_mutant(). OPTIONs go to the explorer.
# When FILE is a header, the sources of its folder and of the scenario's structure
# are compiled with the mutant of it. The scenario calls no others that use it.
function(explore_mutant name file scenario mode old new)
  read_mutant(text ${name} middle/${file} "${old}" "${new}")
  if(file MATCHES "\\.h$")
    set(root ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
    file(CONFIGURE OUTPUT ${root}/middle/${file} CONTENT "${text}" @ONLY)
    string(REGEX REPLACE "/.*" "" folder ${file})
    string(REGEX REPLACE "\\..*" "" structure ${scenario})
    file(GLOB copies ${PROJECT_SOURCE_DIR}/src/middle/${folder}/*.cc
      ${PROJECT_SOURCE_DIR}/src/middle/${structure}/*.cc)
    set(outdated "/(${folder}|${structure})/[a-z_]*\\.cc\\.o$")
  else()
    set(root)
    set(copies ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.cc)
    file(CONFIGURE OUTPUT ${copies} CONTENT "${text}" @ONLY)
    set(outdated "/${file}\\.o$")
    # A mutant may leave a variable without use.
    set_source_files_properties(${copies} PROPERTIES COMPILE_OPTIONS -w)
  endif()

  set(target explore_mutant_${name})
  add_library(${target} SHARED ${copies} $<TARGET_OBJECTS:explore_programs>
    $<FILTER:$<TARGET_OBJECTS:acp_middle>,EXCLUDE,${outdated}>)
  explore_link_image(${target})
  if(root)
    target_include_directories(${target} BEFORE PRIVATE ${root})
  endif()
  target_link_options(${target} PRIVATE -Wl,--strip-debug)
  explore_copy_image(${target} mutants/${name} ${target}_images)
  add_dependencies(explore_mutants ${target}_images)
  add_test(NAME explore.mutant.${name}
    COMMAND explore ${scenario} --mode ${mode} ${ARGN} --wants failure
      --image ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
  set_tests_properties(explore.mutant.${name} PROPERTIES
    TIMEOUT 120 LABELS explore)
endfunction()

add_custom_target(explore_mutants ALL)

# ---- docs/containers.md, "Waiting for a lock" -------------------------------

# A holder does not look for a front after it has unlocked.
explore_mutant(holder_does_not_look structure/wait_queue.cc
  deque.push_back+push_back near
  "front_seen_ = is_front_ && has_others_ ? nullptr : chain.get(front_word(), 8);"
  "front_seen_ = nullptr;")

# A front tries before it announces itself.
explore_mutant(front_tries_first structure/control.cc
  deque.push_back+push_back near
  "  turn_.announce_in(chain);
  const std::uint64_t* free = chain.cas8(call_.sync(), 0, me());
  const std::uint64_t* left =
      turn_.is_front() ? chain.cas8(call_.sync(), kForQueue, me()) : free;
"
  "  const std::uint64_t* free = chain.cas8(call_.sync(), 0, me());
  const std::uint64_t* left =
      turn_.is_front() ? chain.cas8(call_.sync(), kForQueue, me()) : free;
  turn_.announce_in(chain);
")

# A front that leaves does not notice a waiter that has just come.
explore_mutant(front_forgets_successor structure/wait_queue.cc
  deque.three_ranks near
  "is_front_ && (old_tail_ == nullptr || *old_tail_ != me_);"
  "is_front_ && old_tail_ == nullptr;")

# A front empties the queue before it removes its own name.
explore_mutant(tail_before_front structure/wait_queue.cc
  deque.three_ranks near
  "      chain.put8(front_word(), 0);
      old_tail_ = chain.cas8(tail_word(), me_, 0);"
  "      old_tail_ = chain.cas8(tail_word(), me_, 0);
      chain.put8(front_word(), 0);")

# A front counts the wake-ups after its try, and misses one.
explore_mutant(front_counts_late structure/wait_queue.cc
  deque.push_back+push_back near
  "  return is_front_ ? wait_word(offsetof(WaitNode, looks), looks_, holder)"
  "  return is_front_ ? wait_word(offsetof(WaitNode, looks),
                               load(scratch_->node().looks), holder)")

# A node keeps the state of its last wait.
explore_mutant(node_keeps_state structure/wait_queue.cc
  deque.three_twice near
  "  store(node.state, kBehind);
" "")

# A late look wakes no waiter.
explore_mutant(late_look_is_lost structure/late_looks.cc
  map.present.insert+insert far
  "  if (!wake_front(site_, front)) {" "  if (false) {")

# A lock that was left for the queue is not taken by its front.
explore_mutant(front_cannot_take structure/control.cc
  deque.three_ranks near
  "turn_.is_front() ? chain.cas8(call_.sync(), kForQueue, me()) : free;"
  "free;")

# A holder that knows of waiters leaves the lock to newcomers as well.
explore_mutant(starvation structure/wait_queue.cc
  deque.bypass near
  "  has_others_ = tail != 0 && tail != me_;"
  "  has_others_ = false;")

# A change leaves a vector to newcomers, although it knows of waiters.
explore_mutant(vector_starvation vector/vector.cc
  vector.bypass near
  "const bool is_left = use_ == Use::kChange && turn_.has_others();"
  "const bool is_left = false;")

# A front that finds another table keeps its place in the queue.
explore_mutant(front_of_other_table_stays table/locked_buckets.cc
  map.whole.swap+remove1 near
  "      turn_.give_up();
      return Answer::kOtherTable;"
  "      return Answer::kOtherTable;")

# A front does not see that its bucket is another table's now.
explore_mutant(front_ignores_swap table/locked_buckets.cc
  map.whole.swap+remove1 near
  "    if (*result.free >> 32 != uid) {"
  "    if (!turn_.is_front() && *result.free >> 32 != uid) {")

# A structure is destroyed, and its waiters are not woken.
explore_mutant(destroy_wakes_nobody structure/control.cc
  deque.destroy near
  "  turn.look_in(chain);
  if (!chain.run()) {
    return;
  }
  turn.pass();"
  "  if (!chain.run()) {
    return;
  }")

# A function of vectors takes its addition to a lock back, and does not wake the
# front that has found an odd word.
explore_mutant(undo_wakes_nobody structure/control.cc
  deque.other_kind near
  "  if (chain.run()) {
    wake_front(*call.site, *front);
  }"
  "  (void)chain.run();")

# The nodes of all threads of a rank have one name.
explore_mutant(threads_share_node structure/wait_queue.cc
  deque.threads,list.sort_and_push_other near
  "  me_ = static_cast<std::uint64_t>(scratch.site().rank()) * kScratches +
        scratch.index() + 1;"
  "  me_ = static_cast<std::uint64_t>(scratch.site().rank()) * kScratches + 1;")

# ---- docs/containers.md, "Attacks, and why they fail" -------------------------

# A change does not wait for the pushes before it.
explore_mutant(change_ignores_pushes vector/vector.cc
  vector.push_back+insert near
  "  bool is_limited = reserved <= shape.capacity;
"
  "  if (reserved <= shape.capacity) {
    shape.size = reserved;
    return true;
  }
  bool is_limited = false;
")

# A push takes the fields of a later version.
explore_mutant(push_takes_later_fields vector/vector.cc
  vector.full.push_back+push_back2 near
  "if (!view.is_whole() || !old.is_of(view.version())) {"
  "if (!view.is_whole()) {")

# The push that grows a vector does not say where its reservation begins.
explore_mutant(growth_has_no_limit vector/vector.cc
  vector.full.push_back+insert,vector.full.push_back+pop_back near
  "      chain.put8(call_.word(structure::kFieldWord + kPushLimit), limit);
" "")

# A reader takes fields of two versions.
explore_mutant(reader_takes_torn_fields structure/control.cc
  deque.move+first torn
  "    if (__builtin_expect(view.is_whole(), 1)) {"
  "    if (true) {")

# Both versions are written before the fields.
explore_mutant(versions_before_fields structure/control.cc
  deque.move+first torn
  "  chain.put_words(call.word(kFieldWord), fields, kFields);
  chain.put8(call.word(kEndWord), version);"
  "  chain.put8(call.word(kEndWord), version);
  chain.put_words(call.word(kFieldWord), fields, kFields);")

# A search takes a bucket of two versions.
explore_mutant(search_takes_torn_bucket table/table.cc
  map.reuse+retrieve torn
  "view.is_whole() ? find_in(scratch, key, words, entry) : Match::kChanged;"
  "find_in(scratch, key, words, entry);")

# A bucket has its end version before its change.
explore_mutant(bucket_ends_first table/locked_buckets.cc
  map.reuse+retrieve2 weak
  "  chain.put8(at_ + offsetof(Bucket, begin), version);
"
  "  chain.put8(at_ + offsetof(Bucket, begin), version);
  chain.put8(at_ + offsetof(Bucket, end), version);
")

# A copy of a large value does not check that the key still has it.
explore_mutant(copy_ignores_removal table/table.cc
  map.reuse_values+retrieve near
  "return *serial == found.serial ? Match::kYes : Match::kChanged;"
  "return Match::kYes;")

# A bucket is not locked.
explore_mutant(bucket_is_not_locked table/locked_buckets.cc
  map.absent.insert+insert near
  "result.free = chain.cas8(bucket, locked_by(uid, 0), locked_by(uid, me()));"
  "result.free = chain.cas8(bucket, locked_by(uid, 0), locked_by(uid, 0));")

# merge(a, b) and merge(b, a) lock in the order of their arguments.
explore_mutant(merges_lock_as_named list/two_lists.cc
  list.merge+merge_back near
  "      : lower_(call1.control < call2.control ? call1 : call2),
        upper_(call1.control < call2.control ? call2 : call1),
        is_swapped_(call1.control >= call2.control) {}"
  "      : lower_(call1), upper_(call2), is_swapped_(false) {}")

# A walk takes an element whose links are not written yet.
explore_mutant(walk_takes_coming list/iterators.cc
  list.walk near,weak,reverse
  "    if (header.list_word == call.handle && header.is_whole()) {"
  "    if ((header.list_word == call.handle ||
         header.list_word == Header::coming_to(call.handle))) {")

# A walk takes the address of one link and the size of another.
explore_mutant(walk_takes_torn_link list/iterators.cc
  list.walk torn,weak,reverse
  "    if (header.list_word == call.handle && header.is_whole()) {"
  "    if (header.list_word == call.handle) {")

# A call does not wait for its chain, and uses the scratch again.
explore_mutant(chain_is_not_awaited structure/chain.cc
  deque.push_back+push_back far
  "  return acpx_complete_timeout(handle, -1) == 0 || !is_end_of_job(acp_errno);"
  "  return true;")

# A change takes half of a new push limit for the whole.
explore_mutant(limit_is_torn vector/vector.cc
  vector.full.push_back+pop_back any
  "    const std::uint64_t* limit =
        chain.get(call_.word(structure::kFieldWord + kPushLimit), 8);"
  "    const std::uint64_t* limit =
        chain.get(call_.word(structure::kFieldWord), structure::kFields * 8) +
        kPushLimit;"
  --seed 2 --limit 30000)

# A growth without memory leaves the vector frozen.
explore_mutant(growth_does_not_thaw vector/vector.cc
  vector.no_memory near
  "  if (is_frozen_) {
    [[maybe_unused]] const bool is_thawed = commit();
  }
  turn_.give_up();"
  "  turn_.give_up();")

# A push looks at its source after it has reserved.
explore_mutant(source_after_reservation structure/bytes.cc
  vector.from_nowhere near,far
  "    ga_ = scratch.data_ga();
    return copy_checked(ga_, ga, bytes);"
  "    is_mine_ = false;
    return true;")

# A control that is used again has the generation of before.
explore_mutant(generation_stands_still structure/control.cc
  vector.reused near
  "  const std::uint64_t generation = next_generation(*old_tag);"
  "  const std::uint64_t generation =
      *old_tag == 0 ? next_generation(*old_tag) : *old_tag & kNumberMask;")

# All generations of a control use one sync word.
explore_mutant(one_sync_word structure/control.h
  vector.reused near
  "return word(kSyncWord + (handle & kGenerationMask)); }"
  "return word(kSyncWord); }")

# A function of vectors leaves its addition in the lock of another structure.
explore_mutant(addition_is_not_undone structure/control.cc
  deque.other_kind near
  "  chain.add8(call.sync(), 0 - added);
" "")

# A push does not see that its vector was destroyed.
explore_mutant(push_ignores_destroy vector/vector.cc
  vector.destroy near
  "  if (__builtin_expect(!call.fits(view.tag()), 0)) {
    const std::uint64_t tag = view.tag();
    if (call.is_of_other(tag)) {
      structure::undo_sync(chain, call, source.bytes());"
  "  if (false) {
    const std::uint64_t tag = view.tag();
    if (call.is_of_other(tag)) {
      structure::undo_sync(chain, call, source.bytes());")

# All ranks assign their parts, and each first removes all that it has.
explore_mutant(assign_clears_first table/copies.cc
  map.assign_local near
  "(found.is_there || remove(to, copy.pair.first) != Removal::kFailed));"
  "remove(to, copy.pair.first) != Removal::kFailed);")

# A comparator may call the list that is being sorted.
explore_mutant(comparator_may_call structure/control.cc
  list.sort_and_push+ near
  "  return t_held[0] == call_.handle || t_held[1] == call_.handle;"
  "  return false;")

# The buckets of a destroyed table keep its uid.
explore_mutant(buckets_keep_uid table/whole_tables.cc
  map.destroyed near
  "                   0 - locked_by(directory.uid, 0));"
  "                   0);")

# The serial numbers of a rank's inserts are equal.
explore_mutant(serials_repeat table/entries.cc
  map.reuse_values+retrieve near
  "(count.fetch_add(1, std::memory_order_relaxed) & kCountMask);"
  "(count.load(std::memory_order_relaxed) & kCountMask);")

# An assign, merge or move does not look at the serial number behind its copy.
explore_mutant(walk_ignores_removal table/walk.cc
  map.reuse_values+assign,map.reuse_values+merge near
  "  copy.is_there = *serial == found_.serial;"
  "  copy.is_there = true;")

# A growth frees the body of before the last one, and then reads its source.
explore_mutant(growth_frees_source structure/bytes.cc
  vector.own_source,deque.own_source near
  "  outdated.own(shape.old_body);"
  "  acp_free(shape.old_body);")

# A growth frees the bytes that readers have an address of.
explore_mutant(growth_frees_body structure/bytes.cc
  deque.growth,vector.growth near
  "  shape = {block.give(), capacity, head, size, shape.body};"
  "  acp_free(shape.body);
  shape = {block.give(), capacity, head, size, ACP_GA_NULL};")

# ---- docs/malloc.md, "Attacks, and why they fail" -----------------------------

# A free into a span that is being unlisted is lost.
explore_mutant(unlisting_loses_free malloc/spans.cc
  malloc.full_span near
  "  if (bits == kListed) {
    return Outcome::kDone;
  }
  const Outcome outcome = list(size_class, {&head, 1});"
  "  const Outcome outcome = Outcome::kDone;")

# A chunk is made whole while pages are taken of it.
explore_mutant(chunk_whole_too_soon malloc/page_runs.cc
  malloc.run,malloc.mixed near
  "  return old == kAllPages ? return_chunks(chunk, 1) : Outcome::kDone;"
  "  return return_chunks(chunk, 1);")

# A claim does not notice chunks that another rank has.
explore_mutant(claims_overlap malloc/page_runs.cc
  malloc.large.allocate+allocate near
  "    if (old != expected) {
      const Outcome undone ="
  "    if (false) {
      const Outcome undone =")

# A span that others take from is dissolved.
explore_mutant(dissolves_in_use malloc/spans.cc
  malloc.sweep near
  "  is_dissolved = old == full;" "  is_dissolved = true;")

# The head of a list does not count its changes.
explore_mutant(list_head_does_not_count malloc/spans.cc
  malloc.list_head_returns near
  "  return ((old >> 32) + 1) << 32 | link;" "  return (old >> 32) << 32 | link;")

# Two frees that fill a span both list it.
explore_mutant(both_list_span malloc/spans.cc
  malloc.unlisted_span near
  "    if ((seen[i] & kListed) != 0) {
      continue;
    }" "")

# Blocks that were taken by an old hint count as the class that was wanted.
explore_mutant(hint_tells_class malloc/spans.cc
  malloc.other_class near
  "    hint = 0;  // the hint's page may be of another class by now"
  "    found.size_class = size_class;")

# Both of two ranks that free a run return its pages.
explore_mutant(both_free_run malloc/peer_heap.cc
  malloc.double_free near
  "  if (old != info) {
    return FreeResult::kWrong;
  }
  return spans_"
  "  return spans_")

# ---- docs/channels.md, "Progress and wake-ups" ------------------------------

# A thread frees a block, and waits for the heap, with the lock of an end held.
explore_mutant(block_is_freed_in_lock channel/channels.cc
  channel.bare far
  "  if (is_in_step) {
    acp_free(block);" "  if (true) {
    acp_free(block);")
