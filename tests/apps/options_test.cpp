// Bad command lines: exit status 2, nothing on stdout, one line on stderr that names the option and what is
// allowed.
#include "process.hpp"

namespace apps {

struct bad_line {
  const char *app, *words;
  std::vector<const char*> says; // parts of the line on stderr
};
const bad_line lines[] = {
    {"heat", "--size 0x5", {"--size", "0x5"}},
    {"heat", "--size 5x-3", {"--size"}},
    {"heat", "--size 5", {"--size", "YxX"}},
    {"heat", "--size 5x", {"--size"}},
    {"heat", "--size x5", {"--size"}},
    {"heat", "--size 5x6x7x8", {"--size", "ZxYxX"}},
    {"heat", "--size 5.5x6", {"--size"}},
    {"heat", "--size 5,6", {"--size"}},
    {"heat", "--size ax6", {"--size"}},
    {"heat", "--size 99999999999999999999x5", {"--size"}},
    {"heat", "--size 4000000000x4000000000", {"--size", "memory"}},
    {"heat", "--size 3037000500x3037000500x9", {"--size", "memory"}},
    {"heat", "--size", {"--size"}},
    {"heat", "--size=", {"--size"}},
    {"heat", "--steps -1", {"--steps", "0"}},
    {"heat", "--steps 1.5", {"--steps"}},
    {"heat", "--steps 1e3", {"--steps"}},
    {"heat", "--steps many", {"--steps", "many"}},
    {"heat", "--steps 99999999999999999999", {"--steps"}},
    {"heat", "--steps 1 --steps 2", {"--steps", "once"}},
    {"heat", "--precision half", {"--precision", "half", "float", "double"}},
    {"heat", "--precision Double", {"--precision", "double"}},
    {"heat", "--boundary wall", {"--boundary", "wall", "fixed", "dirichlet", "neumann", "periodic"}},
    {"heat", "--boundary dirichlet:warm", {"--boundary", "dirichlet"}},
    {"heat", "--boundary dirichlet:nan", {"--boundary"}},
    {"heat", "--seed -1", {"--seed"}},
    {"heat", "--seed 99999999999999999999", {"--seed"}},
    {"heat", "--tolerance -1e-3", {"--tolerance"}},
    {"heat", "--tolerance nan", {"--tolerance"}},
    {"heat", "--tolerance small", {"--tolerance", "small"}},
    {"heat", "--init blank", {"--init", "blank", "smooth", "random", "nan"}},
    {"heat", "--output picture.jpg", {"--output", ".png"}},
    {"heat", "--output .png", {"--output"}},
    {"heat", "--output /no/such/folder/picture.png", {"--output", "/no/such/folder"}},
    {"heat", "--report /no/such/folder/report.json", {"--report", "/no/such/folder"}},
    {"heat", "--report /", {"--report", "directory"}},
    {"heat", "--output same.png --report same.png", {"--report", "--output"}},
    {"heat", "--nonsense", {"--nonsense", "--size"}},
    {"heat", "--nonsense 3", {"--nonsense"}},
    {"heat", "--step 5", {"--step", "--steps"}},
    {"heat", "stray", {"stray"}},
    {"heat", "-x", {"-x"}},
    {"heat", "--verify=yes", {"--verify"}},
    {"heat", "--quiet --help=1", {"--help"}},
    {"wave", "--size 5x5x5x5", {"--size"}},
    {"wave", "--boundary mirror", {"--boundary", "neumann"}},
    {"gray_scott", "--size 4x5x6", {"--size", "YxX"}},
    {"gray_scott", "--feed much", {"--feed", "much"}},
    {"gray_scott", "--kill nan", {"--kill"}},
    {"jacobi", "--stencil 2d7pt", {"--stencil", "2d7pt", "2d5pt", "poisson"}},
    {"jacobi", "--stencil", {"--stencil"}},
    {"jacobi", "--stencil 3d7pt --size 64x64", {"--size", "ZxYxX"}},
    {"jacobi", "--stencil 2d5pt --size 8x8x8", {"--size", "YxX"}},
    {"jacobi", "--steps -5", {"--steps"}},
#if !defined(APP_HAS_WAYS)
    {"heat", "--strategy per_step", {"--strategy", "persistent_cuda"}},
    {"wave", "--l2-window auto", {"--l2-window", "persistent_cuda"}},
    {"gray_scott", "--plan", {"--plan", "persistent_cuda"}},
    {"jacobi", "--cache both", {"--cache", "persistent_cuda"}},
#else
    {"heat", "--strategy fast", {"--strategy", "per_step", "resident"}},
    {"wave", "--cache l3", {"--cache", "registers"}},
    {"jacobi", "--l2-window 1T", {"--l2-window", "auto"}},
    {"gray_scott", "--plan --verify", {"--plan", "--verify"}},
#endif
};

class bad_command_line : public ::testing::TestWithParam<bad_line> {};
std::string name_of(const ::testing::TestParamInfo<bad_line>& info) {
  std::string name = std::to_string(info.index) + "_" + info.param.app + "_";
  for (const char* c = info.param.words; *c; ++c)
    name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(each, bad_command_line, ::testing::ValuesIn(lines), name_of);

TEST_P(bad_command_line, exits_2_with_one_line_that_helps) {
  const bad_line& line = GetParam();
  const result r = run(line.app, split(line.words));
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_TRUE(!r.err.empty() && r.err.back() == '\n') << r.err;
  for (const char* part : line.says)
    EXPECT_NE(r.err.find(part), std::string::npos) << "no '" << part << "' in: " << r.err;
}

} // namespace apps
