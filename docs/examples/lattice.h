/* The part that su3.c and wilson.c share. It has a four-dimensional lattice
 * divided among the nodes, 3 x 3 matrices, and a random generator for each
 * site. Its sums are equal to the last bit on any number of nodes. */
#ifndef EXAMPLE_LATTICE_H
#define EXAMPLE_LATTICE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qmp.h>

#define AXES 4
#define PI 3.14159265358979323846

static void stop(const char* what) {
  QMP_error("%s: %s", what, QMP_get_error_string(NULL));
  QMP_abort(1);
}

static void check(QMP_status_t status, const char* what) {
  if (status != QMP_SUCCESS) stop(what);
}

/* ---- The lattice -----------------------------------------------------------
 */

struct lattice {
  int size[AXES];   /* sites of the whole lattice on an axis      */
  int local[AXES];  /* sites of this node's part; all even        */
  int origin[AXES]; /* first site of this node's part             */
  int sites;        /* number of sites of this node's part        */
};

/* Divides a lattice among the nodes. */
static struct lattice divide(const int size[AXES]) {
  struct lattice lattice = {.sites = 1};
  check(QMP_layout_grid(size, AXES), "QMP_layout_grid");
  const int* local = QMP_get_subgrid_dimensions();
  const int* node = QMP_get_logical_coordinates();
  for (int axis = 0; axis < AXES; ++axis) {
    lattice.size[axis] = size[axis];
    lattice.local[axis] = local[axis];
    lattice.origin[axis] = node[axis] * local[axis];
    lattice.sites *= local[axis];
    if (local[axis] % 2 != 0) {
      QMP_error(
          "%d x %d x %d x %d sites on %d nodes: the part of a node, here "
          "%d sites along axis %d, has to be even; take fewer nodes or a "
          "larger lattice",
          size[0], size[1], size[2], size[3], QMP_get_number_of_nodes(),
          local[axis], axis);
      QMP_abort(1);
    }
  }
  return lattice;
}

/* Number and coordinates of a site in a box, x fastest. */
static int number_in(const int box[AXES], const int at[AXES]) {
  return ((at[3] * box[2] + at[2]) * box[1] + at[1]) * box[0] + at[0];
}

static void place_in(const int box[AXES], int number, int at[AXES]) {
  for (int axis = 0; axis < AXES; ++axis) {
    at[axis] = number % box[axis];
    number /= box[axis];
  }
}

/* A local site's number in the whole lattice. */
static int global_number(const struct lattice* lattice, const int at[AXES]) {
  int global[AXES];
  for (int axis = 0; axis < AXES; ++axis) {
    global[axis] = lattice->origin[axis] + at[axis];
  }
  return number_in(lattice->size, global);
}

/* The sum of one number per local site, over all nodes, by a tree of sites that
 * does not depend on the nodes. The lattice is made of cells of 2 x 2 x 2 x 2
 * sites, each on one node, which adds them up. All other nodes add 0, which
 * changes no bit. Then every node adds up the cells in pairs. */
static double sum_over_sites(const struct lattice* lattice,
                             const double* value) {
  int cells[AXES], count = 1;
  for (int axis = 0; axis < AXES; ++axis) {
    cells[axis] = lattice->size[axis] / 2;
    count *= cells[axis];
  }
  double* sum = calloc((size_t)count, sizeof *sum);
  if (sum == NULL) stop("calloc");
  for (int site = 0; site < lattice->sites; ++site) {
    int at[AXES];
    place_in(lattice->local, site, at);
    for (int axis = 0; axis < AXES; ++axis) {
      at[axis] = (lattice->origin[axis] + at[axis]) / 2;
    }
    sum[number_in(cells, at)] += value[site];
  }
  check(QMP_sum_double_array(sum, count), "QMP_sum_double_array");
  for (int step = 1; step < count; step *= 2) {
    for (int i = 0; i + step < count; i += 2 * step) {
      sum[i] += sum[i + step];
    }
  }
  double result = sum[0];
  free(sum);
  return result;
}

/* ---- Random numbers: one generator for each site --------------------------
 */

/* The next 64 bits (splitmix64). */
static uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* Above 0 and up to 1, so that its logarithm exists. */
static double uniform(uint64_t* state) {
  return ((double)(next_random(state) >> 11) + 1) / 9007199254740992.0;
}

static double gaussian(uint64_t* state) {
  double radius = sqrt(-2 * log(uniform(state)));
  return radius * cos(2 * PI * uniform(state));
}

/* The first state of a site of the whole lattice. */
static uint64_t seed_of(uint64_t seed, int global) {
  uint64_t state = seed * UINT64_C(0xd1342543de82ef95) + (uint64_t)global;
  (void)next_random(&state);
  return next_random(&state);
}

/* ---- Complex numbers, 3 x 3 matrices --------------------------------------
 */

struct complex {
  double re, im;
};

struct matrix {
  struct complex at[3][3];
};

static struct complex times(struct complex a, struct complex b) {
  return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* conj(a) * b */
static struct complex conj_times(struct complex a, struct complex b) {
  return (struct complex){a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}

static struct complex plus(struct complex a, struct complex b) {
  return (struct complex){a.re + b.re, a.im + b.im};
}

/* Makes the rows orthonormal and the determinant 1. */
static void make_special_unitary(struct matrix* m) {
  for (int row = 0; row < 2; ++row) {
    for (int before = 0; before < row; ++before) {
      struct complex part = {0, 0};
      for (int i = 0; i < 3; ++i) {
        part = plus(part, conj_times(m->at[before][i], m->at[row][i]));
      }
      for (int i = 0; i < 3; ++i) {
        struct complex away = times(part, m->at[before][i]);
        m->at[row][i].re -= away.re;
        m->at[row][i].im -= away.im;
      }
    }
    double norm = 0;
    for (int i = 0; i < 3; ++i) {
      norm += m->at[row][i].re * m->at[row][i].re +
              m->at[row][i].im * m->at[row][i].im;
    }
    norm = 1 / sqrt(norm);
    for (int i = 0; i < 3; ++i) {
      m->at[row][i].re *= norm;
      m->at[row][i].im *= norm;
    }
  }
  /* The third row is the conjugate of the cross product of the others. */
  for (int i = 0; i < 3; ++i) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    struct complex a = times(m->at[0][j], m->at[1][k]);
    struct complex b = times(m->at[0][k], m->at[1][j]);
    m->at[2][i] = (struct complex){a.re - b.re, b.im - a.im};
  }
}

/* Random around `order` times 1; with order 0 all matrices are equally likely.
 */
static struct matrix random_matrix(double order,
                                   double disorder,
                                   uint64_t* state) {
  struct matrix m = {0};
  for (int i = 0; i < 3; ++i) {
    m.at[i][i].re = order;
    for (int j = 0; j < 3; ++j) {
      m.at[i][j].re += disorder * gaussian(state);
      m.at[i][j].im += disorder * gaussian(state);
    }
  }
  make_special_unitary(&m);
  return m;
}

/* ---- The command line ------------------------------------------------------
 */

struct words {
  char** next; /* ends with NULL, as argv does */
};

/* The number behind a word, or the end of the program. */
static double number_of(const char* word,
                        const char* text,
                        double least,
                        double most) {
  char* end = NULL;
  double value = text != NULL ? strtod(text, &end) : 0;
  if (end == NULL || end == text || *end != '\0' ||
      !(value >= least && value <= most)) {
    QMP_error("%s %s: expected a number from %g to %g", word,
              text != NULL ? text : "", least, most);
    QMP_abort(2);
  }
  return value;
}

static int is_next(const struct words* words, const char* word) {
  return strcmp(*words->next, word) == 0;
}

/* Each of these takes a word and what belongs to it, if that word is next. */
static int take_number(struct words* words,
                       const char* word,
                       double least,
                       double most,
                       double* value) {
  if (!is_next(words, word)) return 0;
  *value = number_of(word, words->next[1], least, most);
  words->next += 2;
  return 1;
}

static int take_count(
    struct words* words, const char* word, int least, int most, int* value) {
  double number;
  if (!take_number(words, word, least, most, &number)) return 0;
  *value = (int)number;
  return 1;
}

static int take_seed(struct words* words, uint64_t* seed) {
  double number;
  if (!take_number(words, "--seed", 0, 1e15, &number)) return 0;
  *seed = (uint64_t)number;
  return 1;
}

static int take_lattice(struct words* words, int size[AXES]) {
  if (!is_next(words, "--lattice")) return 0;
  for (int axis = 0; axis < AXES; ++axis) {
    size[axis] = (int)number_of("--lattice", *++words->next, 2, 1000);
  }
  ++words->next;
  return 1;
}

/* The end of the program when no one has taken the next word. It has the usage
 * text and status 0 when the word is --help, else an error and status 2. */
static void end_with_usage(const struct words* words, const char* usage) {
  int is_help = is_next(words, "--help") || is_next(words, "-h");
  if (QMP_is_primary_node()) {
    FILE* to = is_help ? stdout : stderr;
    if (!is_help) {
      fprintf(to, "'%s' is no option, or lacks its value\n", *words->next);
    }
    fputs(usage, to);
  }
  QMP_finalize_msg_passing();
  exit(is_help ? 0 : 2);
}

#endif /* EXAMPLE_LATTICE_H */
