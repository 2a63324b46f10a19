#include "suite.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace suite {
namespace {

// Inside functions, so that they exist before the first static object that registers.
std::vector<entry>& entries() {
  static std::vector<entry> all;
  return all;
}
std::map<std::string, double (*)()>& copies() {
  static std::map<std::string, double (*)()> all;
  return all;
}

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

} // namespace

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {"2d5pt",   "2ds9pt", "2d13pt", "2d17pt", "2d21pt",
                                               "2ds25pt", "2d9pt",  "2d25pt", "3d7pt",  "3d13pt",
                                               "3d17pt",  "3d27pt", "poisson"};
  return all;
}

std::vector<std::string> backends() {
  std::vector<std::string> all;
  for (const entry& e : entries()) all.push_back(e.backend);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

const entry& find(const std::string& name, const std::string& backend) {
  const std::vector<std::string> there = backends();
  if (backend.empty() && there.size() != 1)
    throw std::invalid_argument("suite: name one of the backends " + list(there));
  const std::string& wanted = backend.empty() ? there.front() : backend;
  for (const entry& e : entries())
    if (e.name == name && e.backend == wanted) return e;
  throw std::invalid_argument("suite: no stencil '" + name + "' on backend '" + wanted + "'; stencils are " +
                              list(names()) + ", backends " + list(there));
}

std::unique_ptr<instance> make(const std::string& name, precision precision,
                               const std::vector<index>& extents, const std::string& backend) {
  const entry& e = find(name, backend);
  if (int(extents.size()) != e.rank)
    throw std::invalid_argument("suite: " + name + " takes " + std::to_string(e.rank) + " extents, not " +
                                std::to_string(extents.size()));
  return e.make(precision, extents);
}

double copy_bandwidth(const std::string& backend) {
  const auto at = copies().find(backend);
  if (at == copies().end()) throw std::invalid_argument("suite: no backend '" + backend + "'");
  return at->second();
}

register_entry::register_entry(entry entry) { entries().push_back(std::move(entry)); }
register_copy::register_copy(std::string backend, double (*measure)()) {
  copies()[std::move(backend)] = measure;
}

} // namespace suite
