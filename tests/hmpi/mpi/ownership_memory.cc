// Memory that all processes of a host can read: of OPI_Alloc, MPI_Alloc_mem and
// malloc; and the errors of ownership passing.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>

#include "ownership.h"

using namespace mpi_check;

namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;

/// Errors return while it lives.
class ErrorsReturn {
 public:
  ErrorsReturn() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }

  ~ErrorsReturn() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  }

  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
};

bool is_zero(const void* memory, std::size_t bytes) {
  const char* at = static_cast<const char*>(memory);
  return bytes == 0 || (at[0] == 0 && std::memcmp(at, at + 1, bytes - 1) == 0);
}

// The optimizer may not take pairs of malloc and free away.
void* volatile g_kept;

}  // namespace

MPI_CASE("memory.pool-gives-the-last-one") {
  void* first = allocate(100'000);
  void* const before = first;
  OPI_Free(&first);
  CHECK(first == nullptr);
  void* second = allocate(100'000);
  CHECK(second == before);
  OPI_Free(&second);
  OPI_Free(&second);  // A null pointer is nothing.
}

/// A buffer that realloc has grown is of no size of the pool any more.
MPI_CASE("memory.realloc-of-a-buffer") {
  constexpr std::size_t kPage = 4096;
  for (int round = 0; round < 3; ++round) {
    void* buffer = allocate(24 * kPage);
    buffer = std::realloc(buffer, 25 * kPage);
    CHECK(buffer != nullptr);
    CHECK_EQUAL(OPI_Free(&buffer), MPI_SUCCESS);
    void* next = allocate(26 * kPage);
    CHECK(malloc_usable_size(next) >= 26 * kPage);
    CHECK_EQUAL(OPI_Free(&next), MPI_SUCCESS);
  }
}

MPI_CASE("memory.malloc-gives-large-blocks-from-the-heap") {
  void* small = std::malloc(1000);
  void* large = std::malloc(kLarge);
  CHECK_EQUAL(IS_SM_BUF(small), 0);
  CHECK_EQUAL(IS_SM_BUF(large), 1);
  CHECK(malloc_usable_size(large) >= kLarge);
  fill(large, kLarge, 5);
  small = std::realloc(small, 3 * kLarge);  // It moves into the heap.
  CHECK_EQUAL(IS_SM_BUF(small), 1);
  CHECK(is_filled(large, kLarge, 5));
  large = std::realloc(large, 5 * kLarge);
  CHECK(is_filled(large, kLarge, 5));
  large = std::realloc(large, 1000);  // It leaves the heap.
  CHECK_EQUAL(IS_SM_BUF(large), 0);
  CHECK(is_filled(large, 1000, 5));
  std::free(large);
  std::free(small);
}

MPI_CASE("memory.calloc-is-zero") {
  for (const std::size_t size : {kLarge, 40 * kLarge}) {
    void* dirty = std::malloc(size);
    std::memset(dirty, 0xFF, size);
    g_kept = dirty;
    std::free(dirty);
    void* clean = std::calloc(size / 8, 8);
    CHECK(is_zero(clean, size));
    std::free(clean);
  }
}

MPI_CASE("memory.alignments") {
  for (std::size_t alignment = 8; alignment <= kLarge; alignment *= 2) {
    void* block = nullptr;
    CHECK_EQUAL(posix_memalign(&block, alignment, 100'000), 0);
    CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
    fill(block, 100'000, 1);
    std::free(block);
    block = std::aligned_alloc(alignment, kLarge);
    CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
    std::free(block);
  }
  void* block = nullptr;
  CHECK_EQUAL(posix_memalign(&block, 24, kLarge), EINVAL);
}

MPI_CASE("memory.alloc-mem") {
  void* block = nullptr;
  MPI_Alloc_mem(static_cast<MPI_Aint>(kLarge), MPI_INFO_NULL, &block);
  CHECK_EQUAL(IS_SM_BUF(block), 1);
  fill(block, kLarge, world_rank);
  const Peers peers = peers_of(1);
  void* target = nullptr;
  MPI_Alloc_mem(static_cast<MPI_Aint>(kLarge), MPI_INFO_NULL, &target);
  MPI_Sendrecv(block, static_cast<int>(kLarge), MPI_BYTE, peers.to, 1, target,
               static_cast<int>(kLarge), MPI_BYTE, peers.from, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(is_filled(target, kLarge, peers.from));
  CHECK_EQUAL(MPI_Free_mem(block), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Free_mem(target), MPI_SUCCESS);
}

// Windows work in such memory as in any other.
MPI_CASE("memory.windows") {
  // Open MPI 4.1.4 alone refuses a window of one rank.
  if (kIsOpenMpi && world_size == 1) return;
  void* block = nullptr;
  MPI_Alloc_mem(100'000, MPI_INFO_NULL, &block);
  std::memset(block, 0, 100'000);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(block, 100'000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  const Peers peers = peers_of(1);
  MPI_Win_fence(0, window);
  MPI_Put(&world_rank, 1, MPI_INT, peers.to, 4, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  int got = -1;
  std::memcpy(&got, static_cast<char*>(block) + 4, sizeof got);
  CHECK_EQUAL(got, peers.from);
  MPI_Win_free(&window);
  MPI_Free_mem(block);
}

// Large messages from and to the heap, in all directions at once: both ends
// copy.
MPI_CASE("memory.both-copy") {
  constexpr int kBytes = 3'000'001;
  std::vector<std::vector<char>> out;
  std::vector<std::vector<char>> in;
  std::vector<MPI_Request> requests;
  for (int step = 0; step < world_size; ++step) {
    const Peers peers = peers_of(step);
    out.emplace_back(kBytes);
    in.emplace_back(kBytes);
    CHECK_EQUAL(IS_SM_BUF(out.back().data()), 1);
    fill(out.back().data(), kBytes, world_rank * 16 + peers.to);
    for (const bool sends : {false, true}) {
      requests.push_back(MPI_REQUEST_NULL);
      if (sends) {
        MPI_Isend(out.back().data(), kBytes, MPI_BYTE, peers.to, step,
                  MPI_COMM_WORLD, &requests.back());
      } else {
        MPI_Irecv(in.back().data(), kBytes, MPI_BYTE, peers.from, step,
                  MPI_COMM_WORLD, &requests.back());
      }
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(),
              MPI_STATUSES_IGNORE);
  for (int step = 0; step < world_size; ++step) {
    CHECK(is_filled(in[static_cast<std::size_t>(step)].data(), kBytes,
                    peers_of(step).from * 16 + world_rank));
  }
}

// A child has a copy. What it writes, frees and allocates its parent never
// sees.
MPI_CASE("memory.fork") {
  void* block = std::malloc(kLarge);
  fill(block, kLarge, 9);
  const pid_t child = fork();
  if (child == 0) {
    bool is_right = is_filled(block, kLarge, 9);
    std::memset(block, 0, kLarge);
    block = std::realloc(block, 2 * kLarge);
    void* other = std::malloc(kLarge);
    is_right = is_right && is_zero(block, kLarge) && IS_SM_BUF(other) == 0;
    std::free(other);
    std::free(block);
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
  CHECK(is_filled(block, kLarge, 9));
  std::free(block);
  CHECK_EQUAL(std::system("exit 7") >> 8, 7);
}

MPI_CASE("errors.are-told") {
  const ErrorsReturn errors_return;
  void* buffer = allocate(8192);
  void* const alias = buffer;
  OPI_Free(&buffer);
  buffer = alias;
  CHECK_EQUAL(error_class(OPI_Free(&buffer)), MPI_ERR_BUFFER);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_EQUAL(error_class(OPI_Give(&buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
                                   &request)),
              MPI_ERR_BUFFER);
  buffer = static_cast<char*>(alias) + 8;
  CHECK_EQUAL(error_class(OPI_Free(&buffer)), MPI_ERR_BUFFER);
  buffer = nullptr;
  CHECK_EQUAL(error_class(OPI_Give(&buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
                                   &request)),
              MPI_ERR_BUFFER);
  CHECK_EQUAL(error_class(OPI_Take(static_cast<void**>(nullptr), 1, MPI_INT, 0,
                                   0, MPI_COMM_WORLD, &request)),
              MPI_ERR_BUFFER);
  CHECK_EQUAL(error_class(OPI_Alloc(&buffer, SIZE_MAX / 2)), MPI_ERR_NO_MEM);
  CHECK(buffer == nullptr);
  int on_stack = 0;
  buffer = &on_stack;
  CHECK_EQUAL(error_class(OPI_Free(&buffer)), MPI_ERR_BUFFER);
}

// A buffer that was given is not the giver's until it comes back.
MPI_CASE("errors.use-after-give") {
  const ErrorsReturn errors_return;
  void* buffer = allocate(8192);
  void* alias = buffer;
  MPI_Request request;
  OPI_Give(&buffer, 8192, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
  CHECK_EQUAL(error_class(OPI_Free(&alias)), MPI_ERR_BUFFER);
  MPI_Request other = MPI_REQUEST_NULL;
  CHECK_EQUAL(
      error_class(OPI_Give(&alias, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &other)),
      MPI_ERR_BUFFER);
  void* taken = nullptr;
  OPI_Take(&taken, 8192, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(taken == alias);
  std::memset(taken, 1, 8192);
  CHECK_EQUAL(OPI_Free(&taken), MPI_SUCCESS);
}

/// Peers know the parent alone, so a message of the child would never arrive.
MPI_CASE("errors.child-calls-mpi") {
  const pid_t child = ::fork();
  if (child == 0) {
    int number = 0;
    MPI_Sendrecv_replace(&number, 1, MPI_INT, 0, 1, 0, 1, MPI_COMM_SELF,
                         MPI_STATUS_IGNORE);
    ::_exit(0);
  }
  int status = 0;
  CHECK_EQUAL(::waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  CHECK_EQUAL(WEXITSTATUS(status), 1);
}

/// The giver's pointer is stale, also when the taker has the buffer already.
MPI_CASE("errors.use-of-a-taken-buffer") {
  const char* debug = std::getenv("HMPI_DEBUG");
  const mpi_check::Peers peers = mpi_check::peers_of(1);
  if (mpi_check::world_size == 1 || debug == nullptr ||
      std::string_view(debug) != "on") {
    return;
  }
  const ErrorsReturn errors_return;
  void* buffer = allocate(100);
  void* alias = buffer;
  void* taken = nullptr;
  MPI_Request request;
  OPI_Give(&buffer, 100, MPI_BYTE, peers.to, 0, MPI_COMM_WORLD, &request);
  OPI_Take(&taken, 100, MPI_BYTE, peers.from, 0, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(error_class(OPI_Free(&alias)), MPI_ERR_BUFFER);
  CHECK_EQUAL(error_class(OPI_Give(&alias, 1, MPI_BYTE, peers.to, 0,
                                   MPI_COMM_WORLD, &request)),
              MPI_ERR_BUFFER);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(OPI_Free(&taken), MPI_SUCCESS);
}

MPI_CASE("errors.more-than-the-buffer") {
  const ErrorsReturn errors_return;
  const int self = mpi_check::world_rank;
  void* buffer = allocate(64);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_EQUAL(error_class(OPI_Give(&buffer, 2000, MPI_DOUBLE, self, 0,
                                   MPI_COMM_WORLD, &request)),
              MPI_ERR_BUFFER);
  CHECK_EQUAL(
      error_class(OPI_Give(&buffer, 8, MPI_DOUBLE, self, 0, MPI_COMM_WORLD,
                           static_cast<MPI_Request*>(nullptr))),
      MPI_ERR_REQUEST);
  CHECK(buffer != nullptr);
  CHECK_EQUAL(OPI_Free(&buffer), MPI_SUCCESS);
}

MPI_THREADS_CASE("threads.allocate-and-free") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([number, &wrong] {
      std::minstd_rand random(static_cast<unsigned>(number) + 1);
      for (int i = 0; i < 5000; ++i) {
        const std::size_t size = 1 + random() % 200'000;
        void* buffer = nullptr;
        if (random() % 2 == 0) {
          OPI_Alloc(&buffer, size);
        } else {
          buffer = std::malloc(size);
        }
        std::memset(buffer, number, 64 < size ? 64 : size);
        std::memset(static_cast<char*>(buffer) + size - 1, number, 1);
        wrong += static_cast<char*>(buffer)[0] != number ? 1 : 0;
        if (IS_SM_BUF(buffer) != 0) {
          OPI_Free(&buffer);
        } else {
          std::free(buffer);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK_EQUAL(wrong.load(), 0);
}
