// AES-256-GCM by the functions of intel-ipsec-mb that work at once, without its
// queues of jobs. Called for each packet by PacketGuard. It may allocate
// nothing once it is made.
#include "udp/ipsec_mb/ipsec_aes_gcm.h"

#include <fmt/core.h>
#include <intel-ipsec-mb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/secret_memory.h"

namespace acp::udp::ipsec_mb {

namespace {

using transport::AesGcm;

/// Bytes of stack of a function below, with its context and the functions of
/// the library, rounded up. The latter use 864 with AVX-512, as measured.
constexpr std::size_t kFrameBytes = 1280;

const std::uint8_t* raw(const std::byte* bytes) noexcept {
  return reinterpret_cast<const std::uint8_t*>(bytes);
}

std::uint8_t* raw(std::byte* bytes) noexcept {
  return reinterpret_cast<std::uint8_t*>(bytes);
}

const gcm_key_data* key_in(const std::byte* schedule) noexcept {
  return reinterpret_cast<const gcm_key_data*>(schedule);
}

/// In constant time, so that nobody learns how much of a forged tag is right.
bool are_equal(const AesGcm::Tag& a, const AesGcm::Tag& b) noexcept {
  std::uint64_t differences = 0;
  for (const std::size_t half : {0U, 8U}) {
    std::uint64_t of_a = 0;
    std::uint64_t of_b = 0;
    std::memcpy(&of_a, a.data() + half, sizeof of_a);
    std::memcpy(&of_b, b.data() + half, sizeof of_b);
    differences |= of_a ^ of_b;
  }
  return differences == 0;
}

/// The functions of the library that are used, for one set of instructions.
/// They outlive the manager that has told them.
struct Functions {
  explicit Functions(const IMB_MGR& manager)
      : expand(manager.gcm256_pre),
        tag_begin(manager.gmac256_init),
        tag_more(manager.gmac256_update),
        tag_end(manager.gmac256_finalize),
        begin(manager.gcm256_init),
        encrypt(manager.gcm256_enc_update),
        encrypt_end(manager.gcm256_enc_finalize),
        decrypt(manager.gcm256_dec_update),
        decrypt_end(manager.gcm256_dec_finalize) {}

  aes_gcm_pre_t expand;
  aes_gmac_init_t tag_begin;
  aes_gmac_update_t tag_more;
  aes_gmac_finalize_t tag_end;
  aes_gcm_init_t begin;
  aes_gcm_enc_dec_update_t encrypt;
  aes_gcm_enc_dec_finalize_t encrypt_end;
  aes_gcm_enc_dec_update_t decrypt;
  aes_gcm_enc_dec_finalize_t decrypt_end;
};

[[gnu::always_inline]] inline void wipe_traces() noexcept {
  clear_vector_registers();
  wipe_frames<kFrameBytes>();
}

/// The context of the library, on the stack, has no key. But with the tag it
/// would give the key of the hash away, so it is wiped together with the frames
/// of the library: the functions that have one are not inlined.
class IpsecAesGcm final : public AesGcm {
 public:
  IpsecAesGcm(const Functions& functions, std::string library)
      : functions_(functions), library_(std::move(library)) {}

  std::string_view library() const noexcept override { return library_; }

  std::size_t schedule_bytes() const noexcept override {
    return sizeof(gcm_key_data);
  }

  bool takes_pieces() const noexcept override { return true; }

  void expand(const Key& key, std::byte* schedule) const noexcept override {
    functions_.expand(key.data(), reinterpret_cast<gcm_key_data*>(schedule));
    wipe_stack();
  }

  Tag tag(const std::byte* schedule,
          const Nonce& nonce,
          std::span<const Piece> clear) const noexcept override {
    const Tag tag = make_tag(schedule, nonce, clear);
    wipe_traces();
    return tag;
  }

  bool check(const std::byte* schedule,
             const Nonce& nonce,
             Piece clear,
             Piece cipher,
             const Tag& tag) const noexcept override {
    if (cipher.empty()) {
      return are_equal(this->tag(schedule, nonce, std::span(&clear, 1)), tag);
    }
    const Tag right = verify(schedule, nonce, clear, cipher);
    wipe_stack();
    return are_equal(right, tag);
  }

  Tag seal(const std::byte* schedule,
           const Nonce& nonce,
           Piece clear,
           std::span<const Piece> plain,
           std::byte* cipher) const noexcept override {
    const Tag tag = encrypt(schedule, nonce, clear, plain, cipher);
    wipe_traces();
    return tag;
  }

  bool open(const std::byte* schedule,
            const Nonce& nonce,
            Piece clear,
            std::span<std::byte> body,
            const Tag& tag) const noexcept override {
    const Tag right = decrypt(schedule, nonce, clear, body);
    wipe_traces();
    return are_equal(right, tag);
  }

 private:
  [[gnu::noinline]] Tag make_tag(const std::byte* schedule,
                                 const Nonce& nonce,
                                 std::span<const Piece> clear) const noexcept {
    const gcm_key_data* const key = key_in(schedule);
    gcm_context_data context{};
    Tag tag;
    functions_.tag_begin(key, &context, nonce.data(), nonce.size());
    for (const Piece piece : clear) {
      functions_.tag_more(key, &context, raw(piece.data()), piece.size());
    }
    functions_.tag_end(key, &context, raw(tag.data()), tag.size());
    return tag;
  }

  [[gnu::noinline]] Tag encrypt(const std::byte* schedule,
                                const Nonce& nonce,
                                Piece clear,
                                std::span<const Piece> plain,
                                std::byte* cipher) const noexcept {
    const gcm_key_data* const key = key_in(schedule);
    gcm_context_data context{};
    Tag tag;
    functions_.begin(key, &context, nonce.data(), raw(clear.data()),
                     clear.size());
    for (const Piece piece : plain) {
      functions_.encrypt(key, &context, raw(cipher), raw(piece.data()),
                         piece.size());
      cipher += piece.size();
    }
    functions_.encrypt_end(key, &context, raw(tag.data()), tag.size());
    return tag;
  }

  [[gnu::noinline]] Tag decrypt(const std::byte* schedule,
                                const Nonce& nonce,
                                Piece clear,
                                std::span<std::byte> body) const noexcept {
    const gcm_key_data* const key = key_in(schedule);
    gcm_context_data context{};
    Tag tag;
    functions_.begin(key, &context, nonce.data(), raw(clear.data()),
                     clear.size());
    functions_.decrypt(key, &context, raw(body.data()), raw(body.data()),
                       body.size());
    functions_.decrypt_end(key, &context, raw(tag.data()), tag.size());
    return tag;
  }

  /// The library has no function that hashes cipher text alone. So each part is
  /// decrypted into the same room. For the first packets of peers only: its
  /// frame is larger than kFrameBytes.
  [[gnu::noinline]] Tag verify(const std::byte* schedule,
                               const Nonce& nonce,
                               Piece clear,
                               Piece cipher) const noexcept {
    const gcm_key_data* const key = key_in(schedule);
    gcm_context_data context{};
    std::array<std::byte, 512> room{};
    Tag tag;
    functions_.begin(key, &context, nonce.data(), raw(clear.data()),
                     clear.size());
    while (!cipher.empty()) {
      const Piece part = cipher.first(std::min(cipher.size(), room.size()));
      functions_.decrypt(key, &context, raw(room.data()), raw(part.data()),
                         part.size());
      cipher = cipher.subspan(part.size());
    }
    functions_.decrypt_end(key, &context, raw(tag.data()), tag.size());
    return tag;
  }

  Functions functions_;
  std::string library_;
};

std::uint64_t flags_for(Code code) noexcept {
  // Without GFNI the library does not take its code with VAES.
  return code == Code::kAvx512 ? IMB_FLAG_GFNI_OFF : 0;
}

void initialize(IMB_MGR* manager, Code code) {
  switch (code) {
    case Code::kBest: init_mb_mgr_auto(manager, nullptr); break;
    case Code::kSse: init_mb_mgr_sse(manager); break;
    case Code::kAvx: init_mb_mgr_avx(manager); break;
    case Code::kAvx2: init_mb_mgr_avx2(manager); break;
    case Code::kAvx512:
    case Code::kAvx512Vaes: init_mb_mgr_avx512(manager); break;
  }
}

/// "": the manager's functions may be used.
std::string why_unfit(IMB_MGR& manager, Code code) {
  constexpr std::uint64_t kAes = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
  constexpr std::uint64_t kTested =
      IMB_FEATURE_SELF_TEST | IMB_FEATURE_SELF_TEST_PASS;
  constexpr std::uint64_t kVaes = IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ;
  if ((manager.features & kAes) != kAes) {
    return "this processor has no AES instructions";
  }
  if (const int error = imb_get_errno(&manager); error != 0) {
    return fmt::format("intel-ipsec-mb: {}", imb_get_strerror(error));
  }
  if ((manager.features & kTested) != kTested) {
    return fmt::format("intel-ipsec-mb {}: its test of itself has failed",
                       imb_get_version_str());
  }
  if (code == Code::kAvx512Vaes && (manager.features & kVaes) != kVaes) {
    return "this processor has no VAES";
  }
  return {};
}

struct FreeManager {
  void operator()(IMB_MGR* manager) const noexcept { free_mb_mgr(manager); }
};

}  // namespace

Made make_aes_gcm(Code code) {
  const std::unique_ptr<IMB_MGR, FreeManager> manager(
      alloc_mb_mgr(flags_for(code)));
  if (manager == nullptr) {
    return {nullptr, "intel-ipsec-mb: no memory"};
  }
  initialize(manager.get(), code);
  if (std::string why = why_unfit(*manager, code); !why.empty()) {
    return {nullptr, std::move(why)};
  }
  return {std::make_shared<IpsecAesGcm>(
      Functions(*manager),
      fmt::format("intel-ipsec-mb {}", imb_get_version_str()))};
}

}  // namespace acp::udp::ipsec_mb
