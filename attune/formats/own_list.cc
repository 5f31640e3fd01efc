#include "attune/formats/own_list.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/base/json_reader.h"
#include "attune/problem/text_error.h"

namespace attune {
namespace {

using nlohmann::json;
using Entries = std::vector<OwnListEntry>;

OwnListEntry Fault(const TextPlace& place, std::string reason) {
  OwnListEntry entry;
  entry.line = place.line;
  entry.column = place.column;
  entry.fault = std::move(reason);
  return entry;
}

// Removes and returns the first line of `rest`.
std::string_view TakeLine(std::string_view& rest) {
  std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<uint64_t> WeightIn(std::string_view text) {
  uint64_t weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  const bool is_weight = error == std::errc() && end == text.data() + text.size() && weight > 0;
  return is_weight ? std::optional(weight) : std::nullopt;
}

OwnListEntry EntryOf(const json& element) {
  OwnListEntry entry;
  if (!element.is_object() || !element.contains("problem") || !element["problem"].is_string()) {
    entry.fault = "An entry of a list of attune is an object with a text 'problem'.";
    return entry;
  }
  entry.problem = element["problem"].get<std::string>();
  if (!element.contains("weight")) return entry;
  const auto weight = WeightIn(element["weight"].dump());
  entry.weight = weight.value_or(1);
  if (!weight.has_value()) {
    entry.fault = fmt::format("The weight {} is no number of times.", element["weight"].dump());
  }
  return entry;
}

Entries EntriesOfJson(std::string_view text) {
  const auto document = ReadJson(text);
  if (!document.ok()) {
    // "line 3, column 4: this is ..."
    const std::string& message = document.error().message();
    TextPlace place;
    (void)std::sscanf(message.c_str(), "line %zu, column %zu", &place.line, &place.column);
    std::string reason = message.substr(std::min(message.find(": "), message.size() - 2) + 2);
    if (!reason.empty() && reason.front() == 't') reason.front() = 'T';
    return {Fault(place, std::move(reason))};
  }
  const json* list = &*document;
  for (const char* const key : {"choices", "problems"}) {
    if (list->is_object() && list->contains(key)) list = &(*list)[key];
  }
  if (!list->is_array()) {
    return {Fault({}, "This JSON is no list of attune: an array, or an object with 'choices'.")};
  }
  Entries entries;
  uint64_t line = 1;
  size_t at = 0;
  for (const json& element : *list) {
    entries.push_back(EntryOf(element));
    // The position of its problem: only a key has this spelling, because texts escape their quotes.
    const size_t found = text.find("\"problem\"", at);
    if (found != std::string_view::npos) {
      line += static_cast<uint64_t>(std::count(text.begin() + static_cast<ptrdiff_t>(at),
                                               text.begin() + static_cast<ptrdiff_t>(found), '\n'));
      at = found + 1;
    }
    entries.back().line = line;
  }
  return entries;
}

// The fields of a line of CSV (RFC 4180); nothing if a quote is not closed.
std::optional<std::vector<std::string>> CsvFields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool is_quote = line[i] == '"';
    if (is_quoted && is_quote && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (is_quote) {
      is_quoted = !is_quoted;
    } else if (line[i] == ',' && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  if (is_quoted) return std::nullopt;
  return fields;
}

Entries EntriesOfCsv(std::string_view text) {
  const auto columns = CsvFields(TakeLine(text)).value_or(std::vector<std::string>{});
  const auto weight_column = std::find(columns.begin(), columns.end(), "weight") - columns.begin();
  Entries entries;
  for (uint64_t number = 2; !text.empty(); ++number) {
    const std::string_view line = TakeLine(text);
    if (line.empty()) continue;
    const auto fields = CsvFields(line);
    if (!fields.has_value() || fields->size() != columns.size()) {
      entries.push_back(Fault({number, 1}, fields.has_value()
                                               ? fmt::format("{} fields, where the header has {}.",
                                                             fields->size(), columns.size())
                                               : std::string("A quote is not closed.")));
      continue;
    }
    OwnListEntry& entry = entries.emplace_back();
    entry.problem = fields->front();
    entry.line = number;
    if (weight_column == std::ssize(columns)) continue;
    const std::string& weight = (*fields)[static_cast<size_t>(weight_column)];
    entry.weight = WeightIn(weight).value_or(1);
    if (!WeightIn(weight)) entry.fault = fmt::format("The weight {} is none.", Quoted(weight));
  }
  return entries;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(' '); at < line.size();
       at = line.find_first_not_of(' ', at)) {
    words.push_back(line.substr(at, line.find(' ', at) - at));
    at += words.back().size();
  }
  return words;
}

// Its rows end with an empty line; reasons follow it.
Entries EntriesOfTable(std::string_view text) {
  TakeLine(text);
  Entries entries;
  for (uint64_t number = 2; !text.empty(); ++number) {
    const std::string_view line = TakeLine(text);
    if (line.empty()) break;
    const std::vector<std::string_view> words = Words(line);
    const auto weight = words.empty() ? std::nullopt : WeightIn(words.front());
    if (words.size() < 3 || !weight.has_value()) {
      entries.push_back(Fault({number, 1}, "A row has a weight, a state and a problem."));
      continue;
    }
    OwnListEntry& entry = entries.emplace_back();
    entry.problem = line.substr(static_cast<size_t>(words[2].data() - line.data()));
    entry.weight = *weight;
    entry.line = number;
  }
  return entries;
}

}  // namespace

std::optional<std::vector<OwnListEntry>> ReadOwnList(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (text.substr(first).starts_with('{') || text.substr(first).starts_with('[')) {
    return EntriesOfJson(text);
  }
  std::string_view rest = text;
  const std::string_view line = TakeLine(rest);
  if (line.starts_with("problem,")) return EntriesOfCsv(text);
  const std::vector<std::string_view> words = Words(line);
  const std::string_view kHeader[] = {"weight", "state", "problem"};
  if (std::equal(words.begin(), words.end(), std::begin(kHeader), std::end(kHeader))) {
    return EntriesOfTable(text);
  }
  return std::nullopt;
}

}  // namespace attune
