#include "tests/servers/test_certificates.h"

#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "tests/servers/server_process.h"

namespace attune {
namespace {

constexpr const char* kNewKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

}  // namespace

Result<TestCertificates> TestCertificates::Make(const std::string& name) {
  if (FindServerProgram("openssl").empty()) return NotFound("There is no openssl here.");
  TestCertificates made;
  ATTUNE_ASSIGN_OR_RETURN(made.folder_, NewServerFolder());
  ATTUNE_RETURN_IF_ERROR(made.MakeAuthority("attune-tests", "authority"));
  ATTUNE_RETURN_IF_ERROR(made.MakeAuthority("somebody-else", "other"));
  const std::filesystem::path extensions = made.folder_ / "extensions";
  ATTUNE_RETURN_IF_ERROR(WriteFileAtomically(extensions, "subjectAltName=" + name + "\n"));
  ATTUNE_RETURN_IF_ERROR(GiveToServer(extensions));
  ATTUNE_RETURN_IF_ERROR(
      made.Run(fmt::format("req {} -keyout key.pem -out request.pem -subj /CN=server", kNewKey)));
  ATTUNE_RETURN_IF_ERROR(
      made.Run("x509 -req -in request.pem -CA authority.pem -CAkey authority.key -CAcreateserial "
               "-days 2 -extfile extensions -out certificate.pem"));
  return made;
}

TestCertificates::TestCertificates(TestCertificates&& other) noexcept
    : folder_(std::exchange(other.folder_, {})) {}

TestCertificates::~TestCertificates() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Status TestCertificates::MakeAuthority(const std::string& name, const std::string& file) const {
  return Run(fmt::format("req -x509 {} -keyout {}.key -out {}.pem -days 2 -subj /CN={}", kNewKey,
                         file, file, name));
}

Status TestCertificates::Run(const std::string& words) const {
  std::vector<std::string> command = {FindServerProgram("openssl")};
  std::istringstream stream(words);
  for (std::string word; stream >> word;) command.push_back(word);
  if (RunToItsEnd(command, folder_) == 0) return Status::Ok();
  return Internal(fmt::format("'openssl {}' failed: {}", words, EndOfLog(folder_)));
}

}  // namespace attune
