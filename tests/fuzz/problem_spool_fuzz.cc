// Any bytes as a problem spool, and as the problems of a whole one: parsed problems are valid and
// are written back as they were. Every byte is a problem's, a loss's, the header's or damaged.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/record/spool_format.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

void Check(const attune::SpoolContent& content, size_t size) {
  attune::FuzzCheck(content.damaged_bytes >= 0 &&
                    content.damaged_bytes <= static_cast<int64_t>(size));
  attune::FuzzCheck((content.damaged_bytes == 0) == content.damage.empty());
  std::string text = attune::Text(content.header);
  for (const attune::Problem& problem : content.problems) {
    attune::FuzzCheck(attune::Validate(problem).ok());
    attune::AppendProblemLine(attune::Text(problem), text);
  }
  for (const attune::SpoolLoss& loss : content.losses) {
    attune::FuzzCheck(loss.count >= 0);
    text += attune::LossLine(loss);
  }
  const auto again = attune::ParseSpool(text);
  attune::FuzzCheck(again.ok() && again->header == content.header &&
                    again->problems == content.problems && again->losses == content.losses &&
                    again->damaged_bytes == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto content = attune::ParseSpool(bytes);
  attune::FuzzCheck(content.ok() || !content.status().message().empty());
  if (content.ok()) Check(*content, size);

  // The same behind a checksum that agrees, which no fuzzer guesses.
  std::string text = attune::Text(attune::SpoolHeader{"/db", "tag", 1, 2, "program", ""});
  for (size_t begin = 0; begin < size;) {
    const size_t end = std::min(bytes.find('\n', begin), size);
    attune::AppendProblemLine(bytes.substr(begin, end - begin), text);
    begin = end + 1;
  }
  const auto lines = attune::ParseSpool(text);
  attune::FuzzCheck(lines.ok());
  if (lines.ok()) Check(*lines, text.size());
  return 0;
}
