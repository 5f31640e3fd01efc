#include "storage/sql/sample_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <xxhash.h>

#include "attune/trial/trial.h"

namespace attune::sql {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xff;

// How a text begins, and what its hash is seeded with.
struct SampleForm {
  std::string_view name;
  uint64_t seed = 0;
};
constexpr SampleForm kUnbound{"f64", 0};
SampleForm BoundTo(const Fingerprint& row_checksum) { return {"f64r", row_checksum.high}; }

constexpr std::array<uint8_t, 256> MakeDigitValues() {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}
constexpr std::array<uint8_t, 256> kDigitValues = MakeDigitValues();

void AppendBase64(std::string_view bytes, std::string& text) {
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      const uint8_t byte = i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0;
      group = group << 8 | byte;
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
}

// Only what AppendBase64 writes is accepted: full groups, padding at the end, no stray bits.
std::optional<std::string> ParseBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t digits = 4;
    if (i + 4 == text.size()) {
      while (digits > 2 && text[i + digits - 1] == '=') --digits;
    }
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t value = j < digits ? kDigitValues[static_cast<unsigned char>(text[i + j])] : 0;
      if (value == kNoDigit) return std::nullopt;
      group = group << 6 | value;
    }
    for (size_t j = 0; j + 1 < digits; ++j) bytes += static_cast<char>(group >> (16 - 8 * j));
    if (digits < 4 && (group << (8 * (digits - 1)) & 0xffffffu) != 0) return std::nullopt;
  }
  return bytes;
}

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
  const std::optional<std::string> bytes = ParseBase64(text.substr(payload));
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
  std::string text = Header(BoundTo(row_checksum), samples_ns.size(), bytes);
  text.reserve(text.size() + (bytes.size() + 2) / 3 * 4);
  AppendBase64(bytes, text);
  return text;
}

Result<std::vector<double>> ParseSampleText(std::string_view text,
                                            const Fingerprint& row_checksum) {
  return Parse(text, BoundTo(row_checksum));
}

Result<std::vector<double>> ParseUnboundSampleText(std::string_view text) {
  return Parse(text, kUnbound);
}

}  // namespace attune::sql
