// Loads the code of a rank and finds the memory that it writes: the writable
// segments of its file, and its thread-local variables.
#include "explore/rank_image.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace explore {

namespace {

constexpr std::uintptr_t kPage = 4096;

struct Search {
  std::uintptr_t base;
  std::vector<RankImage::Range> writable;
  RankImage::Range thread;
};

/// Collects the memory that a loaded object writes, if it is the sought object.
int look_at(dl_phdr_info* info, std::size_t /*size*/, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  if (info->dlpi_addr != search.base) {
    return 0;
  }
  std::uintptr_t read_only_end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO) {
      read_only_end =
          (search.base + part.p_vaddr + part.p_memsz) & ~(kPage - 1);
    } else if (part.p_type == PT_TLS) {
      search.thread = {info->dlpi_tls_data, part.p_memsz};
    }
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) {
      continue;
    }
    std::uintptr_t begin = (search.base + part.p_vaddr) & ~(kPage - 1);
    const std::uintptr_t end =
        (search.base + part.p_vaddr + part.p_memsz + kPage - 1) & ~(kPage - 1);
    if (begin < read_only_end && read_only_end <= end) {
      begin = read_only_end;
    }
    if (begin < end) {
      search.writable.push_back({reinterpret_cast<void*>(begin), end - begin});
    }
  }
  return 1;
}

template <typename Symbol>
void find(void* object, const char* name, Symbol& symbol) {
  symbol = reinterpret_cast<Symbol>(::dlsym(object, name));
  if (symbol == nullptr) {
    std::fprintf(stderr, "explore: %s\n", ::dlerror());
    std::exit(1);
  }
}

}  // namespace

/// The symbol of a thread-local variable is looked up first: only then the
/// loader says where these variables are.
RankImage::RankImage(const std::string& path) {
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  link_map* map = nullptr;
  if (object == nullptr || ::dlinfo(object, RTLD_DI_LINKMAP, &map) != 0) {
    std::fprintf(stderr, "explore: %s\n", ::dlerror());
    std::exit(1);
  }
  int* variable = nullptr;
  find(object, "explore_thread_variable", variable);
  Search search{map->l_addr, {}, {}};
  ::dl_iterate_phdr(&look_at, &search);
  variables_ = search.writable;
  thread_variables_ = search.thread;
  find(object, "explore_add_modules", add_modules_);
  run_cases_ = reinterpret_cast<decltype(run_cases_)>(
      ::dlsym(object, "explore_run_cases"));
  if (run_cases_ != nullptr) {
    return;
  }
  find(object, "explore_program", program_);
  find(object, "explore_begin_thread", begin_thread_);
  find(object, "explore_warm_up", warm_up_);
  find(object, "explore_trim", trim_);
  find(object, "explore_is_heap_free", is_heap_free_);
}

}  // namespace explore
