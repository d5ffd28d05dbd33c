/* fft_give: a Fourier transform of a square field, whose rows are divided among
 * the processes of MPI.
 *
 * Shows: a transpose by ownership passing. Each process transforms its rows,
 * writes the block for each other process into a buffer of OPI_Alloc, and gives
 * it. The receiver reads the block where it is, transposed. MPI_Alltoall would
 * copy each block once more on both sides.
 *
 *   hmpicc -O2 fft_give.c -lm -o fft_give
 *   mpirun -np 4 ./fft_give [SIZE]
 *
 * SIZE is a power of two, and a multiple of the number of processes. The field
 * is a plane wave, whose transform is one point. The program transposes by
 * MPI_Alltoall and by OPI_Give, and compares both with that point. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hmpi.h>

#define DEFAULT_SIZE 256
#define WAVE_X 3
#define WAVE_Y 5

typedef double complex point;

static int rank, procs, size, rows;

/* Transforms n points in place: n is a power of two. */
static void transform(point* line, int n) {
  for (int i = 1, j = 0; i < n; ++i) {
    int bit = n >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j) {
      const point swap = line[i];
      line[i] = line[j];
      line[j] = swap;
    }
  }
  for (int length = 2; length <= n; length *= 2) {
    const double angle = -2 * acos(-1) / length;
    for (int k = 0; k < length / 2; ++k) {
      const point turn = cos(angle * k) + I * sin(angle * k);
      for (int i = k; i < n; i += length) {
        const point odd = line[i + length / 2] * turn;
        line[i + length / 2] = line[i] - odd;
        line[i] += odd;
      }
    }
  }
}

static void transform_rows(point* field) {
  for (int row = 0; row < rows; ++row) {
    transform(field + (size_t)row * (size_t)size, size);
  }
}

/* The columns of process `other` in my rows, row by row. */
static void pack(const point* field, int other, point* block) {
  for (int row = 0; row < rows; ++row) {
    memcpy(block + (size_t)row * (size_t)rows,
           field + (size_t)row * (size_t)size + (size_t)other * (size_t)rows,
           (size_t)rows * sizeof(point));
  }
}

/* Its rows become my columns. */
static void place(const point* block, int other, point* field) {
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < rows; ++column) {
      field[(size_t)row * (size_t)size + (size_t)(other * rows + column)] =
          block[(size_t)column * (size_t)rows + (size_t)row];
    }
  }
}

static void* new_memory(size_t bytes) {
  void* memory = malloc(bytes);
  if (memory == NULL) {
    fprintf(stderr, "fft_give: no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static void transpose_by_alltoall(point* field) {
  const size_t block = (size_t)rows * (size_t)rows;
  const int bytes = (int)(block * sizeof(point));
  point* out = new_memory(block * (size_t)procs * sizeof(point));
  point* in = new_memory(block * (size_t)procs * sizeof(point));
  for (int other = 0; other < procs; ++other) {
    pack(field, other, out + (size_t)other * block);
  }
  MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  for (int other = 0; other < procs; ++other) {
    place(in + (size_t)other * block, other, field);
  }
  free(in);
  free(out);
}

static void transpose_by_giving(point* field) {
  const int bytes = (int)((size_t)rows * (size_t)rows * sizeof(point));
  void** taken = new_memory((size_t)procs * sizeof(void*));
  MPI_Request* requests = new_memory(2 * (size_t)procs * sizeof(MPI_Request));
  for (int i = 0; i < procs; ++i) {
    const int other = (rank + i) % procs;
    void* block = NULL;
    OPI_Alloc(&block, (size_t)bytes);
    pack(field, other, block);
    OPI_Take(&taken[other], bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
             &requests[i]);
    OPI_Give(&block, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
             &requests[procs + i]);
  }
  MPI_Waitall(2 * procs, requests, MPI_STATUSES_IGNORE);
  for (int other = 0; other < procs; ++other) {
    place(taken[other], other, field);
    OPI_Free(&taken[other]);
  }
  free(requests);
  free(taken);
}

/* Returns the largest distance from the exact transform. */
static double run(point* field, void (*transpose)(point*)) {
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < size; ++column) {
      const int turn = (WAVE_Y * (rank * rows + row) + WAVE_X * column) % size;
      const double phase = 2 * acos(-1) * turn / size;
      field[(size_t)row * (size_t)size + (size_t)column] =
          cos(phase) + I * sin(phase);
    }
  }
  transform_rows(field);
  transpose(field);
  transform_rows(field);
  double most = 0;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < size; ++column) {
      const int is_peak = rank * rows + row == WAVE_X && column == WAVE_Y;
      const double exact = is_peak ? (double)size * size : 0;
      const double distance =
          cabs(field[(size_t)row * (size_t)size + (size_t)column] - exact);
      most = distance > most ? distance : most;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &procs);
  size = argc > 1 ? atoi(argv[1]) : DEFAULT_SIZE;
  if (size < 8 || (size & (size - 1)) != 0 || size % procs != 0) {
    if (rank == 0) {
      fprintf(
          stderr,
          "usage: fft_give [SIZE], a power of two from 8 on, and a multiple "
          "of the %d processes\n",
          procs);
    }
    MPI_Finalize();
    return 2;
  }
  rows = size / procs;
  const size_t points = (size_t)rows * (size_t)size;
  point* first = new_memory(points * sizeof(point));
  point* second = new_memory(points * sizeof(point));
  const double start = MPI_Wtime();
  const double error_1 = run(first, transpose_by_alltoall);
  const double between = MPI_Wtime();
  const double error_2 = run(second, transpose_by_giving);
  const double end = MPI_Wtime();
  int differ = memcmp(first, second, points * sizeof(point)) != 0;
  MPI_Allreduce(MPI_IN_PLACE, &differ, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d x %d points: MPI_Alltoall %.3f s, giving %.3f s\n", size, size,
           between - start, end - between);
    printf("largest errors %.2g and %.2g; %s\n", error_1, error_2,
           differ ? "the transforms differ" : "both transforms are equal");
  }
  free(second);
  free(first);
  MPI_Finalize();
  const double allowed = 1e-9 * size * size;
  return differ || error_1 > allowed || error_2 > allowed;
}
