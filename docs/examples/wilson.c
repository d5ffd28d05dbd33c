/* wilson: a quark in the field of gluons. Solves M x = b by conjugate
 * gradients, M the Wilson Dirac operator on a lattice of four dimensions.
 *
 * Shows: communication behind computation. Applying M needs one spinor from
 * each of the eight neighbours of a site. Spinors that come from other nodes
 * are declared once as one multiple of eight sends and eight receives. It is
 * started, and waited for only when all sites inside of the node's part are
 * done.
 *
 *   acprun -np 4 wilson [--lattice X Y Z T] [--kappa K] [--seed N] [--most N]
 *
 * Each site's arithmetic is the same wherever its neighbours are, and sums go
 * over a tree of sites. So the history of residuals is equal to the last bit on
 * any number of nodes. The program checks that gamma5 M gamma5 is the adjoint
 * of M, and in the end the solution itself. */
#include "lattice.h"

#define SPINS 4
#define HALF 2
#define WANTED 1e-9 /* |M+ (b - M x)| / |M+ b| at the end */

/* A spinor of four spins and three colours, and what is left of it behind a
 * projection 1 +- gamma. */
struct spinor {
  struct complex at[SPINS][3];
};

struct half_spinor {
  struct complex at[HALF][3];
};

struct options {
  int size[AXES];
  double kappa;
  int most;
  uint64_t seed;
};

/* One hypersurface of half spinors for each axis and sign. `out[mu][0]` goes to
 * the neighbour at -mu, `out[mu][1]` to the one at +mu. Sites whose neighbour
 * at -mu is on another node need `in[mu][0]`. */
struct faces {
  struct half_spinor* out[AXES][2];
  struct half_spinor* in[AXES][2];
  QMP_mem_t* memory[AXES][4];
  QMP_msghandle_t all;
};

struct dirac {
  struct lattice lattice;
  double kappa;
  struct matrix* links[AXES];
  int* neighbour[AXES][2]; /* local site, or -1 - place in the face */
  int* inner;              /* sites without a neighbour in a face   */
  int* outer;              /* sites with a neighbour in a face      */
  int inner_count, outer_count;
  struct faces faces;
  double* value; /* one for each site, to add up */
};

/* ---- Gamma matrices --------------------------------------------------------
 */

/* (1 + s gamma_mu) psi has upper spins h0 = psi0 + s f0 psi[p0] and h1 = psi1 +
 * s f1 psi[p1]; its lower spins are s conj(f) h. f is a power of i. */
static const struct {
  int partner[HALF];
  int power[HALF];
} gammas[AXES] = {
    {{3, 2}, {1, 1}}, {{3, 2}, {2, 0}}, {{2, 3}, {1, 3}}, {{2, 3}, {0, 0}}};

static struct complex times_power_of_i(struct complex a, int power) {
  switch (power % 4) {
    case 1: return (struct complex){-a.im, a.re};
    case 2: return (struct complex){-a.re, -a.im};
    case 3: return (struct complex){a.im, -a.re};
    default: return a;
  }
}

static struct half_spinor project(const struct spinor* psi, int mu, int sign) {
  struct half_spinor half;
  for (int spin = 0; spin < HALF; ++spin) {
    int power = gammas[mu].power[spin] + (sign > 0 ? 0 : 2);
    const struct complex* other = psi->at[gammas[mu].partner[spin]];
    for (int colour = 0; colour < 3; ++colour) {
      half.at[spin][colour] =
          plus(psi->at[spin][colour], times_power_of_i(other[colour], power));
    }
  }
  return half;
}

/* sum += the whole spinor behind a half one. */
static void add_whole(struct spinor* sum,
                      const struct half_spinor* half,
                      int mu,
                      int sign) {
  for (int spin = 0; spin < HALF; ++spin) {
    int power = 4 - gammas[mu].power[spin] + (sign > 0 ? 0 : 2);
    struct complex* other = sum->at[gammas[mu].partner[spin]];
    for (int colour = 0; colour < 3; ++colour) {
      struct complex upper = half->at[spin][colour];
      sum->at[spin][colour] = plus(sum->at[spin][colour], upper);
      other[colour] = plus(other[colour], times_power_of_i(upper, power));
    }
  }
}

static struct half_spinor link_times(const struct matrix* link,
                                     const struct half_spinor* half) {
  struct half_spinor result;
  for (int spin = 0; spin < HALF; ++spin) {
    for (int i = 0; i < 3; ++i) {
      struct complex sum = times(link->at[i][0], half->at[spin][0]);
      sum = plus(sum, times(link->at[i][1], half->at[spin][1]));
      result.at[spin][i] = plus(sum, times(link->at[i][2], half->at[spin][2]));
    }
  }
  return result;
}

static struct half_spinor adjoint_times(const struct matrix* link,
                                        const struct half_spinor* half) {
  struct half_spinor result;
  for (int spin = 0; spin < HALF; ++spin) {
    for (int i = 0; i < 3; ++i) {
      struct complex sum = conj_times(link->at[0][i], half->at[spin][0]);
      sum = plus(sum, conj_times(link->at[1][i], half->at[spin][1]));
      result.at[spin][i] =
          plus(sum, conj_times(link->at[2][i], half->at[spin][2]));
    }
  }
  return result;
}

/* ---- The operator ----------------------------------------------------------
 */

/* The number of a site in the hypersurface it lies on. */
static int place_in_face(const struct lattice* lattice,
                         const int at[AXES],
                         int mu) {
  int box[AXES], place[AXES];
  for (int axis = 0; axis < AXES; ++axis) {
    box[axis] = axis == mu ? 1 : lattice->local[axis];
    place[axis] = axis == mu ? 0 : at[axis];
  }
  return number_in(box, place);
}

/* Fills the outgoing faces: from the first slice (1 - gamma) psi to -mu, from
 * the last one (1 + gamma) U+ psi to +mu. */
static void fill_faces(struct dirac* dirac, const struct spinor* psi) {
  const struct lattice* lattice = &dirac->lattice;
  for (int i = 0; i < dirac->outer_count; ++i) {
    int site = dirac->outer[i];
    int at[AXES];
    place_in(lattice->local, site, at);
    for (int mu = 0; mu < AXES; ++mu) {
      int place = place_in_face(lattice, at, mu);
      if (at[mu] == 0) {
        dirac->faces.out[mu][0][place] = project(&psi[site], mu, -1);
      }
      if (at[mu] == lattice->local[mu] - 1) {
        struct half_spinor half = project(&psi[site], mu, +1);
        dirac->faces.out[mu][1][place] =
            adjoint_times(&dirac->links[mu][site], &half);
      }
    }
  }
}

/* result = M psi at one site. */
static void apply_at(const struct dirac* dirac,
                     struct spinor* result,
                     const struct spinor* psi,
                     int site) {
  struct spinor sum = {0};
  for (int mu = 0; mu < AXES; ++mu) {
    struct half_spinor half;
    int ahead = dirac->neighbour[mu][1][site];
    half = ahead >= 0 ? project(&psi[ahead], mu, -1)
                      : dirac->faces.in[mu][1][-1 - ahead];
    half = link_times(&dirac->links[mu][site], &half);
    add_whole(&sum, &half, mu, -1);
    int behind = dirac->neighbour[mu][0][site];
    if (behind >= 0) {
      half = project(&psi[behind], mu, +1);
      half = adjoint_times(&dirac->links[mu][behind], &half);
    } else {
      half = dirac->faces.in[mu][0][-1 - behind];
    }
    add_whole(&sum, &half, mu, +1);
  }
  for (int spin = 0; spin < SPINS; ++spin) {
    for (int colour = 0; colour < 3; ++colour) {
      struct complex own = psi[site].at[spin][colour];
      struct complex hops = sum.at[spin][colour];
      result[site].at[spin][colour] = (struct complex){
          own.re - dirac->kappa * hops.re, own.im - dirac->kappa * hops.im};
    }
  }
}

/* result = M psi. The faces travel while the inner sites are computed. */
static void apply(struct dirac* dirac,
                  struct spinor* result,
                  const struct spinor* psi) {
  fill_faces(dirac, psi);
  check(QMP_start(dirac->faces.all), "QMP_start");
  for (int i = 0; i < dirac->inner_count; ++i) {
    apply_at(dirac, result, psi, dirac->inner[i]);
  }
  check(QMP_wait(dirac->faces.all), "QMP_wait");
  for (int i = 0; i < dirac->outer_count; ++i) {
    apply_at(dirac, result, psi, dirac->outer[i]);
  }
}

/* gamma5 changes the sign of the lower spins. */
static void gamma5(struct spinor* psi, int sites) {
  for (int site = 0; site < sites; ++site) {
    for (int spin = HALF; spin < SPINS; ++spin) {
      for (int colour = 0; colour < 3; ++colour) {
        psi[site].at[spin][colour].re *= -1;
        psi[site].at[spin][colour].im *= -1;
      }
    }
  }
}

/* result = M+ psi = gamma5 M gamma5 psi; psi is as before in the end. */
static void apply_adjoint(struct dirac* dirac,
                          struct spinor* result,
                          struct spinor* psi) {
  gamma5(psi, dirac->lattice.sites);
  apply(dirac, result, psi);
  gamma5(psi, dirac->lattice.sites);
  gamma5(result, dirac->lattice.sites);
}

/* ---- Setting up ------------------------------------------------------------
 */

static void* allocate(size_t count, size_t bytes) {
  void* memory = calloc(count, bytes);
  if (memory == NULL) stop("calloc");
  return memory;
}

/* Divides the sites into inner and outer ones, and numbers the neighbours. A
 * neighbour on another node has a negative number: its position in the face. */
static void find_neighbours(struct dirac* dirac) {
  const struct lattice* lattice = &dirac->lattice;
  size_t sites = (size_t)lattice->sites;
  for (int mu = 0; mu < AXES; ++mu) {
    dirac->neighbour[mu][0] = allocate(sites, sizeof(int));
    dirac->neighbour[mu][1] = allocate(sites, sizeof(int));
  }
  dirac->inner = allocate(sites, sizeof(int));
  dirac->outer = allocate(sites, sizeof(int));
  for (int site = 0; site < lattice->sites; ++site) {
    int at[AXES], is_outer = 0;
    place_in(lattice->local, site, at);
    for (int mu = 0; mu < AXES; ++mu) {
      for (int ahead = 0; ahead < 2; ++ahead) {
        int next[AXES];
        memcpy(next, at, sizeof next);
        next[mu] += ahead ? 1 : -1;
        int is_here = next[mu] >= 0 && next[mu] < lattice->local[mu];
        dirac->neighbour[mu][ahead][site] =
            is_here ? number_in(lattice->local, next)
                    : -1 - place_in_face(lattice, at, mu);
        is_outer |= !is_here;
      }
    }
    if (is_outer) {
      dirac->outer[dirac->outer_count++] = site;
    } else {
      dirac->inner[dirac->inner_count++] = site;
    }
  }
}

static struct half_spinor* make_face(QMP_mem_t** memory, size_t sites) {
  *memory = QMP_allocate_memory(sites * sizeof(struct half_spinor));
  if (*memory == NULL) stop("QMP_allocate_memory");
  return QMP_get_memory_pointer(*memory);
}

/* Declares all sends and receives of a step as one multiple. */
static void declare_faces(struct dirac* dirac) {
  struct faces* faces = &dirac->faces;
  QMP_msghandle_t part[4 * AXES];
  int parts = 0;
  for (int mu = 0; mu < AXES; ++mu) {
    size_t sites = (size_t)(dirac->lattice.sites / dirac->lattice.local[mu]);
    size_t bytes = sites * sizeof(struct half_spinor);
    for (int ahead = 0; ahead < 2; ++ahead) {
      faces->out[mu][ahead] = make_face(&faces->memory[mu][ahead], sites);
      faces->in[mu][ahead] = make_face(&faces->memory[mu][2 + ahead], sites);
      QMP_msgmem_t out = QMP_declare_msgmem(faces->out[mu][ahead], bytes);
      QMP_msgmem_t in = QMP_declare_msgmem(faces->in[mu][ahead], bytes);
      int sign = ahead ? +1 : -1;
      part[parts++] = QMP_declare_receive_relative(in, mu, sign, 0);
      part[parts++] = QMP_declare_send_relative(out, mu, sign, 0);
      QMP_free_msgmem(out);
      QMP_free_msgmem(in);
    }
  }
  faces->all = QMP_declare_multiple(part, parts);
  if (faces->all == NULL) stop("declaring the faces");
}

/* Links near 1, and a source: random, from the generator of each site. */
static void fill(struct dirac* dirac, struct spinor* source, uint64_t seed) {
  for (int site = 0; site < dirac->lattice.sites; ++site) {
    int at[AXES];
    place_in(dirac->lattice.local, site, at);
    uint64_t random = seed_of(seed, global_number(&dirac->lattice, at));
    for (int mu = 0; mu < AXES; ++mu) {
      dirac->links[mu][site] = random_matrix(1, 0.3, &random);
    }
    for (int spin = 0; spin < SPINS; ++spin) {
      for (int colour = 0; colour < 3; ++colour) {
        source[site].at[spin][colour].re = gaussian(&random);
        source[site].at[spin][colour].im = gaussian(&random);
      }
    }
  }
}

static void set_up(struct dirac* dirac, const struct options* options) {
  dirac->lattice = divide(options->size);
  dirac->kappa = options->kappa;
  size_t sites = (size_t)dirac->lattice.sites;
  for (int mu = 0; mu < AXES; ++mu) {
    dirac->links[mu] = allocate(sites, sizeof(struct matrix));
  }
  dirac->value = allocate(sites, sizeof(double));
  find_neighbours(dirac);
  declare_faces(dirac);
}

static void take_down(struct dirac* dirac) {
  QMP_free_msghandle(dirac->faces.all);
  for (int mu = 0; mu < AXES; ++mu) {
    for (int i = 0; i < 4; ++i)
      QMP_free_memory(dirac->faces.memory[mu][i]);
    free(dirac->neighbour[mu][0]);
    free(dirac->neighbour[mu][1]);
    free(dirac->links[mu]);
  }
  free(dirac->inner);
  free(dirac->outer);
  free(dirac->value);
}

/* ---- Conjugate gradients ---------------------------------------------------
 */

/* Re <a, b> over all nodes. */
static double dot(struct dirac* dirac,
                  const struct spinor* a,
                  const struct spinor* b) {
  for (int site = 0; site < dirac->lattice.sites; ++site) {
    double sum = 0;
    for (int spin = 0; spin < SPINS; ++spin) {
      for (int colour = 0; colour < 3; ++colour) {
        sum +=
            conj_times(a[site].at[spin][colour], b[site].at[spin][colour]).re;
      }
    }
    dirac->value[site] = sum;
  }
  return sum_over_sites(&dirac->lattice, dirac->value);
}

/* y = scale * y + factor * x */
static void combine(struct spinor* y,
                    double scale,
                    double factor,
                    const struct spinor* x,
                    int sites) {
  for (int site = 0; site < sites; ++site) {
    for (int spin = 0; spin < SPINS; ++spin) {
      for (int colour = 0; colour < 3; ++colour) {
        struct complex* to = &y[site].at[spin][colour];
        const struct complex* from = &x[site].at[spin][colour];
        to->re = scale * to->re + factor * from->re;
        to->im = scale * to->im + factor * from->im;
      }
    }
  }
}

/* Solves M+ M x = M+ b from x = 0. The residual that was reached, relative to
 * the first. */
static double solve(struct dirac* dirac,
                    struct spinor* x,
                    struct spinor* b,
                    int most) {
  size_t sites = (size_t)dirac->lattice.sites;
  int count = dirac->lattice.sites;
  struct spinor* r = allocate(sites, sizeof *r);
  struct spinor* p = allocate(sites, sizeof *p);
  struct spinor* mp = allocate(sites, sizeof *mp);
  struct spinor* ap = allocate(sites, sizeof *ap);
  apply_adjoint(dirac, r, b);
  memcpy(p, r, sites * sizeof *p);
  double first = dot(dirac, r, r);
  double square = first;
  for (int step = 1; step <= most && square > WANTED * WANTED * first; ++step) {
    apply(dirac, mp, p);
    apply_adjoint(dirac, ap, mp);
    double alpha = square / dot(dirac, mp, mp);
    combine(x, 1, alpha, p, count);
    combine(r, 1, -alpha, ap, count);
    double next = dot(dirac, r, r);
    combine(p, next / square, 1, r, count);
    square = next;
    if (QMP_is_primary_node()) {
      printf("%4d  %.6e  %a\n", step, sqrt(square / first), square);
    }
  }
  free(r);
  free(p);
  free(mp);
  free(ap);
  return sqrt(square / first);
}

/* ---- Checks, and the program -----------------------------------------------
 */

/* |<y, M x> - <M+ y, x>|, relative: M+ is the adjoint, in real parts. */
static double adjoint_error(struct dirac* dirac,
                            struct spinor* x,
                            struct spinor* y) {
  struct spinor* image = allocate((size_t)dirac->lattice.sites, sizeof *image);
  apply(dirac, image, x);
  double one = dot(dirac, y, image);
  apply_adjoint(dirac, image, y);
  double other = dot(dirac, image, x);
  free(image);
  return fabs(one - other) / sqrt(dot(dirac, x, x) * dot(dirac, y, y));
}

/* |b - M x| / |b|. */
static double true_residual(struct dirac* dirac,
                            const struct spinor* x,
                            const struct spinor* b) {
  struct spinor* image = allocate((size_t)dirac->lattice.sites, sizeof *image);
  apply(dirac, image, x);
  combine(image, -1, 1, b, dirac->lattice.sites);
  double result = sqrt(dot(dirac, image, image) / dot(dirac, b, b));
  free(image);
  return result;
}

static const char usage[] =
    "usage: wilson [--lattice X Y Z T] [--kappa K] [--seed N] [--most N]\n"
    "  --lattice X Y Z T  sites along each axis (4 4 4 8)\n"
    "  --kappa K          from 0 to 0.25; more is a lighter quark (0.12)\n"
    "  --seed N           of the gluon field and the source (1)\n"
    "  --most N           steps of the solver at most (500)\n";

static struct options read_options(char** argv) {
  struct options options = {{4, 4, 4, 8}, 0.12, 500, 1};
  struct words words = {argv + 1};
  while (*words.next != NULL) {
    if (!take_lattice(&words, options.size) &&
        !take_number(&words, "--kappa", 0, 0.25, &options.kappa) &&
        !take_count(&words, "--most", 1, 100000, &options.most) &&
        !take_seed(&words, &options.seed)) {
      end_with_usage(&words, usage);
    }
  }
  return options;
}

/* Compares M and its adjoint, solves M x = b, and checks the solution. */
int main(int argc, char** argv) {
  if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, NULL) !=
      QMP_SUCCESS) {
    return 1;
  }
  struct options options = read_options(argv);
  struct dirac dirac = {0};
  set_up(&dirac, &options);
  size_t sites = (size_t)dirac.lattice.sites;
  struct spinor* b = allocate(sites, sizeof *b);
  struct spinor* x = allocate(sites, sizeof *x);
  fill(&dirac, b, options.seed);

  struct spinor* y = allocate(sites, sizeof *y);
  apply(&dirac, y, b);
  double asymmetry = adjoint_error(&dirac, b, y);
  free(y);
  int is_speaker = QMP_is_primary_node();
  if (is_speaker) printf("step  residual      its square's bits\n");
  double reached = solve(&dirac, x, b, options.most);
  double left = true_residual(&dirac, x, b);
  int is_right = reached <= WANTED && left < 100 * WANTED && asymmetry < 1e-12;
  if (is_speaker) {
    printf("|b - M x| / |b| = %.1e\n", left);
    if (!is_right) {
      fprintf(stderr,
              "wilson: residual %g after at most %d steps, %g of the solution, "
              "M+ differs from the adjoint of M by %g\n",
              reached, options.most, left, asymmetry);
    }
  }
  free(b);
  free(x);
  take_down(&dirac);
  QMP_finalize_msg_passing();
  return is_right ? 0 : 1;
}
