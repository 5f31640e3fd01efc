#include "attune/problem/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "attune/problem/feature_values.h"
#include "attune/problem/text_fields.h"

namespace attune {
namespace {

constexpr std::string_view kFlagWords[] = {"0", "1"};

void AppendValue(const ProblemField& field, int64_t number, std::string& text) {
  if (!field.words.empty()) {
    text += field.words[static_cast<size_t>(number)];
    return;
  }
  std::array<char, 24> digits;
  text.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

// Sets `number` to the value that `text` names. Returns whether there is one.
bool ReadValue(const ProblemField& field, std::string_view text, int64_t& number) {
  if (field.words.empty()) return ReadInteger(text, field.low, field.high, number);
  const auto found = std::find(field.words.begin(), field.words.end(), text);
  number = found - field.words.begin();
  return found != field.words.end();
}

int64_t ReadMember(const CallMember& member, const void* call) {
  const std::byte* const from = static_cast<const std::byte*>(call) + member.offset;
  if (member.bytes == sizeof(int64_t)) {
    int64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  int32_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

void AppendFields(std::span<const ProblemField> fields, const void* value, std::string& text) {
  text += '{';
  const size_t begin = text.size();
  for (const ProblemField& field : fields) {
    if (field.key.empty()) continue;
    const int64_t number = field.get(value);
    if (number == field.fallback(value)) continue;
    if (text.size() > begin) text += ',';
    text += field.key;
    text += '=';
    AppendValue(field, number, text);
  }
  text += '}';
}

std::optional<TextError> ReadFields(const TextFields& text, std::span<const ProblemField> fields,
                                    void* value) {
  const auto error = [](size_t offset, std::string reason) {
    return TextError{offset + 1, std::move(reason)};
  };
  std::vector<bool> seen(fields.size());
  for (const TextField& given : text.fields) {
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const ProblemField& each) {
      return each.key == given.key;
    });
    if (field == fields.end()) return error(given.key_offset, UnknownKeyReason(text, given));
    int64_t number = 0;
    if (!ReadValue(*field, given.value, number)) {
      return error(given.value_offset, BadValueReason(given, field->expected));
    }
    field->set(value, number);
    seen[static_cast<size_t>(field - fields.begin())] = true;
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (seen[i] || fields[i].key.empty()) continue;
    const int64_t number = fields[i].fallback(value);
    if (number == kRequired) return error(0, MissingKeyReason(text, fields[i].key));
    fields[i].set(value, number);
  }
  return std::nullopt;
}

Status ReadCallMembers(std::span<const ProblemField> fields, const void* call, void* value) {
  for (const ProblemField& field : fields) {
    if (field.call.bytes == 0) continue;
    const int64_t number = ReadMember(field.call, call);
    const std::string_view name = field.call.name.empty() ? field.name : field.call.name;
    if (field.words.empty()) {
      field.set(value, number == 0 ? field.call.zero : number);
      if (number == 0 || field.get(value) == number) continue;
      return InvalidArgument(
          fmt::format("Field '{}' is {}; it has to be {}.", name, number, field.expected));
    }
    const std::span<const int64_t> values = field.call.values;
    const auto count = static_cast<int64_t>(values.empty() ? field.words.size() : values.size());
    if (number < 0 || number >= count) {
      return InvalidArgument(
          fmt::format("Field '{}' is {}; it has to be from 0 to {}.", name, number, count - 1));
    }
    field.set(value, values.empty() ? number : values[static_cast<size_t>(number)]);
  }
  return Status::Ok();
}

const ProblemField* FindField(std::span<const ProblemField> fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const ProblemField& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

Position PositionOfFields(std::span<const ProblemField> fields, const void* value) {
  Position position{};
  size_t i = 0;
  for (const ProblemField& field : fields) {
    if (!field.is_coordinate || i == position.size()) continue;
    position[i++] = static_cast<float>(Log(field.get(value)));
  }
  return position;
}

std::string FamilyOfFields(std::string_view operator_name, std::span<const ProblemField> fields,
                           const void* value) {
  std::string family(operator_name);
  for (const ProblemField& field : fields) {
    // Solvers check the alignment: a candidate may run with less.
    if (field.is_coordinate || field.key.empty() || field.name == kAlignmentField) continue;
    family += fmt::format(" {}=", field.key);
    AppendValue(field, field.get(value), family);
  }
  return family;
}

std::string LabelOfFields(std::string_view operator_name, std::span<const ProblemField> fields,
                          const void* value) {
  std::string label(operator_name);
  for (const ProblemField& field : fields) {
    const int64_t number = field.get(value);
    if (field.key.empty() || number == field.fallback(value)) continue;
    const bool is_word = !field.words.empty() && field.words.data() != kFlagWords;
    label += is_word ? std::string(" ") : fmt::format(" {}=", field.key);
    AppendValue(field, number, label);
  }
  return label;
}

std::vector<std::string> FeatureNamesOfFields(std::span<const ProblemField> fields) {
  std::vector<std::string> names;
  for (const ProblemField& field : fields) {
    names.emplace_back(field.name);
    if (field.kind == FieldKind::kSize) names.push_back(fmt::format("twos_{}", field.name));
  }
  return names;
}

std::vector<double> FeatureValuesOfFields(std::span<const ProblemField> fields, const void* value) {
  std::vector<double> values;
  for (const ProblemField& field : fields) {
    const int64_t number = field.get(value);
    if (field.kind == FieldKind::kClass) {
      values.push_back(Number(number));
      continue;
    }
    values.push_back(Log(number));
    values.push_back(TwosIn(number));
  }
  return values;
}

std::span<const std::string_view> FlagWords() { return kFlagWords; }

}  // namespace attune
