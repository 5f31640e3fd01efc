// One process for each device of a backend, all on one list and one database.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/attune/terminal.h"
#include "attune/base/status.h"
#include "runtime/places.h"

namespace attune {

// Whether `device` stands for every device of a backend: "cuda:all".
bool MeansEveryDevice(std::string_view device);

// The usable ones, in the order of `attune devices`. REQUIRES: MeansEveryDevice(device). kNotFound
// if the backend has no device; kUnavailable, with the reasons, if none of them can be used.
Result<std::vector<std::string>> UsableDevices(const BackendList& backends,
                                               std::string_view device);

// What this process was started with after its name, without --device and --json: what a process
// for one device gets, too.
Result<std::vector<std::string>> ArgumentsForEachDevice();

// What became of the process of one device.
struct CrewMember {
  // And the number of the signal: the exit status of one that a signal has ended.
  static constexpr int kSignalled = 128;

  std::string device;
  int exit_status = 0;
  std::string output;      // What it printed.
  std::string last_words;  // The last line that it said on standard error.
};

// Runs this program with `arguments`, --device and --json once for each of `devices` at the same
// time, prints each line that they say on standard error, with the device in front, to `err`, and
// waits for all. Once `stop_requested` says so, they are asked to end in order, and a second time
// once `stop_at_once` (may be null) does. They end at once with this process, whatever ends it.
// kUnavailable if one cannot be started; the others are ended
// then.
Result<std::vector<CrewMember>> RunCrew(const std::vector<std::string>& devices,
                                        const std::vector<std::string>& arguments, Output& err,
                                        const std::function<bool()>& stop_requested,
                                        const std::function<bool()>& stop_at_once = nullptr);

}  // namespace attune
