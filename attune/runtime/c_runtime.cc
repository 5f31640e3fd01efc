#include "attune/runtime/c_runtime.h"

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "attune/dispatch/counters.h"

attune_runtime::attune_runtime(std::unique_ptr<attune::Runtime> runtime)
    : current_(runtime.release()), maker_(::getpid()) {}

attune_runtime::~attune_runtime() {
  // Of a parent's, a child can end nothing: its threads are not here and its files are shared.
  if (maker_.load() != ::getpid()) return;
  const std::unique_ptr<attune::Runtime> runtime(current_.load());
  if (!runtime->options().prints_summary) return;
  const std::string line = attune::Summary(runtime->server().counters()) + "\n";
  // Asked for, by ATTUNE_SUMMARY; whoever closed standard error does not get it.
  (void)std::fputs(line.c_str(), stderr);
}

attune::Result<attune::Runtime*> attune_runtime::here() {
  const pid_t process = ::getpid();
  if (maker_.load(std::memory_order_acquire) == process) return &current();
  const std::lock_guard<std::mutex> lock(fork_mutex_);
  if (maker_.load() == process) return &current();
  ATTUNE_ASSIGN_OR_RETURN(auto made, attune::Runtime::Create(current().options()));
  current_.store(made.release(), std::memory_order_release);
  maker_.store(process, std::memory_order_release);
  return &current();
}
