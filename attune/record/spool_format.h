// The text of a problem spool: recorded problems that no database has yet.
// docs/formats/problem_spool.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// The data at the beginning of each file.
struct SpoolHeader {
  std::string database;         // Path of the database, for users to read.
  std::string tag;              // Tag of every problem of the file.
  int64_t process = 0;          // Process ID, for users to read.
  int64_t started_unix_ns = 0;  // Start of recording, since 1970.
  std::string program;          // Its short name.
  std::string run;              // RecordingRun::id() of the waiting command; or empty.

  friend bool operator==(const SpoolHeader&, const SpoolHeader&) = default;
};

// Problems that the program could not keep.
struct SpoolLoss {
  int64_t count = 0;
  std::string reason;

  friend bool operator==(const SpoolLoss&, const SpoolLoss&) = default;
};

struct SpoolContent {
  SpoolHeader header;
  std::vector<Problem> problems;  // In the order of recording; may repeat.
  std::vector<SpoolLoss> losses;
  int64_t damaged_bytes = 0;  // In truncated, changed or unknown lines.
  std::string damage;         // The first damaged line and its error; or empty.
};

// The lines that begin a file.
std::string Text(const SpoolHeader& header);
// Appends the line of a problem: its canonical text.
void AppendProblemLine(std::string_view problem, std::string& lines);
std::string LossLine(const SpoolLoss& loss);
// Allocates no memory if `lines` has enough capacity.
void AppendLossLine(int64_t count, std::string_view reason, std::string& lines);

// Parses every complete line of `content`. kUnsupported for another version. kDataLoss if the text
// does not begin as a spool, or if the tag is unreadable.
Result<SpoolContent> ParseSpool(std::string_view content);

}  // namespace attune
