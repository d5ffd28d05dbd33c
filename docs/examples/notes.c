/* A list that all ranks write to. Each rank puts notes into the heap of rank 0
 * and links them. Rank 0 reads the list and frees it. Shows acp_malloc on
 * another rank, a compare-and-swap on a list's head, and acp_free by the owner.
 */
#include <stdio.h>
#include <string.h>

#include <acp.h>

enum { kNotesEach = 100 };

/* In global memory; next is 0 at the end of the list. */
typedef struct {
  acp_ga_t next;
  int64_t rank;
  int64_t number;
} note_t;

/* At the start of every rank's starter memory. */
typedef struct {
  acp_ga_t head; /* head of the list, used on rank 0 */
  acp_ga_t old;  /* result of my compare-and-swaps */
  note_t note;   /* the note that I send */
} desk_t;

static acp_ga_t add_note(desk_t* desk, int number) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t head = acp_query_starter_ga(0) + offsetof(desk_t, head);
  const acp_ga_t old = mine + offsetof(desk_t, old);
  const acp_ga_t note = acp_malloc(sizeof(note_t), 0);
  if (note == ACP_GA_NULL) acp_abort("no room for a note");

  desk->note.rank = acp_rank();
  desk->note.number = number;
  desk->note.next = 0;
  for (;;) {
    /* The note first, complete, and then its address for everybody. */
    acp_complete(acp_copy(note, mine + offsetof(desk_t, note), sizeof(note_t),
                          ACP_HANDLE_NULL));
    acp_complete(acp_cas8(old, head, desk->note.next, note, ACP_HANDLE_NULL));
    if (desk->old == desk->note.next) return note;
    desk->note.next =
        desk->old; /* another rank was faster: go behind its note */
  }
}

/* Returns how many notes there were; 0 when they are not in order. */
static int read_notes(acp_ga_t note) {
  static int64_t last[1024];
  int count = 0;
  while (note != 0) {
    const note_t copy = *(const note_t*)acp_query_address(note);
    /* The newest comes first. */
    if (copy.rank < 0 || copy.rank >= acp_procs() || copy.rank >= 1024 ||
        copy.number != kNotesEach - 1 - last[copy.rank]++) {
      return 0;
    }
    ++count;
    acp_free(note);
    note = copy.next;
  }
  return count;
}

int main(int argc, char** argv) {
  int is_right = 1;
  int i;
  if (acp_init(&argc, &argv) != 0) return 1;
  desk_t* desk = acp_query_address(acp_query_starter_ga(acp_rank()));
  for (i = 0; i < kNotesEach; ++i) {
    add_note(desk, i);
  }
  acp_sync();
  if (acp_rank() == 0) {
    const int count = read_notes(desk->head);
    is_right = count == kNotesEach * acp_procs();
    printf("%d notes of %d ranks: %s\n", count, acp_procs(),
           is_right ? "all there" : "WRONG");
  }
  return acp_finalize() == 0 && is_right ? 0 : 1;
}
