// Holds the texts to the sources: every fenced block of a .md file must stand, word for word, between the
// lines "snippet: name" and "end" of a file in snippets/, every such region must be used, and
// docs/language.md must list the sentence of every static_assert in the language.
//
//   check_docs <source folder>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool ends_with(const std::string& line, const std::string& end) {
  return line.size() >= end.size() && line.compare(line.size() - end.size(), end.size(), end) == 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const fs::path source = argv[1];
  int wrong = 0;

  std::map<std::string, std::string> places; // of the regions, by their text
  for (const auto& entry : fs::recursive_directory_iterator(source / "docs/snippets")) {
    if (!entry.is_regular_file()) continue;
    std::string text, place;
    std::size_t indent = 0;
    for (const std::string& line : lines_of(entry.path())) {
      if (const auto at = line.find("snippet: "); at != std::string::npos) {
        place = entry.path().filename().string() + ": " + line.substr(at + 9);
        indent = line.find_first_not_of(' ');
        text.clear();
      } else if (!place.empty() && (ends_with(line, "// end") || ends_with(line, "# end"))) {
        places[text] = place;
        place.clear();
      } else if (!place.empty()) {
        text += line.substr(std::min(indent, line.size())) + "\n";
      }
    }
    if (!place.empty()) std::printf("%s: no end\n", place.c_str()), ++wrong;
  }

  std::map<std::string, std::string> unused = places;
  for (const char* name : {"README.md", "docs/language.md"}) {
    bool inside = false;
    int number = 0, start = 0;
    std::string text;
    for (const std::string& line : lines_of(source / name)) {
      ++number;
      if (line.rfind("```", 0) != 0) {
        text += line + "\n";
        continue;
      }
      if (inside && places.count(text) == 0)
        std::printf("%s:%d: this block is no region of docs/snippets/\n", name, start), ++wrong;
      if (inside) unused.erase(text);
      inside = !inside;
      start = number;
      text.clear();
    }
  }
  for (const auto& [text, place] : unused) std::printf("%s: in no text\n", place.c_str()), ++wrong;

  // Sentences: the string literals of a static_assert, joined.
  std::string listed;
  for (const std::string& line : lines_of(source / "docs/language.md")) listed += line + "\n";
  for (const auto& entry : fs::directory_iterator(source / "dsl/include/stet")) {
    std::string code;
    for (const std::string& line : lines_of(entry.path())) code += line + "\n";
    for (auto at = code.find("static_assert"); at != std::string::npos;
         at = code.find("static_assert", at + 1)) {
      std::string sentence;
      const auto stop = code.find(");\n", at);
      for (auto open = code.find('"', at); open < stop; open = code.find('"', open + 1)) {
        const auto close = code.find('"', open + 1);
        sentence += code.substr(open + 1, close - open - 1);
        open = close;
      }
      if (sentence.rfind("stet: ", 0) == 0 && listed.find(sentence.substr(6)) == std::string::npos)
        std::printf("docs/language.md does not list: %s\n", sentence.c_str()), ++wrong;
    }
  }
  return wrong == 0 ? 0 : 1;
}
