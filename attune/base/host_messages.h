// Words to the user of a program that attune is loaded into, on its standard streams.
//
// A program may close descriptor 2 and use the number for a file or a socket of its own. So what a
// library of ours says is written only while the descriptor is the file that it was at the start.
#pragma once

#include <string>
#include <string_view>

namespace attune {

// What a complaint is about. Of each, one process of a tree complains once: the library is loaded
// into every process of a build or a test run, and all of them see the same file.
enum class Complaint { kDatabase = 0, kResults = 1, kRecording = 2 };

// A variable with a letter for each complaint that this process or one that it comes from has made,
// '-' for others, and behind them a word of the tree. By that word processes that do not come from
// each other know, too: who complains makes an empty file of that name in a folder of /tmp, or of
// /dev/shm or /var/tmp where /tmp is read-only.
inline constexpr const char* kReportedVariable = "ATTUNE_REPORTED";

// Its value in a tree where nobody has complained.
std::string NothingReported();

// Remembers what descriptors 1 and 2 are, and puts kReportedVariable into the environment if it is
// not there and there is one thread alone. For the constructor of a library that is loaded into
// programs of others. Without it, the streams are our own.
void NoteStandardStreams();

// Whether descriptor 1 or 2 is the file that it was.
bool IsAsAtStart(int descriptor);

// Writes `text` if it is, in one write unless it is longer than PIPE_BUF. What cannot be written
// at once is dropped: a pipe that is full and that nobody reads must not stop the program.
void WriteToHost(int descriptor, std::string_view text);

// Whether no process of this tree has made the complaint yet; from then on one has. Thread-safe.
bool BeginComplaint(Complaint complaint);

}  // namespace attune
