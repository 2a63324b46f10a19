// The apps do what their command lines say: verified runs, failing verification, pictures, reports, files
// that survive.
#include "process.hpp"
#include <cmath>
#include <nlohmann/json.hpp>
#include <png.h>
#include <set>

namespace apps {

using nlohmann::json;

const char* const all[] = {"heat", "wave", "gray_scott", "jacobi"};

class app : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(each, app, ::testing::ValuesIn(all),
                         [](const auto& info) { return std::string(info.param); });

std::string size_for(const std::string& name) { return name == "wave" ? "9x14x17" : "33x47"; }

TEST_P(app, verifies_under_every_boundary_and_precision) {
  for (const char* precision : {"float", "double"})
    for (const char* boundary : {"fixed", "dirichlet", "dirichlet:0.5", "neumann", "periodic"})
      for (const char* init : {"smooth", "random"}) {
        const result r = run(GetParam(), split("--size " + size_for(GetParam()) +
                                               " --steps 7 --verify --quiet --seed 3 --precision " +
                                               precision + " --boundary " + boundary + " --init " + init));
        EXPECT_EQ(r.status, 0) << precision << " " << boundary << " " << init << "\n" << r.err;
        EXPECT_EQ(r.err, "");
        if (std::string(GetParam()) != "jacobi") { EXPECT_EQ(r.out, "") << "quiet"; }
      }
}

TEST_P(app, verification_fails_on_a_nan) {
  const result r =
      run(GetParam(), split("--size " + size_for(GetParam()) + " --steps 2 --verify --init nan"));
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.err.find("nan"), std::string::npos) << r.err;
}
TEST(verification, can_fail_for_other_reasons_than_nan) {
  // The plain loops of these apps sum in another order than the library: 50 steps of noise in float are not
  // bit for bit the same.
  for (const std::string name : {"heat", "wave", "gray_scott"}) {
    const result r =
        run(name,
            split("--size " + size_for(name) +
                  " --steps 50 --verify --init random --precision float --boundary periodic --tolerance 0"));
    EXPECT_EQ(r.status, 1) << name;
    EXPECT_NE(r.err.find("tolerance"), std::string::npos) << r.err;
  }
}

TEST_P(app, helps) {
  const result r = run(GetParam(), {"--help"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "");
  for (const char* option : {"--size", "--steps", "--precision", "--boundary", "--seed", "--verify",
                             "--tolerance", "--init", "--output", "--report", "--quiet", "--help"})
    EXPECT_NE(r.out.find(option), std::string::npos) << option;
}

TEST_P(app, seed_and_only_the_seed_decides_the_first_state) {
  const folder here;
  const auto picture = [&](const std::string& name, const std::string& seed) {
    const result r = run(GetParam(), split("--steps 0 --init random --quiet --size " + size_for(GetParam()) +
                                           " --seed " + seed + " --output " + (here / name)));
    EXPECT_EQ(r.status, 0) << r.err;
    return read_file(here / name);
  };
  const std::string first = picture("a.png", "1"), again = picture("b.png", "1"),
                    other = picture("c.png", "2");
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

struct image {
  int width = 0, height = 0;
  std::vector<unsigned char> pixels; // RGB
};
image read_png(const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&png, path.c_str()))
    throw std::runtime_error(std::string("no PNG: ") + png.message);
  png.format = PNG_FORMAT_RGB;
  image out{int(png.width), int(png.height), std::vector<unsigned char>(PNG_IMAGE_SIZE(png))};
  if (!png_image_finish_read(&png, nullptr, out.pixels.data(), 0, nullptr))
    throw std::runtime_error(png.message);
  return out;
}

TEST(picture, shows_every_cell_of_a_field_of_ordinary_size) {
  const folder here;
  const result r = run("heat", split("--size 300x520 --steps 3 --quiet --output " + (here / "field.png")));
  ASSERT_EQ(r.status, 0) << r.err;
  const image png = read_png(here / "field.png");
  EXPECT_EQ(png.height, 300);
  EXPECT_EQ(png.width, 520);
  std::set<std::array<unsigned char, 3>> colours;
  for (std::size_t i = 0; i + 2 < png.pixels.size(); i += 3)
    colours.insert({png.pixels[i], png.pixels[i + 1], png.pixels[i + 2]});
  EXPECT_GT(colours.size(), 20u) << "bumps are no flat picture";
}
TEST(picture, of_a_block_is_its_middle_plane) {
  const folder here;
  const result r = run("wave", split("--size 5x300x520 --steps 1 --quiet --output " + (here / "field.png")));
  ASSERT_EQ(r.status, 0) << r.err;
  const image png = read_png(here / "field.png");
  EXPECT_EQ(png.height, 300);
  EXPECT_EQ(png.width, 520);
}
TEST(picture, keeps_the_shape_of_tiny_and_huge_fields) {
  const folder here;
  ASSERT_EQ(run("heat", split("--size 3x5 --steps 0 --quiet --output " + (here / "tiny.png"))).status, 0);
  const image tiny = read_png(here / "tiny.png");
  EXPECT_EQ(tiny.width * 3, tiny.height * 5);
  EXPECT_EQ(tiny.width % 5, 0);
  ASSERT_EQ(run("heat", split("--size 1000x8000 --steps 0 --quiet --output " + (here / "huge.png"))).status,
            0);
  const image huge = read_png(here / "huge.png");
  EXPECT_EQ(huge.width, huge.height * 8);
  EXPECT_LE(huge.width, 8000);
}
TEST(picture, marks_a_nan) {
  const folder here;
  const auto colours = [&](const std::string& init) {
    EXPECT_EQ(run("heat", split("--size 300x520 --steps 0 --quiet --init " + init + " --output " +
                                (here / "field.png")))
                  .status,
              0);
    const image png = read_png(here / "field.png");
    const std::size_t middle = 3 * (150 * 520 + 260);
    return std::array{png.pixels[middle], png.pixels[middle + 1], png.pixels[middle + 2]};
  };
  EXPECT_NE(colours("nan"), colours("smooth"));
}

TEST_P(app, reports_what_it_did) {
  const folder here;
  const result r =
      run(GetParam(),
          split("--size " + size_for(GetParam()) +
                " --steps 6 --verify --quiet --seed 9 --precision float --boundary neumann --report " +
                (here / "report.json")));
  ASSERT_EQ(r.status, 0) << r.err;
  const json report = json::parse(read_file(here / "report.json"));
  EXPECT_EQ(report.at("app"), GetParam());
  EXPECT_EQ(report.at("backend"), std::string(APP_SUFFIX).substr(1));
  EXPECT_EQ(report.at("precision"), "float");
  EXPECT_EQ(report.at("boundary"), "neumann");
  EXPECT_EQ(report.at("steps"), 6);
  EXPECT_EQ(report.at("seed"), 9);
  EXPECT_EQ(report.at("size"), std::string(GetParam()) == "wave" ? json({9, 14, 17}) : json({33, 47}));
  EXPECT_EQ(report.at("verified"), true);
  EXPECT_LE(report.at("difference").get<double>(), report.at("tolerance").get<double>());
  EXPECT_GE(report.at("seconds").get<double>(), 0);
  EXPECT_FALSE(report.at("strategy").get<std::string>().empty());
}
TEST_P(app, reports_a_failed_verification_as_such) {
  const folder here;
  EXPECT_EQ(
      run(GetParam(), split("--size " + size_for(GetParam()) +
                            " --steps 1 --verify --init nan --quiet --report " + (here / "report.json")))
          .status,
      1);
  const json report = json::parse(read_file(here / "report.json"));
  EXPECT_EQ(report.at("verified"), false);
  EXPECT_TRUE(report.at("difference").is_null()) << "infinite: JSON has no number for it";
}

// A run that fails leaves older outputs as they were, and no debris.
void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
TEST_P(app, leaves_older_files_alone_when_memory_runs_out) {
  const folder here;
  write_file(here / "field.png", "old picture");
  write_file(here / "report.json", "old report");
  const std::string size = std::string(GetParam()) == "wave" ? "100x1000x1000" : "10000x10000";
  const result r = run(GetParam(),
                       split("--steps 1 --quiet --size " + size + " --output " + (here / "field.png") +
                             " --report " + (here / "report.json")),
                       rlim_t(400) << 20);
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_EQ(read_file(here / "field.png"), "old picture");
  EXPECT_EQ(read_file(here / "report.json"), "old report");
  EXPECT_EQ(here.names(), (std::vector<std::string>{"field.png", "report.json"}));
}
TEST(files, of_a_bad_command_line_are_not_touched) {
  const folder here;
  write_file(here / "field.png", "old picture");
  EXPECT_EQ(run("heat", split("--steps -1 --output " + (here / "field.png"))).status, 2);
  EXPECT_EQ(run("heat", split("--size 5x6 --steps 1 --output " + (here / "field.png") +
                              " --report /no/such/folder/r.json"))
                .status,
            2);
  EXPECT_EQ(read_file(here / "field.png"), "old picture");
  EXPECT_EQ(here.names(), std::vector<std::string>{"field.png"});
}
// One file under two names would hold the report only.
TEST(files, of_picture_and_report_must_differ) {
  const folder here;
  const auto current = std::filesystem::current_path();
  const std::string relative = std::filesystem::relative(here / "field.png", current).string();
  for (const std::string& report : {here / "field.png", relative, "./" + relative}) {
    const result r =
        run("heat", split("--size 5x6 --steps 1 --quiet --output " + relative + " --report " + report));
    EXPECT_EQ(r.status, 2) << report << ": " << r.err;
  }
  EXPECT_TRUE(here.names().empty());
}
TEST(files, are_replaced_by_a_run_that_succeeds) {
  const folder here;
  write_file(here / "report.json", std::string(100000, '#'));
  ASSERT_EQ(run("heat", split("--size 5x6 --steps 1 --quiet --report " + (here / "report.json"))).status, 0);
  EXPECT_EQ(json::parse(read_file(here / "report.json")).at("steps"), 1);
  EXPECT_EQ(here.names(), std::vector<std::string>{"report.json"});
}

TEST(jacobi, prints_milliseconds_and_gcells_per_second) {
  for (const char* stencil : {"2d5pt", "2ds9pt", "2d13pt", "2d17pt", "2d21pt", "2ds25pt", "2d9pt", "2d25pt",
                              "3d7pt", "3d13pt", "3d17pt", "3d27pt", "poisson"}) {
    SCOPED_TRACE(stencil);
    const bool flat = stencil[0] == '2';
    const result r = run("jacobi", split(std::string("--stencil ") + stencil +
                                         " --steps 3 --verify --quiet --boundary periodic --size " +
                                         (flat ? "31x45" : "13x14x15")));
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 1) << r.out;
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\t'), 1) << r.out;
    double milliseconds = -1, rate = -1;
    ASSERT_EQ(std::sscanf(r.out.c_str(), "%lf\t%lf\n", &milliseconds, &rate), 2) << r.out;
    EXPECT_GT(milliseconds, 0);
    EXPECT_GT(rate, 0);
    // One follows from the other: all cells count on a periodic grid.
    const double cells = flat ? 31 * 45 : 13 * 14 * 15;
    EXPECT_NEAR(rate * milliseconds * 1e6, 3 * cells, 1e-3 * 3 * cells);
  }
}
TEST(jacobi, counts_updated_cells_only) {
  const result r = run("jacobi", split("--stencil 2ds25pt --steps 2 --quiet --boundary fixed --size 30x40"));
  double milliseconds = -1, rate = -1;
  ASSERT_EQ(std::sscanf(r.out.c_str(), "%lf\t%lf\n", &milliseconds, &rate), 2) << r.out;
  EXPECT_NEAR(rate * milliseconds * 1e6, 2 * (30 - 12) * (40 - 12), 1);
}

TEST(awkward_sizes, verify) {
  for (const char* size : {"1x1", "1x9", "9x1", "2x2", "257x263", "3x10007", "1x1x1", "2x3x4", "1x7x19"}) {
    const result r =
        run("heat",
            split(std::string("--verify --quiet --init random --steps 5 --boundary neumann --size ") + size));
    EXPECT_EQ(r.status, 0) << size << ": " << r.err;
  }
  EXPECT_EQ(run("heat", split("--verify --quiet --steps 0 --size 257x263")).status, 0);
}

} // namespace apps
