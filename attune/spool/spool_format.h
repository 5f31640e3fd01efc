// The text of a problem spool: what a program recorded and no database has yet.
// docs/formats/problem_spool.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// What stands at the beginning of each file.
struct SpoolHeader {
  std::string database;         // Path for which the problems were recorded; for people.
  std::string tag;              // Of every problem of the file.
  int64_t process = 0;          // Its id and when it began to record, for people as well.
  int64_t started_unix_ns = 0;  // Since 1970.
  std::string program;          // Its short name.
  std::string run;              // RecordingRun::id() of the command that waits for it; or empty.

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
  std::vector<Problem> problems;  // In the order of recording; one may come again.
  std::vector<SpoolLoss> losses;
  int64_t damaged_bytes = 0;  // Of lines that are cut off, changed or of no known kind.
  std::string damage;         // The first of them: its line and what is wrong. Empty for none.
};

// The lines that begin a file.
std::string Text(const SpoolHeader& header);
// Appends the line of a problem: its canonical text.
void AppendProblemLine(std::string_view problem, std::string& lines);
std::string LossLine(const SpoolLoss& loss);
// Allocates no memory where `lines` has room.
void AppendLossLine(int64_t count, std::string_view reason, std::string& lines);

// Every whole line of `content`. kUnsupported for another version, kDataLoss for what does not
// begin as a spool does, or whose tag cannot be read.
Result<SpoolContent> ParseSpool(std::string_view content);

}  // namespace attune
