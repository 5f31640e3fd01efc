// A kernel of our own from C++: tuned for one size, then launched for others. The size that was
// tuned is served by its winner, one near it by that winner if it is right there, and each size is
// chosen for anew.
//
//   serve_matmul matmul.json DATABASE DEVICE
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attune/kernel/own_kernel.h"
#include "attune/tuner/own_kernel/own_kernel_server.h"
#include "attune/tuner/own_kernel/own_kernel_tuning.h"
#include "runtime/places.h"
#include "storage/sql/sql_store.h"

namespace {

using attune::Result;
using attune::Status;
using attune::kernel::OwnSizes;

// Multiplies matrices of ones, and says what served them.
Status Multiply(attune::OwnKernelServer& server, attune::Device& device, const OwnSizes& sizes) {
  const auto floats = [&](const char* rows, const char* columns) {
    return static_cast<size_t>(sizes.at(rows) * sizes.at(columns));
  };
  const std::vector<float> ones(std::max(floats("m", "k"), floats("k", "n")), 1);
  ATTUNE_ASSIGN_OR_RETURN(const auto a, device.Allocate(floats("m", "k") * sizeof(float)));
  ATTUNE_ASSIGN_OR_RETURN(const auto b, device.Allocate(floats("k", "n") * sizeof(float)));
  ATTUNE_ASSIGN_OR_RETURN(const auto c, device.Allocate(floats("m", "n") * sizeof(float)));
  const auto bytes = std::as_bytes(std::span(ones));
  ATTUNE_RETURN_IF_ERROR(device.Upload(bytes.first(a->size_bytes()), a->View(0)));
  ATTUNE_RETURN_IF_ERROR(device.Upload(bytes.first(b->size_bytes()), b->View(0)));

  ATTUNE_RETURN_IF_ERROR(
      server.Launch(sizes, {{"a", a->View(0)}, {"b", b->View(0)}, {"c", c->View(0)}}));
  ATTUNE_RETURN_IF_ERROR(device.Synchronize());

  std::vector<float> result(floats("m", "n"));
  ATTUNE_RETURN_IF_ERROR(device.Download(c->View(0), std::as_writable_bytes(std::span(result))));
  ATTUNE_ASSIGN_OR_RETURN(const attune::ServedConfig* served, server.Select(sizes));
  std::cout << "m=" << sizes.at("m") << " n=" << sizes.at("n") << ": " << Name(served->by) << ", "
            << attune::Text(served->config) << ", c[last] = " << result.back() << "\n";
  for (const std::string& reason : served->passed_over) std::cout << "  not " << reason << "\n";
  return Status::Ok();
}

Status Run(const char* path, const char* database, const char* device_spec) {
  const attune::BackendList backends = attune::LazyBackends();
  ATTUNE_ASSIGN_OR_RETURN(const attune::Place place, attune::FindPlace(backends, device_spec));
  ATTUNE_ASSIGN_OR_RETURN(const auto store, attune::OpenSqlStore(database));
  ATTUNE_ASSIGN_OR_RETURN(const auto kernel,
                          attune::kernel::LoadOwnKernel(path, place.target.backend));

  attune::TuneOptions options;
  options.per_problem_ns = 3'000'000'000;
  const attune::OwnKernelPlace own_place = {*place.backend, device_spec, place.target,
                                            place.environment, *store};
  ATTUNE_RETURN_IF_ERROR(
      TuneOwnKernel(own_place, kernel, {{"m", 96}, {"n", 96}, {"k", 64}}, options).status());

  ATTUNE_ASSIGN_OR_RETURN(const auto device, place.backend->Open(device_spec));
  ATTUNE_ASSIGN_OR_RETURN(auto tuned,
                          TunedSizesOf(*store, kernel, place.target, place.environment));
  ATTUNE_ASSIGN_OR_RETURN(const auto server, attune::OwnKernelServer::Create(
                                                 kernel, own_place, *device, std::move(tuned)));
  ATTUNE_RETURN_IF_ERROR(Multiply(*server, *device, {{"m", 96}, {"n", 96}, {"k", 64}}));
  ATTUNE_RETURN_IF_ERROR(Multiply(*server, *device, {{"m", 100}, {"n", 80}, {"k", 64}}));
  return Multiply(*server, *device, {{"m", 96}, {"n", 96}, {"k", 64}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: serve_matmul KERNEL DATABASE DEVICE\n";
    return 2;
  }
  ::setenv("ATTUNE_KERNEL_PATH", argv[1], 1);
  const Status status = Run(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::cerr << "serve_matmul: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
