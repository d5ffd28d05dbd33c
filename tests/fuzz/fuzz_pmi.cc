// Fuzz target: any bytes as answers of a launcher that speaks PMI-1 or PMI-2. A
// message that is accepted has to be equal after it was written and read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/pmi_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

using namespace acp::runtime;

bool has_line_end(const PmiMessage& message) {
  for (const PmiMessage::Field& field : message.fields) {
    if ((field.name + field.value).find('\n') != std::string::npos) return true;
  }
  return message.command.find('\n') != std::string::npos;
}

void check(PmiDialect dialect, std::string_view text) {
  const auto message = decode_pmi(dialect, text);
  if (!message) return;
  (void)message->is_success();
  if (message->number("rc") && message->find("rc") == nullptr) std::abort();
  // A line of PMI-1 never has a line end; names of PMI-2 have no semicolons.
  if (dialect == PmiDialect::kPmi1 && has_line_end(*message)) return;
  for (const PmiMessage::Field& field : message->fields) {
    if (field.name.find(';') != std::string::npos) return;
  }
  const std::string bytes = encode_pmi(dialect, *message);
  const std::string_view written =
      dialect == PmiDialect::kPmi1
          ? std::string_view{bytes}.substr(0, bytes.size() - 1)
          : std::string_view{bytes}.substr(kPmi2LengthDigits);
  if (written.size() > kPmiMaxText) return;
  if (decode_pmi(dialect, written) != message) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(PmiDialect::kPmi1, text);
  check(PmiDialect::kPmi2, text);
  const auto length = decode_pmi2_length(text.substr(0, kPmi2LengthDigits));
  if (length && *length > kPmiMaxText) std::abort();
  return 0;
}
