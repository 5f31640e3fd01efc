#include "attune/tuner/final_conditions.h"

#include <utility>

#include "attune/tuner/session_notes.h"

namespace attune {

std::optional<DeviceConditions> AskConditions(BlockTimer& timer, TuneReport& report) {
  auto told = timer.Conditions();
  if (told.ok()) return *std::move(told);
  report.notes.push_back(SilenceNote(told.error().message()));
  return std::nullopt;
}

Status KeepConditions(const SetConditions& conditions, RecordStore& store, TuneReport& report) {
  if (conditions.empty()) return Status::Ok();
  if (const Status valid = Validate(conditions); !valid.ok()) {
    report.notes.push_back(ImpossibleConditionsNote(valid.message()));
    return Status::Ok();
  }
  report.held_back_by = HeldBackBy(conditions);
  if (!report.held_back_by.empty()) report.notes.push_back(HeldBackNote(conditions));
  return store.NoteConditions(report.set_id, conditions);
}

}  // namespace attune
