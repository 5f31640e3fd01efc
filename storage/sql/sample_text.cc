#include "storage/sql/sample_text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <xxhash.h>

#include "attune/base/base64.h"
#include "attune/trial/trial.h"

namespace attune::sql {
namespace {

// The prefix of a text, and the seed of its hash.
struct SampleForm {
  std::string_view name;
  uint64_t seed = 0;
};
constexpr SampleForm kUnbound{"f64", 0};
SampleForm BoundTo(const Fingerprint& row_checksum) { return {"f64r", row_checksum.high}; }

std::string LittleEndianBytes(std::span<const double> values) {
  std::string bytes(values.size() * sizeof(double), '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof(bits));
    for (size_t j = 0; j < sizeof(bits); ++j) {
      bytes[i * sizeof(bits) + j] = static_cast<char>(bits >> (8 * j));
    }
  }
  return bytes;
}

std::vector<double> FromLittleEndianBytes(std::string_view bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    for (size_t j = 0; j < sizeof(bits); ++j) {
      bits |= uint64_t{static_cast<unsigned char>(bytes[i * sizeof(bits) + j])} << (8 * j);
    }
    std::memcpy(&values[i], &bits, sizeof(bits));
  }
  return values;
}

std::string Header(const SampleForm& form, size_t count, std::string_view bytes) {
  return fmt::format("{}:{}:{:016x}:", form.name, count,
                     XXH3_64bits_withSeed(bytes.data(), bytes.size(), form.seed));
}

Result<std::vector<double>> Parse(std::string_view text, const SampleForm& form) {
  const size_t payload = text.rfind(':') + 1;
  const std::optional<std::string> bytes = FromBase64(text.substr(payload));
  if (payload == 0 || !bytes.has_value()) {
    return DataLoss(fmt::format("The samples are not {}:<count>:<hash>:<base64>.", form.name));
  }
  const size_t count = bytes->size() / sizeof(double);
  if (bytes->size() % sizeof(double) != 0 || count > Measurement::kMaxSamples) {
    return DataLoss(fmt::format("The samples have {} bytes; a multiple of 8 up to {} is possible.",
                                bytes->size(), Measurement::kMaxSamples * sizeof(double)));
  }
  if (const std::string header = Header(form, count, *bytes); text.substr(0, payload) != header) {
    return DataLoss(
        fmt::format("The samples begin with '{}', but '{}' fits what follows in this row.",
                    text.substr(0, std::min<size_t>(payload, 40)), header));
  }
  return FromLittleEndianBytes(*bytes);
}

}  // namespace

std::string SampleText(std::span<const double> samples_ns, const Fingerprint& row_checksum) {
  const std::string bytes = LittleEndianBytes(samples_ns);
  return Header(BoundTo(row_checksum), samples_ns.size(), bytes) + ToBase64(bytes);
}

Result<std::vector<double>> ParseSampleText(std::string_view text,
                                            const Fingerprint& row_checksum) {
  return Parse(text, BoundTo(row_checksum));
}

Result<std::vector<double>> ParseUnboundSampleText(std::string_view text) {
  return Parse(text, kUnbound);
}

}  // namespace attune::sql
