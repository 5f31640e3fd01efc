#include "storage/sql/write_turn.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include "attune/base/open_file.h"

namespace attune::sql {
namespace {

using Clock = std::chrono::steady_clock;

// Byte 0 is locked while a number is drawn; number n is the byte kFirstNumber + n.
constexpr off_t kDesk = 0;
constexpr off_t kFirstNumber = 8;
constexpr int64_t kLastNumber = int64_t{1} << 60;
// A turn takes a fraction of a millisecond.
constexpr std::chrono::microseconds kPoll{200};

struct flock Range(short type, off_t start, off_t length) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = start;
  range.l_len = length;
  return range;
}

bool TryLock(int file, off_t byte) {
  struct flock lock = Range(F_WRLCK, byte, 1);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

// Calls `is_done` until it returns true. Returns false at `deadline`.
template <class Condition>
bool Poll(Clock::time_point deadline, const Condition& is_done) {
  while (!is_done()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

// A new number, with its byte locked.
std::optional<int64_t> Draw(int file, Clock::time_point deadline) {
  if (!Poll(deadline, [&] { return TryLock(file, kDesk); })) return std::nullopt;
  int64_t number = 0;
  const bool is_known = ::pread(file, &number, sizeof number, 0) == sizeof number;
  if (!is_known || number < 0 || number >= kLastNumber) number = 0;
  const int64_t next = number + 1;
  const bool has_number =
      ::pwrite(file, &next, sizeof next, 0) == sizeof next && TryLock(file, kFirstNumber + number);
  struct flock desk = Range(F_UNLCK, kDesk, 1);
  (void)::fcntl(file, F_OFD_SETLK, &desk);
  return has_number ? std::optional(number) : std::nullopt;
}

// Returns true if no process has a number below `number`. A failure counts as no process.
bool IsFirst(int file, int64_t number) {
  if (number == 0) return true;
  struct flock before = Range(F_WRLCK, kFirstNumber, number);
  return ::fcntl(file, F_OFD_GETLK, &before) != 0 || before.l_type == F_UNLCK;
}

}  // namespace

WriteTurn WriteTurn::Take(const std::string& database, std::chrono::milliseconds patience) {
  const std::string path = database + "-turns";
  UniqueFd file = OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
  if (!file.valid()) return WriteTurn(UniqueFd());
  const Clock::time_point deadline = Clock::now() + patience;
  const std::optional<int64_t> number = Draw(file.get(), deadline);
  if (!number.has_value()) return WriteTurn(UniqueFd());
  if (!Poll(deadline, [&] { return IsFirst(file.get(), *number); })) return WriteTurn(UniqueFd());
  return WriteTurn(std::move(file));
}

}  // namespace attune::sql
