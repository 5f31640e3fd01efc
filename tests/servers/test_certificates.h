// Certificates that tests make for servers on this machine.
#pragma once

#include <filesystem>
#include <string>

#include "attune/base/status.h"

namespace attune {

// An authority, a certificate that it has signed for `name` ("IP:127.0.0.1"), and another authority
// that has signed nothing, in a folder of their own. Made by openssl.
class TestCertificates {
 public:
  // kNotFound if there is no openssl.
  static Result<TestCertificates> Make(const std::string& name);
  ~TestCertificates();
  TestCertificates(TestCertificates&& other) noexcept;
  TestCertificates& operator=(TestCertificates&&) = delete;

  // The authority that clients trust, the server's certificate, and its key, readable to the user
  // that runs servers.
  std::string authority() const { return folder_ / "authority.pem"; }
  std::string certificate() const { return folder_ / "certificate.pem"; }
  std::string key() const { return folder_ / "key.pem"; }
  std::string other_authority() const { return folder_ / "other.pem"; }

 private:
  TestCertificates() = default;
  Status MakeAuthority(const std::string& name, const std::string& file) const;
  Status Run(const std::string& words) const;

  std::filesystem::path folder_;
};

}  // namespace attune
