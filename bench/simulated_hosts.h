// Machines with devices, each of which is a process that makes a process for each job.
#pragma once

#include <cstdint>
#include <string>

#include "bench/bench_fleet.h"

namespace attune {

// Where the processes find their work.
struct FleetPlace {
  std::string database;
  std::string queue;  // Empty: the database is its own.
};

struct SimulatedHosts {
  int hosts = 4;
  int devices = 2;  // On each host.
  int64_t job_ms = 200;
  int64_t jobs_of_a_device = 100;
};

// How many devices worth of work the devices of `hosts` did together: jobs times what one takes,
// over the time from when they are loaded until all are done. At most as many as there are devices.
double DevicesKeptBusy(BenchFleet& fleet, const FleetPlace& place, const SimulatedHosts& hosts);

// The main() of each of those processes; runs until SIGTERM.
int RunDevice(const FleetPlace& place, const std::string& name, int64_t job_ms);

}  // namespace attune
