/* wordsort: sorts the words of a text with a row of ranks.
 *
 * Shows: channels as a pipeline. Rank 0 reads the file and sends each word to
 * rank 1. Every rank after it keeps the KEPT words that are smallest so far and
 * hands the rest on. So a word travels until a rank keeps it. An empty message
 * ends the stream, and then the ranks send their words to rank 0, in order.
 * Rank 1 has the smallest words, rank 2 the next ones, and so on.
 *
 *   acprun -np 4 wordsort [FILE]
 *
 * The last rank keeps all that comes to it. Rank 0 compares the result with
 * qsort of the same words; alone, it only does that. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <acp.h>

#define DEFAULT_FILE "/usr/share/common-licenses/GPL-3"
#define LONGEST 64 /* bytes of a word; longer ones are truncated */
#define KEPT 1000  /* words that a rank in the middle keeps */
#define WINDOW 32  /* sends under way */

/* A growing array of words. */
typedef struct {
  char (*words)[LONGEST];
  size_t count, room;
} list_t;

static void append(list_t* list, const char* word) {
  if (list->count == list->room) {
    list->room = list->room == 0 ? 1024 : 2 * list->room;
    list->words = realloc(list->words, list->room * LONGEST);
    if (list->words == NULL) acp_abort("no memory");
  }
  strcpy(list->words[list->count++], word);
}

/* Sends words by one channel: a window of buffers, each used again when its
 * send is complete. */
typedef struct {
  acp_ch_t ch;
  char buffers[WINDOW][LONGEST];
  acp_request_t requests[WINDOW];
  size_t sent;
} stream_t;

/* An empty word ends the stream. */
static void put(stream_t* stream, const char* word) {
  size_t slot = stream->sent++ % WINDOW;
  if (stream->requests[slot] != ACP_REQUEST_NULL) {
    if (acp_wait_ch(stream->requests[slot]) != 0) acp_abort("acp_wait_ch");
  }
  strcpy(stream->buffers[slot], word);
  stream->requests[slot] =
      acp_nbsend_ch(stream->ch, stream->buffers[slot], strlen(word));
  if (stream->requests[slot] == ACP_REQUEST_NULL) acp_abort("acp_nbsend_ch");
}

static void finish(stream_t* stream) {
  put(stream, "");
  for (size_t slot = 0; slot < WINDOW; ++slot) {
    if (stream->requests[slot] != ACP_REQUEST_NULL) {
      acp_wait_ch(stream->requests[slot]);
    }
  }
  acp_free_ch(stream->ch);
}

/* The next word of a channel; 0 at the end of the stream. */
static int get(acp_ch_t ch, char word[LONGEST]) {
  size_t size = acp_wait_ch(acp_nbrecv_ch(ch, word, LONGEST - 1));
  if (size >= LONGEST) { /* (size_t)-1 */
    acp_abort("acp_wait_ch");
    return 0;
  }
  word[size] = 0;
  return size != 0;
}

static int compare(const void* a, const void* b) {
  return strcmp(a, b);
}

/* Appends the words of a file, in lower case. */
static void read_words(const char* path, list_t* list) {
  FILE* file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    acp_abort("cannot read the file");
  }
  char word[LONGEST];
  size_t length = 0;
  int c;
  do {
    c = fgetc(file);
    if (c != EOF && isalpha(c)) {
      if (length < LONGEST - 1) word[length++] = (char)tolower(c);
    } else if (length != 0) {
      word[length] = 0;
      append(list, word);
      length = 0;
    }
  } while (c != EOF);
  fclose(file);
}

/* Moves word i of a heap, whose largest word is in front, to its place. */
static void sift_down(list_t* heap, size_t i) {
  for (;;) {
    size_t largest = i;
    for (size_t child = 2 * i + 1; child <= 2 * i + 2; ++child) {
      if (child < heap->count &&
          strcmp(heap->words[child], heap->words[largest]) > 0) {
        largest = child;
      }
    }
    if (largest == i) return;
    char word[LONGEST];
    strcpy(word, heap->words[i]);
    memmove(heap->words[i], heap->words[largest], LONGEST);
    strcpy(heap->words[largest], word);
    i = largest;
  }
}

/* Keeps the KEPT smallest words of the stream and passes the rest on. */
static void keep_smallest(acp_ch_t in, stream_t* out, list_t* kept) {
  char word[LONGEST];
  while (get(in, word)) {
    if (out == NULL || kept->count < KEPT) {
      append(kept, word);
      if (kept->count == KEPT) {
        for (size_t i = KEPT; i-- > 0;)
          sift_down(kept, i);
      }
    } else if (strcmp(word, kept->words[0]) >= 0) {
      put(out, word);
    } else {
      put(out, kept->words[0]);
      strcpy(kept->words[0], word);
      sift_down(kept, 0);
    }
  }
}

static void work(int rank, int procs) {
  acp_ch_t in = acp_create_ch(rank - 1, rank);
  stream_t out = {0};
  list_t kept = {0};
  int is_last = rank + 1 == procs;
  if (!is_last) out.ch = acp_create_ch(rank, rank + 1);
  keep_smallest(in, is_last ? NULL : &out, &kept);
  acp_free_ch(in);
  if (!is_last) finish(&out);

  qsort(kept.words, kept.count, LONGEST, compare);
  stream_t result = {0};
  result.ch = acp_create_ch(rank, 0);
  for (size_t i = 0; i < kept.count; ++i)
    put(&result, kept.words[i]);
  finish(&result);
  free(kept.words);
}

/* Rank 0: sends all words, collects them sorted. */
static void sort_by_others(const list_t* words, list_t* sorted, int procs) {
  stream_t out = {0};
  out.ch = acp_create_ch(0, 1);
  for (size_t i = 0; i < words->count; ++i)
    put(&out, words->words[i]);
  finish(&out);
  for (int rank = 1; rank < procs; ++rank) {
    acp_ch_t in = acp_create_ch(rank, 0);
    char word[LONGEST];
    while (get(in, word))
      append(sorted, word);
    acp_free_ch(in);
  }
}

/* Rank 0 sorts by the other ranks, and once more alone to compare. */
int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0) {
    fprintf(stderr, "wordsort: acp_init failed\n");
    return 1;
  }
  const char* path = argc > 1 ? argv[1] : DEFAULT_FILE;
  int rank = acp_rank();
  int procs = acp_procs();
  int is_equal = 1;
  if (rank != 0) {
    work(rank, procs);
  } else {
    list_t words = {0};
    list_t sorted = {0};
    read_words(path, &words);
    if (procs > 1) sort_by_others(&words, &sorted, procs);
    qsort(words.words, words.count, LONGEST, compare);
    is_equal = procs == 1 || sorted.count == words.count;
    for (size_t i = 0; is_equal && i < sorted.count; ++i) {
      is_equal = strcmp(sorted.words[i], words.words[i]) == 0;
    }
    printf("%zu words", words.count);
    if (words.count != 0) {
      printf(", from '%s' to '%s'", words.words[0],
             words.words[words.count - 1]);
    }
    printf("\n");
    fprintf(stderr, is_equal ? "equal to a sequential sort\n"
                             : "DIFFERS from a sequential sort\n");
    free(words.words);
    free(sorted.words);
  }
  acp_finalize();
  return is_equal ? 0 : 1;
}
