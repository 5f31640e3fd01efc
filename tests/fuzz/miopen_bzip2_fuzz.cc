// Any bytes as output of bzip2: unpacked within the limit, or refused with a reason. And as its
// input: packed, they come back.
#include <bzlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/formats/miopen/bzip2.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Little, because unpacking more finds nothing else and takes most of the time; several chunks.
  constexpr size_t kMaxBytes = size_t{1} << 18;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto unpacked = attune::miopen::Unpacked(bytes, kMaxBytes);
  attune::FuzzCheck(unpacked.ok() ? unpacked->size() <= kMaxBytes
                                  : !unpacked.status().message().empty());

  if (!attune::IsOneInEight(bytes)) return 0;
  std::string plain(bytes.substr(0, kMaxBytes));
  std::string packed(plain.size() + plain.size() / 100 + 600, '\0');
  auto packed_bytes = static_cast<unsigned int>(packed.size());
  attune::FuzzCheck(BZ2_bzBuffToBuffCompress(packed.data(), &packed_bytes, plain.data(),
                                             static_cast<unsigned int>(plain.size()), 1, 0,
                                             0) == BZ_OK);
  packed.resize(packed_bytes);
  const auto again = attune::miopen::Unpacked(packed, plain.size());
  attune::FuzzCheck(again.ok() && *again == plain);
  return 0;
}
