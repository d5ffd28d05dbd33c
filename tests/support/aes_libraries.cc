#include "support/aes_libraries.h"

#include <cstdlib>
#include <memory>
#include <string_view>

#include "udp/sodium_aes_gcm.h"
#ifdef ACP_HAS_IPSEC_MB
#include "udp/ipsec_mb/ipsec_aes_gcm.h"
#endif

namespace acp::test {

namespace {

void add_ipsec_mb([[maybe_unused]] std::vector<AesLibrary>& libraries) {
#ifdef ACP_HAS_IPSEC_MB
  using udp::ipsec_mb::Code;
  static std::vector<udp::ipsec_mb::Made> kept;

  struct Row {
    const char* name;
    Code code;
  };

  for (const Row& row :
       {Row{"SSE", Code::kSse}, Row{"AVX", Code::kAvx},
        Row{"AVX2", Code::kAvx2}, Row{"AVX-512", Code::kAvx512},
        Row{"VAES", Code::kAvx512Vaes}, Row{"its choice", Code::kBest}}) {
    udp::ipsec_mb::Made made = udp::ipsec_mb::make_aes_gcm(row.code);
    if (made.aes != nullptr) {
      libraries.push_back(
          {std::string(made.aes->library()) + ", " + row.name, made.aes.get()});
      kept.push_back(std::move(made));
    }
  }
#endif
}

}  // namespace

const std::vector<AesLibrary>& aes_libraries() {
  static const std::vector<AesLibrary> libraries = [] {
    std::vector<AesLibrary> list;
    if (const transport::AesGcm* aes = udp::sodium_aes_gcm()) {
      list.push_back({std::string(aes->library()), aes});
    }
    add_ipsec_mb(list);
    return list;
  }();
  return libraries;
}

const transport::AesGcm* aes_of_process(std::uint64_t seed,
                                        std::uint32_t proc) {
  const std::vector<AesLibrary>& libraries = aes_libraries();
  if (libraries.empty()) {
    return nullptr;
  }
  const char* text = std::getenv("ACP_TEST_TAGS");
  const std::string_view wanted = text == nullptr ? "" : text;
  const bool is_last =
      wanted.empty() ? ((seed >> (proc % 2)) & 1) != 0 : wanted == "ipsec-mb";
  return (is_last ? libraries.back() : libraries.front()).aes;
}

}  // namespace acp::test
