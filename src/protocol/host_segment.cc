// Makes and maps the host segment, and computes its offsets; host_segment.h has
// the layout. The launcher or a singleton makes it, every rank maps it. Later
// accesses to its fields belong to the parts that the fields name, not to this
// file.
#include "protocol/host_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "base/file_size_signal.h"
#include "base/host_facts.h"
#include "base/log.h"
#include "base/secret_memory.h"
#include "protocol/unlike_builds.h"
#include "settings/networks.h"

namespace acp::protocol {

namespace {

constexpr std::uint64_t kPage = 4096;

/// The address that processes map the segment at. It is far from where a kernel
/// puts programs, heaps, libraries and stacks, so it is free in nearly all
/// processes. Memory below the addresses of ThreadSanitizer's shadow is not for
/// mappings.
#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kAddress = 0x7e90'0000'0000;
#else
constexpr std::uint64_t kAddress = 0x2000'0000'0000;
#endif

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

constexpr std::uint64_t words_of_bits(std::uint32_t bits) {
  return (std::uint64_t{bits} + 63) / 64;
}

/// Fills the sizes and offsets of the header. Every part begins on a page of
/// its own, so that a core dump can leave out parts by whole pages.
void lay_out(HostHeader& header, const HostPlan& plan) {
  header.magic = kHostMagic;
  header.version = kHostVersion;
  header.procs = plan.procs;
  header.local_procs = static_cast<std::uint32_t>(plan.local_procs.size());
  header.cores = allowed_cores();
  header.cpus = allowed_cpus();
  header.key_entries = key_entries_for(plan.procs);
  header.starter_bytes =
      round_up(std::max<std::uint64_t>(plan.sizes.starter_bytes, kCacheLine),
               kCacheLine);
  header.module_bytes = round_up(plan.sizes.module_bytes, kPage);
  header.card_bytes = round_up(plan.sizes.card_bytes, 8);
  header.card_table = plan.sizes.card_table;
  header.job_id = plan.identity.id;
  std::ranges::copy(plan.route_to, header.route_to.begin());
  header.set_why_no_route(plan.why_no_route);

  std::uint64_t offset = round_up(sizeof(HostHeader), kPage);
  const auto take = [&offset](std::uint64_t bytes) {
    const std::uint64_t at = offset;
    offset = round_up(offset + bytes, kPage);
    return at;
  };
  const std::uint64_t table = std::uint64_t{plan.procs} * sizeof(std::uint32_t);
  header.proc_of_rank_offset = take(table);
  header.slot_of_rank_offset = take(table);
  header.slot_of_proc_offset = take(table);
  header.core_of_slot_offset =
      take(std::uint64_t{header.local_procs} * sizeof(std::uint32_t));
  header.records_offset =
      take(std::uint64_t{header.local_procs} * sizeof(ProcRecord));
  header.published_offset =
      take(std::uint64_t{plan.procs} * sizeof(PublishedRecord));
  header.fabric_bits_offset =
      take(words_of_bits(plan.procs) * sizeof(std::uint64_t));
  header.secret_offset = take(sizeof(JobSecret));
  header.cards_offset =
      take(header.card_bytes * (header.card_table == CardTable::kOfJob
                                    ? std::uint64_t{plan.procs}
                                    : 2 * std::uint64_t{header.local_procs}));
  header.slices_offset = offset;

  offset = kSliceHeaderBytes;
  header.keys_offset =
      take(std::uint64_t{header.key_entries} * sizeof(KeyEntry));
  header.ring_offset = take(kRingEntries * kRingEntryBytes);
  header.module_offset = take(kRuntimeAreaBytes + header.module_bytes);
  header.starter_offset = take(header.starter_bytes);
  header.counter_bytes =
      plan.sizes.has_counters != 0 ? counter_bytes_for(plan.procs) : 0;
  header.counters_offset = take(header.counter_bytes);
  header.slice_stride = offset;
  header.total_bytes =
      header.slices_offset + header.slice_stride * header.local_procs;
  header.address = kAddress;
}

/// Writes the secret, the tables of ranks and the fixed fields of the records.
/// No rank runs yet, so relaxed stores are enough.
void fill_tables(const HostSegment& segment, const HostPlan& plan) {
  const HostHeader& header = segment.header();
  if (plan.identity.secret != nullptr) {
    copy_secret(segment.secret().data(), plan.identity.secret->data(),
                sizeof(JobSecret));
  }
  auto* slot_of_proc = reinterpret_cast<std::uint32_t*>(
      segment.base() + header.slot_of_proc_offset);
  std::fill_n(slot_of_proc, plan.procs, kNoSlot);
  for (std::uint32_t slot = 0; slot < header.local_procs; ++slot) {
    ProcRecord& record = segment.record(slot);
    record.proc = plan.local_procs[slot];
    record.rank.store(record.proc, std::memory_order_relaxed);
    record.wait_peer.store(kNoSlot, std::memory_order_relaxed);
    slot_of_proc[record.proc] = slot;
  }
  for (std::uint32_t proc = 0; proc < plan.procs; ++proc) {
    segment.proc_of_rank()[proc].store(proc, std::memory_order_relaxed);
    segment.slot_of_rank()[proc].store(slot_of_proc[proc],
                                       std::memory_order_relaxed);
  }
}

/// Whether the local processes are ascending numbers of the job.
bool is_in_order(const HostPlan& plan) {
  const std::vector<std::uint32_t>& local = plan.local_procs;
  return !local.empty() && local.back() < plan.procs &&
         std::ranges::adjacent_find(local, std::ranges::greater_equal()) ==
             local.end();
}

/// Puts these pages into core dumps. A failure is harmless: a core dump then
/// has less in it.
void keep_in_core_dump(std::byte* start, std::uint64_t bytes) noexcept {
  (void)::madvise(start, round_up(bytes, kPage), MADV_DODUMP);
}

/// Takes the whole mapping out of core dumps, and then puts the header, the
/// tables and the key tables of the first slices back in. The secret, which
/// lies between tables and slices, stays out. Its page stays out of swap space
/// as well, where the limit of locked memory allows that.
void limit_core_dump(const HostSegment& segment) noexcept {
  const HostHeader& header = segment.header();
  (void)::madvise(segment.base(), header.total_bytes, MADV_DONTDUMP);
  (void)::mlock(segment.base() + header.secret_offset, sizeof(JobSecret));
  keep_in_core_dump(segment.base(), header.secret_offset);
  const std::uint32_t slices = std::min(header.local_procs, kSlicesInCoreDump);
  for (std::uint32_t slot = 0; slot < slices; ++slot) {
    keep_in_core_dump(segment.slice(slot), header.ring_offset);
  }
}

/// Maps the segment at its address, or anywhere if that is not free. The flag
/// never replaces another mapping. A kernel without it, before 4.17, takes the
/// address as a wish. MAP_FAILED when there is no room at all, with errno.
void* map_memory(int fd, const HostHeader& header) noexcept {
  const auto map_at = [&](void* address, int flags) {
    return ::mmap(address, header.total_bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE | flags, fd, 0);
  };
  void* base =
      map_at(reinterpret_cast<void*>(header.address), MAP_FIXED_NOREPLACE);
  return base != MAP_FAILED ? base : map_at(nullptr, 0);
}

std::uint64_t card_bytes_for(CardLength length) {
  switch (length) {
    case CardLength::kShort: return kShortCardBytes;
    case CardLength::kPair: return kPairCardBytes;
    case CardLength::kUsual: return kCardBytes;
    case CardLength::kLong: break;
  }
  return kLongCardBytes;
}

}  // namespace

PublishedRecord::Values PublishedRecord::get() const noexcept {
  return {modules.load(std::memory_order_relaxed),
          proposal.load(std::memory_order_relaxed),
          leader.load(std::memory_order_relaxed)};
}

void PublishedRecord::set(const Values& values) noexcept {
  modules.store(values.modules, std::memory_order_relaxed);
  proposal.store(values.proposal, std::memory_order_relaxed);
  leader.store(values.leader, std::memory_order_relaxed);
}

std::span<const std::byte> used_part(std::span<const std::byte> card) noexcept {
  while (!card.empty() && card.back() == std::byte{0}) {
    card = card.first(card.size() - 1);
  }
  return card;
}

void HostPlan::put_all_here(std::uint32_t count) {
  procs = count;
  local_procs.resize(count);
  std::iota(local_procs.begin(), local_procs.end(), 0U);
}

std::uint32_t key_entries_for(std::uint32_t procs) {
  const int spare = std::max(0, 20 - static_cast<int>(std::bit_width(procs)));
  return 256U << std::min(4, spare / 3);
}

HostSizes host_sizes_for(const Settings& settings) {
  return {.starter_bytes = settings.number(SettingId::kStarterMemory),
          .module_bytes =
              round_up(settings.number(SettingId::kHeapSize), kPage) +
              kMiddleBytes +
              round_up(settings.number(SettingId::kModuleMemory), kPage),
          .card_bytes = card_bytes_for(card_length(settings)),
          .has_counters = settings.number(SettingId::kCounters)};
}

/// A long address card has bytes in its first page only.
CardTable card_table_for(const Settings& settings, std::uint32_t procs) {
  const std::uint64_t memory =
      std::min<std::uint64_t>(card_bytes_for(card_length(settings)), kPage);
  const std::string& addresses = settings.text(SettingId::kAddresses);
  const bool are_fetched =
      addresses == "fetch" ||
      (addresses == "auto" && procs * memory > kMostCardMemory);
  return are_fetched ? CardTable::kOfHost : CardTable::kOfJob;
}

Result<JobIdentity> make_job_identity() {
  JobIdentity identity;
  const auto secret = make_shared_secret<JobSecret>();
  if (::getrandom(identity.id.data(), identity.id.size(), 0) !=
          static_cast<ssize_t>(identity.id.size()) ||
      ::getrandom(secret->data(), secret->size(), 0) !=
          static_cast<ssize_t>(secret->size())) {
    log_error("getrandom: {}", errno_text(errno));
    return Status::kSystem;
  }
  identity.secret = secret;
  return identity;
}

namespace {

/// Gives the file its size. A file in memory counts as a file to the limit of
/// file sizes.
Status set_size(int fd, const HostHeader& header) {
  const NoFileSizeSignal no_signal;
  if (::ftruncate(fd, static_cast<off_t>(header.total_bytes)) == 0) {
    return Status::kOk;
  }
  if (errno == EFBIG) {
    rlimit limit{};
    (void)::getrlimit(RLIMIT_FSIZE, &limit);
    log_error(
        "shared memory of {} bytes for {} ranks is a file in memory, and a "
        "file may have {} bytes here: allow larger files (ulimit -f "
        "unlimited), or set ACP_HEAP_SIZE and ACP_MODULE_MEMORY lower",
        header.total_bytes, header.local_procs, limit.rlim_cur);
    return Status::kNoMemory;
  }
  log_error(
      "shared memory of {} bytes for {} ranks: {}; set ACP_HEAP_SIZE and "
      "ACP_MODULE_MEMORY lower",
      header.total_bytes, header.local_procs, errno_text(errno));
  return Status::kNoMemory;
}

}  // namespace

/// The header is written before the first mapping, because map() checks it. The
/// seals come last: from then on no process can change the size.
Result<UniqueFd> create_host_segment(const HostPlan& plan) {
  ACP_ASSERT(is_in_order(plan) && plan.route_to.size() < kRouteBytes);
  UniqueFd fd(::memfd_create("acp", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) {
    log_error("memfd_create: {}", errno_text(errno));
    return Status::kSystem;
  }
  HostHeader header{};
  lay_out(header, plan);
  const Status sized = set_size(fd.get(), header);
  if (sized != Status::kOk) {
    return sized;
  }
  if (::pwrite(fd.get(), &header, sizeof header, 0) !=
      static_cast<ssize_t>(sizeof header)) {
    log_error("writing shared memory: {}", errno_text(errno));
    return Status::kNoMemory;
  }
  Result<HostSegment> segment = HostSegment::map(fd.get());
  if (!segment.ok()) {
    return segment.status();
  }
  fill_tables(*segment, plan);
  if (::fcntl(fd.get(), F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    log_error("sealing shared memory: {}", errno_text(errno));
    return Status::kSystem;
  }
  return fd;
}

struct HostSegment::Mapping {
  Mapping(void* base_in, std::size_t bytes_in, UniqueFd file_in)
      : base(base_in), bytes(bytes_in), file(std::move(file_in)) {}

  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  ~Mapping() { ::munmap(base, bytes); }

  void* base;
  std::size_t bytes;
  UniqueFd file;
};

/// The header is read from the file and checked before anything is mapped,
/// since it says how many bytes to map.
Result<HostSegment> HostSegment::map(int fd) {
  HostHeader header{};

  struct stat info {};

  if (::fstat(fd, &info) != 0 || ::pread(fd, &header, sizeof header, 0) !=
                                     static_cast<ssize_t>(sizeof header)) {
    log_error("host segment: {}", errno_text(errno));
    return Status::kSystem;
  }
  if (header.magic != kHostMagic || header.version != kHostVersion ||
      header.total_bytes != static_cast<std::uint64_t>(info.st_size)) {
    log_error(
        "host segment: magic {:x} version {} size {}, expected version {}: {}; "
        "launcher and library are of different builds",
        header.magic, header.version, info.st_size, kHostVersion,
        describe_unlike_builds());
    return Status::kProtocol;
  }
  void* base = map_memory(fd, header);
  if (base == MAP_FAILED) {
    log_error(
        "mapping {} bytes of shared memory for {} ranks: {}; allow a process "
        "more address space (ulimit -v unlimited), or set ACP_HEAP_SIZE and "
        "ACP_MODULE_MEMORY lower",
        header.total_bytes, header.local_procs, errno_text(errno));
    return Status::kNoMemory;
  }
  HostSegment segment;
  segment.base_ = static_cast<std::byte*>(base);
  segment.mapping_ = std::make_shared<const Mapping>(
      base, header.total_bytes, UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)));
  limit_core_dump(segment);
  return segment;
}

bool HostSegment::make_private() const noexcept {
  const Mapping& mapping = *mapping_;
  if (::mmap(mapping.base, mapping.bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, mapping.file.get(),
             0) == MAP_FAILED) {
    return false;
  }
  limit_core_dump(*this);
  return true;
}

void HostSegment::dump_own_slice(std::uint32_t slot) const noexcept {
  keep_in_core_dump(slice(slot), header().module_offset + kRuntimeWordBytes);
  keep_in_core_dump(slice(slot) + header().starter_offset,
                    std::min(header().starter_bytes, kStarterBytesInCoreDump));
}

std::atomic<std::uint32_t>* HostSegment::proc_of_rank() const noexcept {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(
      base_ + header().proc_of_rank_offset);
}

std::atomic<std::uint32_t>* HostSegment::slot_of_rank() const noexcept {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(
      base_ + header().slot_of_rank_offset);
}

std::uint32_t HostSegment::slot_of_proc(std::uint32_t proc) const noexcept {
  ACP_ASSERT(proc < header().procs);
  return reinterpret_cast<const std::uint32_t*>(
      base_ + header().slot_of_proc_offset)[proc];
}

std::atomic<std::uint32_t>* HostSegment::core_of_slot() const noexcept {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(
      base_ + header().core_of_slot_offset);
}

ProcRecord& HostSegment::record(std::uint32_t slot) const noexcept {
  ACP_ASSERT(slot < header().local_procs);
  return reinterpret_cast<ProcRecord*>(base_ + header().records_offset)[slot];
}

PublishedRecord& HostSegment::published(std::uint32_t proc) const noexcept {
  ACP_ASSERT(proc < header().procs);
  return reinterpret_cast<PublishedRecord*>(base_ +
                                            header().published_offset)[proc];
}

std::span<std::atomic<std::uint64_t>> HostSegment::fabric_bits()
    const noexcept {
  return {reinterpret_cast<std::atomic<std::uint64_t>*>(
              base_ + header().fabric_bits_offset),
          words_of_bits(header().procs)};
}

bool HostSegment::has_card(std::uint32_t proc) const noexcept {
  return header().card_table == CardTable::kOfJob ||
         slot_of_proc(proc) != kNoSlot;
}

std::span<std::byte> HostSegment::card(std::uint32_t proc) const noexcept {
  ACP_ASSERT(proc < header().procs && has_card(proc));
  const bool is_by_proc = header().card_table == CardTable::kOfJob;
  return card_at(is_by_proc ? proc : slot_of_proc(proc));
}

std::span<std::byte> HostSegment::fetched_card(
    std::uint32_t slot) const noexcept {
  ACP_ASSERT(slot < header().local_procs &&
             header().card_table == CardTable::kOfHost);
  return card_at(std::uint64_t{header().local_procs} + slot);
}

std::span<std::byte> HostSegment::card_at(std::uint64_t index) const noexcept {
  const std::size_t size = header().card_bytes;
  return {base_ + header().cards_offset + index * size, size};
}

JobSecret& HostSegment::secret() const noexcept {
  return *reinterpret_cast<JobSecret*>(base_ + header().secret_offset);
}

std::byte* HostSegment::slice(std::uint32_t slot) const noexcept {
  ACP_ASSERT(slot < header().local_procs);
  return base_ + header().slices_offset + header().slice_stride * slot;
}

CounterPart* HostSegment::counters(std::uint32_t slot) const noexcept {
  return header().counter_bytes == 0
             ? nullptr
             : reinterpret_cast<CounterPart*>(slice(slot) +
                                              header().counters_offset);
}

/// A file in memory has a hole where no page was touched. The position of the
/// file, which other processes share, is not used by anybody.
std::uint64_t HostSegment::touched_bytes(const std::byte* start,
                                         std::uint64_t bytes) const noexcept {
  const int file = mapping_->file.get();
  const off_t begin = start - base_;
  const auto end = begin + static_cast<off_t>(bytes);
  std::uint64_t touched = 0;
  for (off_t at = begin; at < end;) {
    const off_t data = ::lseek(file, at, SEEK_DATA);
    if (data < 0 || data >= end) {
      break;
    }
    const off_t hole = ::lseek(file, data, SEEK_HOLE);
    at = hole < 0 ? end : std::min(hole, end);
    touched += static_cast<std::uint64_t>(at - data);
  }
  return touched;
}

KeyEntry* HostSegment::keys(std::uint32_t slot) const noexcept {
  return reinterpret_cast<KeyEntry*>(slice(slot) + header().keys_offset);
}

}  // namespace acp::protocol
