#include "attune/session/withheld_ends.h"

#include "attune/record/forwarding_store.h"

namespace attune {
namespace {

class WithheldEnds final : public ForwardingStore {
 public:
  WithheldEnds(RecordStore& records, std::set<std::string>& ends)
      : ForwardingStore(records), ends_(ends) {}

  Status FinishSet(std::string_view set_id) override {
    ends_.emplace(set_id);
    return Status::Ok();
  }

 private:
  std::set<std::string>& ends_;
};

}  // namespace

std::unique_ptr<RecordStore> WithholdEnds(RecordStore& records, std::set<std::string>& ends) {
  return std::make_unique<WithheldEnds>(records, ends);
}

}  // namespace attune
