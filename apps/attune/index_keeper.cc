#include "apps/attune/index_keeper.h"

#include <utility>

#include <fmt/format.h>

#include "attune/index/index_writer.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

constexpr int64_t kPauseNs = 30'000'000'000;

}  // namespace

std::filesystem::path IndexOf(const std::string& database) {
  return IsOnServer(database) ? std::filesystem::path() : IndexPathOf(database);
}

IndexKeeper::IndexKeeper(RecordStore& store, std::filesystem::path index, Clock& clock, Output& err)
    : store_(store),
      index_(std::move(index)),
      clock_(clock),
      err_(err),
      refreshed_ns_(clock.NowNs()) {}

void IndexKeeper::NoteTuned() {
  has_news_ = true;
  if (clock_.NowNs() - refreshed_ns_ >= kPauseNs) Refresh();
}

void IndexKeeper::Finish() {
  if (has_news_) Refresh();
}

void IndexKeeper::Refresh() {
  if (index_.empty()) return;
  const Status status = RefreshIndex(store_, index_, SelectOptions()).status();
  // Taken after it, so that a refresh that takes long does not follow itself at once.
  refreshed_ns_ = clock_.NowNs();
  has_news_ = false;
  if (status.ok()) return;
  err_.Print(fmt::format("attune tune: Running programs do not see the new results yet. {}\n",
                         Printable(status.message())));
}

}  // namespace attune
