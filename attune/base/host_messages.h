// Messages to the user of the host program, on its standard streams.
//
// A program may close descriptor 2 and reuse the number for its own file or socket. So a library of
// attune writes only while the descriptor still is the file that it was at the start.
#pragma once

#include <string>
#include <string_view>

namespace attune {

// The subject of a complaint. Only one process of a process tree makes each complaint: every
// process of a build or a test run loads the library and sees the same file.
// kNoComplaints has one '-' for each.
enum class Complaint { kDatabase = 0, kResults = 1, kRecording = 2, kPackages = 3, kIndex = 4 };

inline constexpr char kNoComplaints[] = "-----";

// An environment variable with one letter per complaint that this process or an ancestor has made,
// and '-' for others. A random word of the tree follows. The word links sibling processes: the
// process that complains creates an empty file of that name in a folder of /tmp, or of /dev/shm or
// /var/tmp if /tmp is read-only.
inline constexpr const char* kReportedVariable = "ATTUNE_REPORTED";

// The value of kReportedVariable for a tree without complaints.
std::string NothingReported();

// Remembers the files of descriptors 1 and 2. Sets kReportedVariable if it is unset and the process
// has a single thread. For the constructor of a library that host programs load. Without this call,
// the streams count as attune's own.
void NoteStandardStreams();

// True if descriptor 1 or 2 still is the file that it was at the start.
bool IsAsAtStart(int descriptor);

// Writes `text` if IsAsAtStart(), in one write unless it is longer than PIPE_BUF. Drops the rest if
// the reader does not take it within a few milliseconds, because a full pipe must not stop the
// program.
void WriteToHost(int descriptor, std::string_view text);

// Returns true if no process of this tree has made the complaint yet, and marks it as made.
// Thread-safe.
bool BeginComplaint(Complaint complaint);

}  // namespace attune
