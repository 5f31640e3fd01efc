#include "attune/tuner/child_protocol.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune {
namespace {

using Json = nlohmann::json;

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void PutUnlessZero(Json& json, const char* name, int64_t count) {
  if (count != 0) json[name] = count;
}

template <class Value>
void PutIfKnown(Json& json, const char* name, const std::optional<Value>& value) {
  if (value.has_value()) json[name] = *value;
}

void Put(Json& json, const DeviceConditions& conditions) {
  PutIfKnown(json, "compute_clock_mhz", conditions.compute_clock_mhz);
  PutIfKnown(json, "memory_clock_mhz", conditions.memory_clock_mhz);
  PutIfKnown(json, "power_w", conditions.power_w);
  PutIfKnown(json, "power_limit_w", conditions.power_limit_w);
  PutIfKnown(json, "temperature_c", conditions.temperature_c);
  PutIfKnown(json, "clock_reasons", conditions.clock_reasons);
}

void Put(Json& json, const Qualification& qualification) {
  json["build_ns"] = qualification.build_ns;
  json["load_ns"] = qualification.load_ns;
  json["workspace_bytes"] = qualification.workspace_bytes;
  json["max_error"] = qualification.max_error;
  json["quick_ns"] = qualification.quick_ns;
  if (!qualification.capture_failure.empty()) {
    json["capture_failure"] = qualification.capture_failure;
  }
}

void Put(Json& json, const MeterRequest& figures) {
  json["energy"] = figures.energy;
  json["outputs"] = Json::array();
  for (const FigureSource& output : figures.outputs) json["outputs"].push_back(Text(output));
}

void Put(Json& json, const MeterReading& reading) {
  json["joules"] = reading.energy.joules;
  json["low_joules"] = reading.energy.low_joules;
  json["high_joules"] = reading.energy.high_joules;
  json["outputs"] = reading.outputs;
}

// Reads typed fields of one message and remembers the first that is missing or of another kind.
class FieldReader {
 public:
  explicit FieldReader(const Json& json) : json_(json) {}

  std::string String(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr || !field->is_string()) return Fail(name, "a string"), std::string();
    return field->get<std::string>();
  }

  int64_t Integer(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr || !field->is_number_integer()) return Fail(name, "an integer"), 0;
    return field->get<int64_t>();
  }

  double Number(const char* name) {
    const Json* field = Find(name);
    // JSON has no infinity: a sender's non-finite number arrives as null, and is one here again.
    if (field != nullptr && field->is_null()) return std::nan("");
    if (field == nullptr || !field->is_number()) return Fail(name, "a number"), 0;
    return field->get<double>();
  }

  template <class Enum>
  Enum Named(const char* name, std::optional<Enum> (*parse)(std::string_view)) {
    const std::optional<Enum> value = parse(String(name));
    if (!value.has_value()) Fail(name, "a known name");
    return value.value_or(Enum{});
  }

  bool Has(const char* name) const { return Find(name) != nullptr; }

  uint64_t Count(const char* name) {
    const int64_t count = Integer(name);
    if (count < 0) Fail(name, "zero or more");
    return static_cast<uint64_t>(std::max<int64_t>(count, 0));
  }

  // 0 if it is not there.
  int64_t CountOrZero(const char* name) {
    return Has(name) ? static_cast<int64_t>(Count(name)) : 0;
  }

  bool FlagOrFalse(const char* name) {
    const Json* field = Find(name);
    if (field == nullptr) return false;
    if (!field->is_boolean()) return Fail(name, "true or false"), false;
    return field->get<bool>();
  }

  std::vector<std::string> Strings(const char* name) {
    const Json* field = Find(name);
    std::vector<std::string> texts;
    if (field == nullptr || !field->is_array()) return Fail(name, "an array of strings"), texts;
    for (const Json& element : *field) {
      if (!element.is_string()) return Fail(name, "an array of strings"), texts;
      texts.push_back(element.get<std::string>());
    }
    return texts;
  }

  std::vector<double> Numbers(const char* name) {
    const Json* field = Find(name);
    std::vector<double> numbers;
    if (field == nullptr || !field->is_array()) return Fail(name, "an array of numbers"), numbers;
    for (const Json& element : *field) {
      if (!element.is_number()) return Fail(name, "an array of numbers"), numbers;
      numbers.push_back(element.get<double>());
    }
    return numbers;
  }

  double Tolerance(const char* name) {
    const double tolerance = Number(name);
    if (!std::isfinite(tolerance) || tolerance <= 0) Fail(name, "positive and finite");
    return tolerance;
  }

  // Checks a condition over several fields.
  void Require(const Status& valid) {
    if (!status_.ok() || valid.ok()) return;
    status_ = DataLoss(fmt::format("A child message is impossible: {}", valid.message()));
  }

  const Status& status() const { return status_; }

 private:
  const Json* Find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }

  void Fail(const char* name, const char* expected) {
    if (!status_.ok()) return;
    status_ = DataLoss(fmt::format("Field '{}' of a child message is not {}.", name, expected));
  }

  const Json& json_;
  Status status_;
};

Qualification ReadQualification(FieldReader& reader) {
  Qualification qualification;
  qualification.build_ns = reader.Integer("build_ns");
  qualification.load_ns = reader.Integer("load_ns");
  qualification.workspace_bytes = reader.Integer("workspace_bytes");
  qualification.max_error = reader.Number("max_error");
  qualification.quick_ns = reader.Number("quick_ns");
  if (reader.Has("capture_failure")) {
    qualification.capture_failure = reader.String("capture_failure");
  }
  return qualification;
}

template <class Value>
std::optional<Value> IfThere(FieldReader& reader, const char* name,
                             Value (FieldReader::*read)(const char*)) {
  return reader.Has(name) ? std::optional<Value>((reader.*read)(name)) : std::nullopt;
}

ConditionsReply ReadConditions(FieldReader& reader) {
  DeviceConditions conditions;
  conditions.compute_clock_mhz = IfThere(reader, "compute_clock_mhz", &FieldReader::Integer);
  conditions.memory_clock_mhz = IfThere(reader, "memory_clock_mhz", &FieldReader::Integer);
  conditions.power_w = IfThere(reader, "power_w", &FieldReader::Number);
  conditions.power_limit_w = IfThere(reader, "power_limit_w", &FieldReader::Number);
  conditions.temperature_c = IfThere(reader, "temperature_c", &FieldReader::Integer);
  conditions.clock_reasons = IfThere(reader, "clock_reasons", &FieldReader::Strings);
  reader.Require(Validate(conditions));
  return {std::move(conditions)};
}

QualifyRequest ReadQualify(FieldReader& reader) {
  QualifyRequest qualify;
  qualify.candidate = reader.String("candidate");
  qualify.awaits_turn = reader.FlagOrFalse("awaits_turn");
  if (!reader.Has("against")) return qualify;
  qualify.agreement = AgreementRequest{reader.String("against"),
                                       {reader.Tolerance("atol"), reader.Tolerance("rtol")}};
  return qualify;
}

MeterChildRequest ReadMeter(FieldReader& reader) {
  MeterChildRequest meter;
  meter.index = IfThere(reader, "index", &FieldReader::Count);
  meter.figures.energy = reader.FlagOrFalse("energy");
  for (const std::string& text : reader.Strings("outputs")) {
    auto source = ParseFigureSource(text);
    reader.Require(source.status());
    if (source.ok()) meter.figures.outputs.push_back(*std::move(source));
  }
  return meter;
}

MeterReading ReadReading(FieldReader& reader) {
  MeterReading reading;
  reading.energy = {reader.Number("joules"), reader.Number("low_joules"),
                    reader.Number("high_joules")};
  reading.outputs = reader.Numbers("outputs");
  return reading;
}

Result<Json> ParseMessage(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return DataLoss(fmt::format("A child message of {} bytes is not a JSON object.", text.size()));
  }
  return json;
}

// Room for one descriptor beside the bytes of a socket; the system closes any further ones.
union FileControl {
  cmsghdr alignment;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// As send(), with a duplicate of `passed_fd` unless that is negative.
ssize_t SendWithFile(int fd, std::string_view text, int passed_fd) {
  if (passed_fd < 0) return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  iovec bytes{const_cast<char*>(text.data()), text.size()};
  FileControl control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof passed_fd);
  std::memcpy(CMSG_DATA(header), &passed_fd, sizeof passed_fd);
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

Status SystemFailure(const char* what) {
  return Unavailable(fmt::format("Cannot {} the socket of a child: {}.", what, strerror(errno)));
}

}  // namespace

std::string Encode(const Request& request) {
  Json json;
  std::visit(Overloaded{
                 [&](const HelloRequest& hello) {
                   json["type"] = "hello";
                   json["version"] = hello.version;
                   json["device"] = hello.device;
                   json["problem"] = hello.problem;
                   PutUnlessZero(json, "rotation_bytes", hello.rotation_bytes);
                   PutUnlessZero(json, "warm_up_launches", hello.warm_up_launches);
                   PutUnlessZero(json, "warm_up_ns", hello.warm_up_ns);
                 },
                 [&](const QualifyRequest& qualify) {
                   json["type"] = "qualify";
                   json["candidate"] = qualify.candidate;
                   if (qualify.awaits_turn) json["awaits_turn"] = true;
                   if (!qualify.agreement.has_value()) return;
                   json["against"] = qualify.agreement->against;
                   json["atol"] = qualify.agreement->tolerance.atol;
                   json["rtol"] = qualify.agreement->tolerance.rtol;
                 },
                 [&](const TurnRequest&) { json["type"] = "turn"; },
                 [&](const LoadRequest& load) {
                   json["type"] = "load";
                   json["candidate"] = load.candidate;
                 },
                 [&](const TimeRequest& time) {
                   json["type"] = "time";
                   json["index"] = time.index;
                   json["launches"] = time.launches;
                   json["cache"] = Name(time.cache);
                 },
                 [&](const MeterChildRequest& meter) {
                   json["type"] = "meter";
                   if (meter.index.has_value()) json["index"] = *meter.index;
                   Put(json, meter.figures);
                 },
                 [&](const ListRequest& list) {
                   json["type"] = "list";
                   json["solver"] = list.solver;
                   json["first"] = list.first;
                 },
                 [&](const ConditionsRequest&) { json["type"] = "conditions"; },
                 [&](const PeaksRequest& peaks) {
                   json["type"] = "peaks";
                   json["version"] = peaks.version;
                   json["device"] = peaks.device;
                 },
                 [&](const CompileRequest& compile) {
                   json["type"] = "compile";
                   json["version"] = compile.version;
                   json["device"] = compile.device;
                   json["problem"] = compile.problem;
                   json["candidate"] = compile.candidate;
                   if (compile.is_draft) json["draft"] = true;
                 },
                 [&](const ReferenceRequest& reference) {
                   json["type"] = "reference";
                   json["version"] = reference.version;
                   json["device"] = reference.device;
                   json["problem"] = reference.problem;
                 },
             },
             request);
  return Dump(json);
}

std::string Encode(const Reply& reply) {
  Json json;
  json["at_ns"] = reply.at_ns;
  PutUnlessZero(json, "device_ns", reply.device_ns);
  std::visit(Overloaded{
                 [&](const ListeningReply&) { json["type"] = "listening"; },
                 [&](const ReadyReply&) { json["type"] = "ready"; },
                 [&](const RefusedReply& refused) {
                   json["type"] = "refused";
                   json["message"] = refused.message;
                 },
                 [&](const PhaseReply& phase) {
                   json["type"] = "phase";
                   json["phase"] = Name(phase.phase);
                 },
                 [&](const QualifiedReply& qualified) {
                   json["type"] = "qualified";
                   Put(json, qualified.qualification);
                 },
                 [&](const LoadedReply&) { json["type"] = "loaded"; },
                 [&](const TimedReply& timed) {
                   json["type"] = "timed";
                   json["ns"] = timed.ns;
                 },
                 [&](const MeteredReply& metered) {
                   json["type"] = "metered";
                   Put(json, metered.reading);
                 },
                 [&](const ListedReply& listed) {
                   json["type"] = "listed";
                   json["configs"] = listed.configs;
                   json["total"] = listed.total;
                 },
                 [&](const ConditionsReply& told) {
                   json["type"] = "conditions";
                   Put(json, told.conditions);
                 },
                 [&](const PeaksReply& measured) {
                   json["type"] = "peaks";
                   json["f32_flops"] = measured.peaks.f32_flops;
                   json["f64_flops"] = measured.peaks.f64_flops;
                   json["bytes_per_second"] = measured.peaks.bytes_per_second;
                 },
                 [&](const CompiledReply& compiled) {
                   json["type"] = "compiled";
                   json["build_ns"] = compiled.build_ns;
                 },
                 [&](const ReferencedReply&) { json["type"] = "referenced"; },
                 [&](const FailedReply& failed) {
                   json["type"] = "failed";
                   json["kind"] = Name(failed.failure.kind);
                   json["phase"] = Name(failed.failure.phase);
                   json["message"] = failed.failure.message;
                   Put(json, failed.qualification);
                   if (failed.device_lost) json["device_lost"] = true;
                 },
             },
             reply.content);
  return Dump(json);
}

Result<Request> DecodeRequest(std::string_view text) {
  ATTUNE_ASSIGN_OR_RETURN(const Json json, ParseMessage(text));
  FieldReader reader(json);
  const std::string type = reader.String("type");
  Request request;
  if (type == "hello") {
    HelloRequest hello;
    hello.version = static_cast<int>(reader.Integer("version"));
    hello.device = reader.String("device");
    hello.problem = reader.String("problem");
    hello.rotation_bytes = reader.CountOrZero("rotation_bytes");
    hello.warm_up_launches = reader.CountOrZero("warm_up_launches");
    hello.warm_up_ns = reader.CountOrZero("warm_up_ns");
    request = hello;
  } else if (type == "qualify") {
    request = ReadQualify(reader);
  } else if (type == "turn") {
    request = TurnRequest{};
  } else if (type == "load") {
    request = LoadRequest{reader.String("candidate")};
  } else if (type == "time") {
    TimeRequest time;
    time.index = static_cast<uint64_t>(reader.Integer("index"));
    time.launches = static_cast<int>(reader.Integer("launches"));
    time.cache = reader.Named("cache", &ParseCacheState);
    request = time;
  } else if (type == "meter") {
    request = ReadMeter(reader);
  } else if (type == "list") {
    request = ListRequest{reader.String("solver"), reader.Count("first")};
  } else if (type == "conditions") {
    request = ConditionsRequest{};
  } else if (type == "peaks") {
    PeaksRequest peaks;
    peaks.version = static_cast<int>(reader.Integer("version"));
    peaks.device = reader.String("device");
    request = peaks;
  } else if (type == "compile") {
    CompileRequest compile;
    compile.version = static_cast<int>(reader.Integer("version"));
    compile.device = reader.String("device");
    compile.problem = reader.String("problem");
    compile.candidate = reader.String("candidate");
    compile.is_draft = reader.FlagOrFalse("draft");
    request = compile;
  } else if (type == "reference") {
    ReferenceRequest reference;
    reference.version = static_cast<int>(reader.Integer("version"));
    reference.device = reader.String("device");
    reference.problem = reader.String("problem");
    request = reference;
  } else {
    return DataLoss(fmt::format("Child request type '{}' is unknown.", type));
  }
  ATTUNE_RETURN_IF_ERROR(reader.status());
  return request;
}

Result<Reply> DecodeReply(std::string_view text) {
  ATTUNE_ASSIGN_OR_RETURN(const Json json, ParseMessage(text));
  FieldReader reader(json);
  const std::string type = reader.String("type");
  Reply reply;
  reply.at_ns = reader.Integer("at_ns");
  reply.device_ns = reader.CountOrZero("device_ns");
  if (type == "listening") {
    reply.content = ListeningReply{};
  } else if (type == "ready") {
    reply.content = ReadyReply{};
  } else if (type == "refused") {
    reply.content = RefusedReply{reader.String("message")};
  } else if (type == "phase") {
    reply.content = PhaseReply{reader.Named("phase", &ParsePhase)};
  } else if (type == "qualified") {
    reply.content = QualifiedReply{ReadQualification(reader)};
  } else if (type == "loaded") {
    reply.content = LoadedReply{};
  } else if (type == "timed") {
    reply.content = TimedReply{reader.Number("ns")};
  } else if (type == "metered") {
    reply.content = MeteredReply{ReadReading(reader)};
  } else if (type == "listed") {
    reply.content = ListedReply{reader.Strings("configs"), reader.Count("total")};
  } else if (type == "conditions") {
    reply.content = ReadConditions(reader);
  } else if (type == "peaks") {
    Peaks peaks;
    peaks.f32_flops = reader.Number("f32_flops");
    peaks.f64_flops = reader.Number("f64_flops");
    peaks.bytes_per_second = reader.Number("bytes_per_second");
    reply.content = PeaksReply{peaks};
  } else if (type == "compiled") {
    reply.content = CompiledReply{static_cast<int64_t>(reader.Count("build_ns"))};
  } else if (type == "referenced") {
    reply.content = ReferencedReply{};
  } else if (type == "failed") {
    FailedReply failed;
    failed.failure.kind = reader.Named("kind", &ParseFailureKind);
    failed.failure.phase = reader.Named("phase", &ParsePhase);
    failed.failure.message = reader.String("message");
    failed.qualification = ReadQualification(reader);
    failed.device_lost = reader.FlagOrFalse("device_lost");
    reply.content = failed;
  } else {
    return DataLoss(fmt::format("Child reply type '{}' is unknown.", type));
  }
  ATTUNE_RETURN_IF_ERROR(reader.status());
  return reply;
}

Status WriteFrame(int fd, std::string_view payload, int passed_fd) {
  if (payload.empty() || payload.size() > kMaxFrameBytes) {
    return InvalidArgument(fmt::format("A child message has {} bytes; the limit is {}.",
                                       payload.size(), kMaxFrameBytes));
  }
  std::string frame(4, '\0');
  const uint32_t length = static_cast<uint32_t>(payload.size());
  for (int i = 0; i < 4; ++i) frame[static_cast<size_t>(i)] = static_cast<char>(length >> (8 * i));
  frame += payload;
  std::string_view rest = frame;
  while (!rest.empty()) {
    const ssize_t sent = SendWithFile(fd, rest, passed_fd);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return SystemFailure("write to");
    passed_fd = -1;  // It went with the first byte.
    rest.remove_prefix(static_cast<size_t>(sent));
  }
  return Status::Ok();
}

bool ReadFrames(int fd, std::string& buffer, UniqueFd& passed_fd) {
  char chunk[4096];
  iovec bytes{chunk, sizeof chunk};
  FileControl control;
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t got = 0;
  do {
    got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  buffer.append(chunk, static_cast<size_t>(got));
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int received_fd = -1;
    std::memcpy(&received_fd, CMSG_DATA(header), sizeof received_fd);
    passed_fd.Reset(received_fd);
  }
  return true;
}

Result<std::optional<std::string>> TakeFrame(std::string& buffer) {
  if (buffer.size() < 4) return std::optional<std::string>();
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>(buffer[i])) << (8 * i);
  }
  if (length == 0 || length > kMaxFrameBytes) {
    return DataLoss(fmt::format("A child message has a length of {} bytes; the limit is {}.",
                                length, kMaxFrameBytes));
  }
  if (buffer.size() < 4 + static_cast<size_t>(length)) return std::optional<std::string>();
  std::string payload = buffer.substr(4, length);
  buffer.erase(0, 4 + static_cast<size_t>(length));
  return std::optional<std::string>(std::move(payload));
}

}  // namespace attune
