/* su3: quarks' glue. A heat bath for the SU(3) gauge field on a lattice of four
 * dimensions, as in lattice QCD.
 *
 * Shows: QMP for what it was made. The lattice is laid out over the nodes
 * (QMP_layout_grid). The hypersurfaces between them are strided memory,
 * declared once and exchanged many times (QMP_declare_strided_msgmem,
 * QMP_declare_multiple). Sums over all nodes are reproducible.
 *
 *   acprun -np 4 su3 [--lattice X Y Z T] [--beta B] [--sweeps N] [--warm N]
 *                    [--seed N] [--hot] [--plot FILE.svg]
 *
 * The field begins ordered, all links 1, or with --hot at random. After --warm
 * sweeps, each of --sweeps measures the mean plaquette. Each site has a random
 * generator of its own, and sums go over a tree of sites. So the result is
 * equal to the last bit on any number of nodes. Where the mean is known (beta
 * 5.7 and 6.0, 8 x 8 x 8 x 8 sites and more) it is compared. */
#include <errno.h>

#include "lattice.h"

#define MOST_SWEEPS 100000
#define REPAIR_SWEEPS 20 /* after so many, rounding errors are taken out */

struct options {
  int size[AXES];
  double beta;
  int sweeps, warm;
  uint64_t seed;
  int is_hot;
  const char* plot;
};

/* Links live in a box with a halo: a copy of the neighbours' outermost sites,
 * one deep, on both sides of each axis. Local site 0 is at (1, 1, 1, 1). */
struct field {
  struct lattice lattice;
  int box[AXES];    /* local size + 2                            */
  int stride[AXES]; /* from a site of the box to the next one    */
  uint64_t* random; /* a generator for each local site           */
  struct matrix* links[AXES];
  QMP_mem_t* memory[AXES];
  QMP_msghandle_t halo[AXES][AXES]; /* links along mu, for an axis */
};

/* ---- Matrices --------------------------------------------------------------
 */

static struct matrix identity(void) {
  struct matrix one = {0};
  for (int i = 0; i < 3; ++i)
    one.at[i][i].re = 1;
  return one;
}

static struct matrix product(const struct matrix* a, const struct matrix* b) {
  struct matrix c;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      struct complex sum = times(a->at[i][0], b->at[0][j]);
      sum = plus(sum, times(a->at[i][1], b->at[1][j]));
      c.at[i][j] = plus(sum, times(a->at[i][2], b->at[2][j]));
    }
  }
  return c;
}

static struct matrix adjoint(const struct matrix* a) {
  struct matrix c;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      c.at[i][j] = (struct complex){a->at[j][i].re, -a->at[j][i].im};
    }
  }
  return c;
}

static void add(struct matrix* sum, const struct matrix* a) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      sum->at[i][j] = plus(sum->at[i][j], a->at[i][j]);
    }
  }
}

/* ---- The field and its halo ------------------------------------------------
 */

/* All sites of the box whose coordinate along an axis is `at`: blocks of what
 * lies below the axis, repeated for what lies above. */
static QMP_msgmem_t hypersurface(const struct field* field,
                                 int mu,
                                 int axis,
                                 int at) {
  int blocks = 1;
  for (int above = axis + 1; above < AXES; ++above)
    blocks *= field->box[above];
  size_t site = sizeof(struct matrix);
  size_t block = (size_t)field->stride[axis] * site;
  return QMP_declare_strided_msgmem(field->links[mu] + at * field->stride[axis],
                                    block, blocks,
                                    (ptrdiff_t)block * field->box[axis]);
}

/* Both hypersurfaces out, both in: one handle. */
static QMP_msghandle_t declare_halo(const struct field* field,
                                    int mu,
                                    int axis) {
  int last = field->lattice.local[axis];
  QMP_msgmem_t memory[4] = {hypersurface(field, mu, axis, last),
                            hypersurface(field, mu, axis, 1),
                            hypersurface(field, mu, axis, 0),
                            hypersurface(field, mu, axis, last + 1)};
  QMP_msghandle_t part[4] = {
      QMP_declare_send_relative(memory[0], axis, +1, 0),
      QMP_declare_send_relative(memory[1], axis, -1, 0),
      QMP_declare_receive_relative(memory[2], axis, -1, 0),
      QMP_declare_receive_relative(memory[3], axis, +1, 0)};
  QMP_msghandle_t all = QMP_declare_multiple(part, 4);
  if (all == NULL) stop("declaring the halo");
  for (int i = 0; i < 4; ++i)
    QMP_free_msgmem(memory[i]);
  return all;
}

/* Axis after axis: the second one also carries what the first has brought. So
 * the edges between two axes, which staples need, arrive as well. */
static void exchange(const struct field* field, int mu) {
  for (int axis = 0; axis < AXES; ++axis) {
    check(QMP_start(field->halo[mu][axis]), "QMP_start");
    check(QMP_wait(field->halo[mu][axis]), "QMP_wait");
  }
}

/* Where a local site is in the box. */
static int in_box(const struct field* field, const int at[AXES]) {
  int index = 0;
  for (int axis = 0; axis < AXES; ++axis) {
    index += (at[axis] + 1) * field->stride[axis];
  }
  return index;
}

/* A cold start: all links are 1, halo included. */
static struct field make_field(const struct options* options) {
  struct field field = {.lattice = divide(options->size)};
  size_t volume = 1;
  for (int axis = 0; axis < AXES; ++axis) {
    field.box[axis] = field.lattice.local[axis] + 2;
    field.stride[axis] = (int)volume;
    volume *= (size_t)field.box[axis];
  }
  for (int mu = 0; mu < AXES; ++mu) {
    field.memory[mu] = QMP_allocate_memory(volume * sizeof(struct matrix));
    if (field.memory[mu] == NULL) stop("QMP_allocate_memory");
    field.links[mu] = QMP_get_memory_pointer(field.memory[mu]);
    for (size_t i = 0; i < volume; ++i)
      field.links[mu][i] = identity();
  }
  for (int mu = 0; mu < AXES; ++mu) {
    for (int axis = 0; axis < AXES; ++axis) {
      field.halo[mu][axis] = declare_halo(&field, mu, axis);
    }
  }
  size_t sites = (size_t)field.lattice.sites;
  field.random = malloc(sites * sizeof *field.random);
  if (field.random == NULL) stop("malloc");
  for (int site = 0; site < field.lattice.sites; ++site) {
    int at[AXES];
    place_in(field.lattice.local, site, at);
    field.random[site] =
        seed_of(options->seed, global_number(&field.lattice, at));
  }
  return field;
}

/* A hot start: each link at random. */
static void disorder(struct field* field) {
  for (int mu = 0; mu < AXES; ++mu) {
    for (int site = 0; site < field->lattice.sites; ++site) {
      int at[AXES];
      place_in(field->lattice.local, site, at);
      field->links[mu][in_box(field, at)] =
          random_matrix(0, 1, &field->random[site]);
    }
    exchange(field, mu);
  }
}

static void free_field(struct field* field) {
  for (int mu = 0; mu < AXES; ++mu) {
    for (int axis = 0; axis < AXES; ++axis) {
      QMP_free_msghandle(field->halo[mu][axis]);
    }
    QMP_free_memory(field->memory[mu]);
  }
  free(field->random);
}

/* ---- The heat bath ---------------------------------------------------------
 */

/* The sum of the six staples around a link: what it is multiplied with in the
 * plaquettes it belongs to. */
static struct matrix staples(const struct field* field, int mu, int at) {
  struct matrix sum = {0};
  int forward = at + field->stride[mu];
  for (int nu = 0; nu < AXES; ++nu) {
    if (nu == mu) continue;
    int step = field->stride[nu];
    const struct matrix* along = field->links[mu];
    const struct matrix* across = field->links[nu];
    /* above: across(x + mu) along(x + nu)^ across(x)^ */
    struct matrix path = product(&across[at], &along[at + step]);
    path = adjoint(&path);
    path = product(&across[forward], &path);
    add(&sum, &path);
    /* below: across(x + mu - nu)^ along(x - nu)^ across(x - nu) */
    path = product(&along[at - step], &across[forward - step]);
    path = adjoint(&path);
    path = product(&path, &across[at - step]);
    add(&sum, &path);
  }
  return sum;
}

/* The first component of an SU(2) matrix with weight exp(a * g0), by Kennedy
 * and Pendleton. */
static double draw_first(double a, uint64_t* random) {
  for (;;) {
    double x = -log(uniform(random)) / a;
    double y = -log(uniform(random)) / a;
    double c = cos(2 * PI * uniform(random));
    double d = x * c * c + y;
    double r = uniform(random);
    if (r * r <= 1 - d / 2) return 1 - d;
  }
}

/* rows i and j of m: multiplied from the left with the SU(2) matrix q. */
static void rotate(struct matrix* m, int i, int j, const double q[4]) {
  struct complex a = {q[0], q[3]}, b = {q[2], q[1]};
  struct complex c = {-q[2], q[1]}, d = {q[0], -q[3]};
  for (int k = 0; k < 3; ++k) {
    struct complex up = m->at[i][k], down = m->at[j][k];
    m->at[i][k] = plus(times(a, up), times(b, down));
    m->at[j][k] = plus(times(c, up), times(d, down));
  }
}

/* One SU(2) subgroup of Cabibbo and Marinari: rows i and j. `whole` is the link
 * times its staples. */
static void heat_subgroup(struct matrix* link,
                          struct matrix* whole,
                          int i,
                          int j,
                          double beta,
                          uint64_t* random) {
  struct complex ii = whole->at[i][i], jj = whole->at[j][j];
  struct complex ij = whole->at[i][j], ji = whole->at[j][i];
  /* Its part in SU(2), as a quaternion of length k. */
  double w[4] = {(ii.re + jj.re) / 2, (ij.im + ji.im) / 2, (ij.re - ji.re) / 2,
                 (ii.im - jj.im) / 2};
  double k = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
  if (k < 1e-12) return;
  double g[4];
  g[0] = draw_first(2 * beta / 3 * k, random);
  double length = sqrt(1 - g[0] * g[0]);
  double height = 2 * uniform(random) - 1;
  double angle = 2 * PI * uniform(random);
  double width = length * sqrt(1 - height * height);
  g[1] = width * cos(angle);
  g[2] = width * sin(angle);
  g[3] = length * height;
  /* q = g times the inverse of w / k. */
  double v[4] = {w[0] / k, -w[1] / k, -w[2] / k, -w[3] / k};
  double q[4] = {g[0] * v[0] - g[1] * v[1] - g[2] * v[2] - g[3] * v[3],
                 g[0] * v[1] + g[1] * v[0] - g[2] * v[3] + g[3] * v[2],
                 g[0] * v[2] + g[2] * v[0] - g[3] * v[1] + g[1] * v[3],
                 g[0] * v[3] + g[3] * v[0] - g[1] * v[2] + g[2] * v[1]};
  rotate(link, i, j, q);
  rotate(whole, i, j, q);
}

static void heat_link(
    const struct field* field, int mu, int at, double beta, uint64_t* random) {
  struct matrix* link = &field->links[mu][at];
  struct matrix around = staples(field, mu, at);
  struct matrix whole = product(link, &around);
  heat_subgroup(link, &whole, 0, 1, beta, random);
  heat_subgroup(link, &whole, 1, 2, beta, random);
  heat_subgroup(link, &whole, 0, 2, beta, random);
}

/* Every link once. Links of one direction on sites of one colour of the
 * checkerboard do not touch each other's staples: they change at once, on all
 * nodes. */
static void sweep(struct field* field, double beta, int is_repair) {
  const struct lattice* lattice = &field->lattice;
  for (int mu = 0; mu < AXES; ++mu) {
    for (int colour = 0; colour < 2; ++colour) {
      for (int site = 0; site < lattice->sites; ++site) {
        int at[AXES];
        place_in(lattice->local, site, at);
        /* Parts begin at even sites: colours are the same on all nodes. */
        if ((at[0] + at[1] + at[2] + at[3]) % 2 != colour) continue;
        int index = in_box(field, at);
        heat_link(field, mu, index, beta, &field->random[site]);
        if (is_repair) make_special_unitary(&field->links[mu][index]);
      }
      exchange(field, mu);
    }
  }
}

/* ---- Measuring -------------------------------------------------------------
 */

/* The mean of Re Tr (plaquette) / 3. */
static double plaquette(const struct field* field, double* value) {
  const struct lattice* lattice = &field->lattice;
  double planes = 6, sites = 1;
  for (int axis = 0; axis < AXES; ++axis)
    sites *= lattice->size[axis];
  for (int site = 0; site < lattice->sites; ++site) {
    int place[AXES];
    place_in(lattice->local, site, place);
    int at = in_box(field, place);
    double sum = 0;
    for (int mu = 0; mu < AXES; ++mu) {
      for (int nu = 0; nu < mu; ++nu) {
        const struct matrix* a = field->links[mu];
        const struct matrix* b = field->links[nu];
        struct matrix there = product(&a[at], &b[at + field->stride[mu]]);
        struct matrix back = product(&b[at], &a[at + field->stride[nu]]);
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) {
            sum += conj_times(back.at[i][j], there.at[i][j]).re;
          }
        }
      }
    }
    value[site] = sum / 3;
  }
  return sum_over_sites(lattice, value) / (planes * sites);
}

struct estimate {
  double mean;
  double error;   /* one standard deviation                              */
  double memory;  /* the integrated autocorrelation time, in sweeps; 1/2:
                   * each sweep is new                                   */
  int is_trusted; /* the history is long enough to tell these two        */
};

/* The autocovariance of a history at a distance. */
static double covariance(const double* history,
                         int count,
                         double mean,
                         int distance) {
  double sum = 0;
  for (int i = 0; i + distance < count; ++i) {
    sum += (history[i] - mean) * (history[i + distance] - mean);
  }
  return sum / (count - distance);
}

/* A sweep remembers the ones before it: `count` of them are worth only
 * count / (2 memory) independent ones. The sum of autocorrelations ends at a
 * distance of 6 times itself, where noise would take over (Madras and Sokal).
 */
static struct estimate estimate(const double* history, int count) {
  struct estimate result = {0, 1, 0.5, 0};
  for (int i = 0; i < count; ++i)
    result.mean += history[i] / count;
  double variance = covariance(history, count, result.mean, 0);
  if (count < 2 || variance <= 0) return result;
  int distance = 1;
  for (; distance < count / 2 && distance < 6 * result.memory; ++distance) {
    result.memory +=
        covariance(history, count, result.mean, distance) / variance;
  }
  if (result.memory < 0.5) result.memory = 0.5;
  result.error = sqrt(2 * result.memory * variance / count);
  result.is_trusted = count >= 50 * result.memory;
  return result;
}

/* A mean that others have published, of large lattices. */
struct published {
  double beta;
  double mean;
  double margin; /* how far 8 x 8 x 8 x 8 sites may be from it, besides the
                  * statistical error: rounding, and the finite size */
};

/* NULL: nothing known. */
static const struct published* find_published(const struct options* options) {
  static const struct published all[] = {{5.7, 0.549, 0.0005},
                                         {6.0, 0.5937, 0.0006}};
  for (int axis = 0; axis < AXES; ++axis) {
    if (options->size[axis] < 8) return NULL;
  }
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (all[i].beta == options->beta) return &all[i];
  }
  return NULL;
}

/* Compares, where there is something to compare with; says so. */
static int judge(const struct options* options,
                 const struct estimate* found,
                 int is_speaker) {
  const struct published* known = find_published(options);
  if (!found->is_trusted) {
    if (is_speaker) printf("too few sweeps to trust the error\n");
    return 1;
  }
  if (known == NULL) return found->mean > 0 && found->mean < 1;
  int is_right =
      fabs(found->mean - known->mean) < 3 * found->error + known->margin;
  if (is_speaker) {
    printf("published: %g, %s within 3 errors and %g for the size\n",
           known->mean, is_right ? "equal" : "not equal", known->margin);
  }
  return is_right;
}

/* A checksum of all bits of the history. */
static uint64_t bits_of(const double* history, int count) {
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    uint64_t bits;
    memcpy(&bits, &history[i], sizeof bits);
    sum = (sum ^ bits) * UINT64_C(0x100000001b3);
    sum ^= sum >> 29;
  }
  return sum;
}

/* ---- The picture -----------------------------------------------------------
 */

/* The picture's file: NULL without --plot, and where nobody speaks. All nodes
 * end when it cannot be written. */
static FILE* open_picture(const struct options* options, int is_speaker) {
  FILE* file = NULL;
  int failures = 0;
  if (options->plot != NULL && is_speaker) {
    file = fopen(options->plot, "w");
    if (file == NULL) {
      QMP_error("cannot write %s: %s", options->plot, strerror(errno));
      failures = 1;
    }
  }
  check(QMP_sum_int(&failures), "QMP_sum_int");
  if (failures > 0) {
    QMP_finalize_msg_passing();
    exit(1);
  }
  return file;
}

/* The history as a curve, and the mean of the measured part. Closes the file.
 */
static void plot(const struct options* options,
                 FILE* file,
                 const double* history,
                 int count,
                 double mean) {
  double low = history[0], high = history[0];
  for (int i = 0; i < count; ++i) {
    if (history[i] < low) low = history[i];
    if (history[i] > high) high = history[i];
  }
  double scale = high > low ? 400 / (high - low) : 1;
  fprintf(file,
          "<svg xmlns='http://www.w3.org/2000/svg' width='800' height='500' "
          "font-family='sans-serif' font-size='14'>\n"
          "<rect width='800' height='500' fill='white'/>\n"
          "<text x='400' y='25' text-anchor='middle'>mean plaquette, %d x %d x "
          "%d x %d, beta = %g</text>\n"
          "<text x='5' y='55'>%.4f</text><text x='5' y='455'>%.4f</text>\n"
          "<text x='70' y='480'>sweep 1</text>\n"
          "<text x='780' y='480' text-anchor='end'>sweep %d</text>\n"
          "<path d='M70 50V450H780' fill='none' stroke='black'/>\n"
          "<path d='M%.1f %.1fH780' stroke='red'/>\n"
          "<text x='780' y='%.1f' fill='red' text-anchor='end'>%.5f</text>\n"
          "<polyline fill='none' stroke='blue' points='",
          options->size[0], options->size[1], options->size[2],
          options->size[3], options->beta, high, low, count,
          70 + 710.0 * options->warm / count, 450 - (mean - low) * scale,
          440 - (mean - low) * scale, mean);
  for (int i = 0; i < count; ++i) {
    fprintf(file, "%.1f,%.1f ", 70 + 710 * (i + 0.5) / count,
            450 - (history[i] - low) * scale);
  }
  fprintf(file, "'/>\n</svg>\n");
  int is_written = ferror(file) == 0;
  if (fclose(file) != 0 || !is_written) {
    QMP_error("cannot write %s: %s", options->plot, strerror(errno));
    QMP_abort(1);
  }
}

/* ---- The program -----------------------------------------------------------
 */

static int take_hot(struct words* words, int* is_hot) {
  if (!is_next(words, "--hot")) return 0;
  *is_hot = 1;
  ++words->next;
  return 1;
}

static int take_plot(struct words* words, const char** file) {
  if (!is_next(words, "--plot") || words->next[1] == NULL) return 0;
  *file = words->next[1];
  words->next += 2;
  return 1;
}

static const char usage[] =
    "usage: su3 [--lattice X Y Z T] [--beta B] [--sweeps N] [--warm N]\n"
    "           [--seed N] [--hot] [--plot FILE.svg]\n"
    "  --lattice X Y Z T  sites along each axis (4 4 4 4)\n"
    "  --beta B           from 0.1 to 100; more is more order (5.7)\n"
    "  --sweeps N         sweeps that are measured (20)\n"
    "  --warm N           sweeps before them (10)\n"
    "  --seed N           of the random generators (1)\n"
    "  --hot              begin at random, not ordered\n"
    "  --plot FILE.svg    draw the history\n";

static struct options read_options(char** argv) {
  struct options options = {{4, 4, 4, 4}, 5.7, 20, 10, 1, 0, NULL};
  struct words words = {argv + 1};
  while (*words.next != NULL) {
    if (!take_lattice(&words, options.size) &&
        !take_number(&words, "--beta", 0.1, 100, &options.beta) &&
        !take_count(&words, "--sweeps", 1, MOST_SWEEPS, &options.sweeps) &&
        !take_count(&words, "--warm", 0, MOST_SWEEPS, &options.warm) &&
        !take_seed(&words, &options.seed) &&
        !take_hot(&words, &options.is_hot) &&
        !take_plot(&words, &options.plot)) {
      end_with_usage(&words, usage);
    }
  }
  return options;
}

int main(int argc, char** argv) {
  if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, NULL) !=
      QMP_SUCCESS) {
    return 1;
  }
  struct options options = read_options(argv);
  int is_speaker = QMP_is_primary_node();
  /* Before the run: a job that cannot write should not compute. */
  FILE* picture = open_picture(&options, is_speaker);
  struct field field = make_field(&options);
  if (options.is_hot) disorder(&field);
  int count = options.warm + options.sweeps;
  double* history = malloc((size_t)count * sizeof *history);
  double* value = malloc((size_t)field.lattice.sites * sizeof *value);
  if (history == NULL || value == NULL) stop("malloc");
  if (is_speaker) printf("sweep  plaquette\n");
  for (int i = 0; i < count; ++i) {
    sweep(&field, options.beta, i % REPAIR_SWEEPS == REPAIR_SWEEPS - 1);
    history[i] = plaquette(&field, value);
    if (is_speaker && (i + 1) % 10 == 0) {
      printf("%5d  %.6f\n", i + 1, history[i]);
      fflush(stdout);
    }
  }
  struct estimate found = estimate(history + options.warm, options.sweeps);
  if (is_speaker) {
    printf("beta %g, %d sweeps: mean plaquette %.6f +- %.6f\n", options.beta,
           options.sweeps, found.mean, found.error);
    printf("autocorrelation time %.1f sweeps\n", found.memory);
  }
  int is_right = judge(&options, &found, is_speaker);
  if (is_speaker) {
    printf("checksum of the history %016llx\n",
           (unsigned long long)bits_of(history, count));
    if (picture != NULL) plot(&options, picture, history, count, found.mean);
    if (!is_right) fprintf(stderr, "su3: that is not what it should be\n");
  }
  free(history);
  free(value);
  free_field(&field);
  QMP_finalize_msg_passing();
  return is_right ? 0 : 1;
}
