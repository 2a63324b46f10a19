// What the persisting part of the L2 cache gains in its two classical uses, each measured without and with
// it:
//
// - several kernels over one small array, while other data streams past and would evict it;
// - a stack of layers, each with a window over its weights that several kernels in turn read.
//
// Windows are set in all three ways: on the stream, on the nodes of a graph, and on single launches. The sums
// are of 32-bit integers, so the arrays must be exactly those that the host computes.
#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <stet/cuda/runtime/l2_set_aside.hpp>
#include <stet/cuda/runtime/l2_window.hpp>
#include <stet/cuda/runtime/launch.hpp>
#include <stet/cuda/runtime/memory.hpp>
#include <stet/cuda/runtime/nvtx.hpp>
#include <stet/cuda/runtime/query_device.hpp>
#include <stet/cuda/runtime/stream.hpp>
#include <string>
#include <vector>

namespace {

using namespace stet::cuda;
using word = std::uint32_t;

constexpr word factor = 1664525; // of the linear congruential generator of Numerical Recipes
constexpr unsigned threads = 256;

struct bad_option : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct options {
  int device, kernels, layers, reads, repeats;
  double set_aside_mib, array_mib, stream_mib, hit_ratio; // 0, 0, -, 0: chosen by the program
  std::string release;
};

/// Element `i` of the stream that is number `seed`.
__host__ __device__ constexpr word noise(word seed, std::int64_t i) {
  word x = static_cast<word>(i) * 2654435761U + static_cast<word>(i >> 32) + seed * 40503U;
  x ^= x >> 15;
  return x * 2246822519U;
}

// --- kernels
// ------------------------------------------------------------------------------------------------------ Four
// words per access: 16 bytes. `count` counts groups of four.

__global__ void fill(uint4* out, std::int64_t count, word seed) {
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = {noise(seed, 4 * i), noise(seed, 4 * i + 1), noise(seed, 4 * i + 2), noise(seed, 4 * i + 3)};
  }
}

/// small = factor · small + Σ streams; `reads` streams of the small array's length lie one behind the other.
/// Requests (2 + reads) · 16 bytes per group.
__global__ void accumulate(uint4* small, const uint4* streams, std::int64_t count, int reads) {
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    uint4 sum = small[i];
    sum = {factor * sum.x, factor * sum.y, factor * sum.z, factor * sum.w};
    for (int r = 0; r < reads; ++r) {
      const uint4 s = streams[r * count + i];
      sum = {sum.x + s.x, sum.y + s.y, sum.z + s.z, sum.w + s.w};
    }
    small[i] = sum;
  }
}

/// *out += Σ weights · (inputs + *bias): what one layer makes of one batch of inputs.
/// Requests (1 + reads) · 16 bytes per group.
__global__ void apply_layer(word* out, const word* bias, const uint4* weights, const uint4* inputs,
                            std::int64_t count, int reads) {
  const word b = bias ? *bias : 0;
  word sum = 0;
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 w = weights[i];
    for (int r = 0; r < reads; ++r) {
      const uint4 s = inputs[r * count + i];
      sum += w.x * (s.x + b) + w.y * (s.y + b) + w.z * (s.z + b) + w.w * (s.w + b);
    }
  }
  for (int lane = 16; lane > 0; lane /= 2) { sum += __shfl_down_sync(~0U, sum, lane); }
  if (threadIdx.x % 32 == 0) { atomicAdd(out, sum); }
}

// --- the measurement
// ----------------------------------------------------------------------------------------------

struct row {
  std::string name;
  double bytes = 0; ///< requested by the kernels, whether from L2 or from memory
  double off_s = std::numeric_limits<double>::infinity();
  double on_s = std::numeric_limits<double>::infinity();
};

std::int64_t set_aside_bytes(const options& options, const device_facts& facts) {
  if (options.set_aside_mib > 0) { return static_cast<std::int64_t>(options.set_aside_mib * (1 << 20)); }
  return std::min(facts.l2_bytes / 4 * 3, facts.persisting_l2_max); // as the CUDA Programming Guide does
}

class bench {
 public:
  bench(const options& options, const device_facts& facts, std::int64_t aside_bytes)
      : options_(options), facts_(facts), current_(facts.ordinal), stream_(facts.ordinal),
        start_(facts.ordinal), stop_(facts.ordinal), aside_bytes_(aside_bytes), count_(array_bytes() / 16),
        chunks_(static_cast<std::int64_t>(options.stream_mib * (1 << 20)) / (16 * count_)),
        batches_(chunks_ / options.reads), small_(count_), streams_(chunks_ * count_),
        weights_(options.layers * count_), results_(std::int64_t{options.layers} * options.kernels),
        grid_(static_cast<unsigned>(
            std::min<std::int64_t>((count_ + threads - 1) / threads, facts.sm_count * 8))) {
    launch(&fill, config("fill"), streams_.data(), streams_.size(), word{1});
    launch(&fill, config("fill"), weights_.data(), weights_.size(), word{2});
    stream_.synchronize();
  }

  /// Bytes of the small array, and of each layer's weights: a multiple of 16.
  std::int64_t bytes() const { return 16 * count_; }
  float hit_ratio(std::int64_t aside) const { return policy(small_.data(), aside).hit_ratio; }

  /// Several kernels over one small array, with a window of the stream.
  row small_array() {
    row row{.name = "several kernels, stream window", .bytes = small_bytes()};
    const auto work = [this] {
      for (int k = 0; k < options_.kernels; ++k) { launch_accumulate(k); }
    };
    for (int i = 0; i <= options_.repeats; ++i) { // the first does not count
      keep(i, row.off_s, measure_small(work));
      with_set_aside([&](l2_set_aside& aside) {
        const l2_window window(stream_, policy(small_.data(), aside.bytes()), facts_, aside.budget());
        keep(i, row.on_s, measure_small(work));
      });
    }
    return row;
  }

  /// The same as a graph, with windows of its nodes.
  row small_array_graph() {
    row row{.name = "several kernels, graph-node windows", .bytes = small_bytes()};
    STET_CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t recorded = nullptr;
    try {
      for (int k = 0; k < options_.kernels; ++k) { launch_accumulate(k); }
    } catch (...) {
      (void)cudaStreamEndCapture(stream_, &recorded);
      if (recorded) { (void)cudaGraphDestroy(recorded); }
      throw;
    }
    STET_CUDA_CHECK(cudaStreamEndCapture(stream_, &recorded));
    const owned<cudaGraph_t> graph{recorded, cudaGraphDestroy};
    const owned<cudaGraphExec_t> plain{instantiate(graph.handle), cudaGraphExecDestroy};

    for (int i = 0; i <= options_.repeats; ++i) {
      keep(i, row.off_s, measure_small([&] { STET_CUDA_CHECK(cudaGraphLaunch(plain.handle, stream_)); }));
      with_set_aside([&](l2_set_aside& aside) {
        const l2_policy window = policy(small_.data(), aside.bytes());
        const l2_budget::lease lease = aside.budget().reserve(window);
        set_l2_window(graph.handle, window, facts_);
        const owned<cudaGraphExec_t> windowed{instantiate(graph.handle), cudaGraphExecDestroy};
        keep(i, row.on_s, measure_small([&] { STET_CUDA_CHECK(cudaGraphLaunch(windowed.handle, stream_)); }));
      });
    }
    return row;
  }

  /// A stack of layers, the weights of each in a window of its launches.
  row layer_stack() {
    row row{.name = "layer stack, launch attributes (" + options_.release + ")",
            .bytes =
                static_cast<double>(bytes()) * (1 + options_.reads) * options_.layers * options_.kernels};
    for (int i = 0; i <= options_.repeats; ++i) {
      keep(i, row.off_s, measure_layers([this] {
             for (int l = 0; l < options_.layers; ++l) {
               for (int b = 0; b < options_.kernels; ++b) { launch_layer(l, b, {}); }
             }
           }));
      with_set_aside([&](l2_set_aside& aside) {
        keep(i, row.on_s, measure_layers([&] {
               for (int l = 0; l < options_.layers; ++l) { launch_windowed_layer(l, aside); }
             }));
      });
    }
    return row;
  }

 private:
  template <class Handle> struct owned {
    Handle handle;
    cudaError_t (*destroy)(Handle);
    owned(Handle h, cudaError_t (*d)(Handle)) : handle(h), destroy(d) {}
    owned(const owned&) = delete;
    owned& operator=(const owned&) = delete;
    ~owned() { (void)destroy(handle); }
  };

  l2_policy policy(const void* base, std::int64_t aside) const {
    l2_policy policy = fitted_l2_policy(base, bytes(), aside, facts_);
    if (options_.hit_ratio > 0) { policy.hit_ratio = static_cast<float>(options_.hit_ratio); }
    return policy;
  }

  /// Three quarters of the set-aside, unless the user says otherwise: a window of all of it thrashes.
  std::int64_t array_bytes() const {
    const std::int64_t bytes = options_.array_mib > 0
                                   ? static_cast<std::int64_t>(options_.array_mib * (1 << 20))
                                   : aside_bytes_ / 4 * 3;
    if (bytes < 16) { throw bad_option("--array: less than 16 bytes"); }
    const double needed = static_cast<double>(bytes / 16 * 16) * options_.reads / (1 << 20);
    if (needed > options_.stream_mib) {
      throw bad_option("--stream: " + std::to_string(options_.stream_mib) +
                       " MiB are less than --reads arrays of " +
                       std::to_string(static_cast<double>(bytes) / (1 << 20)) + " MiB");
    }
    return bytes / 16 * 16;
  }

  double small_bytes() const {
    return static_cast<double>(bytes()) * (2 + options_.reads) * options_.kernels;
  }

  launch_config config(const char* name) const {
    return {.grid = grid_, .block = threads, .stream = stream_, .name = name};
  }

  /// Where batch or kernel number `k` finds what it streams, in groups: all in turn, so that none is in L2
  /// still.
  std::int64_t streams_of(int k) const { return k % batches_ * options_.reads * count_; }

  void launch_accumulate(int k) {
    launch(&accumulate, config("accumulate"), small_.data(), streams_.data() + streams_of(k), count_,
           options_.reads);
  }

  void launch_layer(int l, int b, std::span<const cudaLaunchAttribute> attributes) {
    launch_config with = config("apply_layer");
    with.attributes = attributes;
    word* const out = results_.data() + std::int64_t{l} * options_.kernels + b;
    launch(&apply_layer, with, out, l > 0 ? out - options_.kernels : nullptr, weights_.data() + l * count_,
           streams_.data() + streams_of(b), count_, options_.reads);
  }

  void launch_windowed_layer(int l, l2_set_aside& aside) {
    const l2_policy window = policy(weights_.data() + l * count_, aside.bytes());
    const l2_budget::lease lease = aside.budget().reserve(window);
    const cudaLaunchAttribute persisting = l2_launch_attribute(window, facts_);
    const cudaLaunchAttribute normal = l2_launch_attribute(released(window), facts_);
    for (int b = 0; b < options_.kernels; ++b) {
      const bool release = options_.release == "normal" && b + 1 == options_.kernels;
      launch_layer(l, b, {release ? &normal : &persisting, 1});
    }
    if (options_.release == "reset") {
      stream_.synchronize();
      reset_persisting_l2(facts_.ordinal);
    }
  }

  static cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec = nullptr;
    STET_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
  }

  /// L2 is as it was before: the guard restores the size, the reset takes the persisting lines.
  template <class Body> void with_set_aside(const Body& body) {
    l2_set_aside aside(aside_bytes_, facts_);
    body(aside);
    stream_.synchronize();
    reset_persisting_l2(facts_.ordinal);
  }

  double seconds(const std::function<void()>& work) {
    start_.record(stream_);
    work();
    stop_.record(stream_);
    return stop_.seconds_since(start_);
  }

  static void keep(int repetition, double& best, double seconds) {
    if (repetition > 0) { best = std::min(best, seconds); }
  }

  double measure_small(const std::function<void()>& work) {
    const nvtx_range mark("several kernels");
    small_.fill_bytes(0, stream_);
    const double time = seconds(work);
    std::vector<uint4> found(static_cast<std::size_t>(count_));
    small_.download(found, stream_);
    verify_small(found);
    return time;
  }

  double measure_layers(const std::function<void()>& work) {
    const nvtx_range mark("layer stack");
    results_.fill_bytes(0, stream_);
    const double time = seconds(work);
    std::vector<word> found(static_cast<std::size_t>(results_.size()));
    results_.download(found, stream_);
    verify_layers(found);
    return time;
  }

  void verify_small(const std::vector<uint4>& found) {
    if (expected_small_.empty()) {
      expected_small_.assign(static_cast<std::size_t>(4 * count_), 0);
      for (int k = 0; k < options_.kernels; ++k) {
        for (std::int64_t i = 0; i < 4 * count_; ++i) {
          word sum = factor * expected_small_[i];
          for (int r = 0; r < options_.reads; ++r) { sum += noise(1, 4 * (streams_of(k) + r * count_) + i); }
          expected_small_[i] = sum;
        }
      }
    }
    for (std::int64_t i = 0; i < count_; ++i) {
      const word* const e = &expected_small_[4 * i];
      if (found[i].x != e[0] || found[i].y != e[1] || found[i].z != e[2] || found[i].w != e[3]) {
        throw std::runtime_error("the small array is wrong in words " + std::to_string(4 * i) + " to " +
                                 std::to_string(4 * i + 3));
      }
    }
  }

  void verify_layers(const std::vector<word>& found) {
    if (expected_layers_.empty()) {
      expected_layers_.assign(found.size(), 0);
      for (int l = 0; l < options_.layers; ++l) {
        for (int b = 0; b < options_.kernels; ++b) {
          const int at = l * options_.kernels + b;
          const word bias = l > 0 ? expected_layers_[at - options_.kernels] : 0;
          word sum = 0;
          for (std::int64_t i = 0; i < 4 * count_; ++i) {
            const word w = noise(2, 4 * l * count_ + i);
            for (int r = 0; r < options_.reads; ++r) {
              sum += w * (noise(1, 4 * (streams_of(b) + r * count_) + i) + bias);
            }
          }
          expected_layers_[at] = sum;
        }
      }
    }
    if (found != expected_layers_) { throw std::runtime_error("the layers' results are wrong"); }
  }

  const options options_;
  const device_facts facts_;
  const device_guard current_;
  stream stream_;
  event start_, stop_;
  std::int64_t aside_bytes_;
  std::int64_t count_;   ///< groups of four words in the small array
  std::int64_t chunks_;  ///< arrays of that length in the streamed data
  std::int64_t batches_; ///< runs of `reads` such arrays
  device_array<uint4> small_, streams_, weights_;
  device_array<word> results_; // (layers, kernels)
  unsigned grid_;
  std::vector<word> expected_small_, expected_layers_;
};

void print(const row& row) {
  std::printf("%-42s %9.3f %9.3f %9.0f %9.0f %7.2f\n", row.name.c_str(), 1e3 * row.off_s, 1e3 * row.on_s,
              1e-9 * row.bytes / row.off_s, 1e-9 * row.bytes / row.on_s, row.off_s / row.on_s);
}

void run(const options& options) {
  const device_facts facts = query_device(options.device);
  const std::int64_t wanted = set_aside_bytes(options, facts);
  const std::int64_t granted = l2_set_aside(wanted, facts).bytes(); // says at once when there can be none
  bench bench(options, facts, wanted);
  std::cout << facts << "\n";
  std::printf("set aside %.1f MiB of at most %.1f, window up to %.1f; array %.1f MiB with hit ratio %.2f\n\n",
              static_cast<double>(granted) / (1 << 20),
              static_cast<double>(facts.persisting_l2_max) / (1 << 20),
              static_cast<double>(facts.access_policy_window_max) / (1 << 20),
              static_cast<double>(bench.bytes()) / (1 << 20), bench.hit_ratio(granted));
  std::printf("%-42s %9s %9s %9s %9s %7s\n", "persisting L2", "off ms", "on ms", "off GB/s", "on GB/s",
              "gain");
  print(bench.small_array());
  print(bench.small_array_graph());
  print(bench.layer_stack());
  std::printf("\nall results are those of the host\n");
}

namespace po = boost::program_options;

/// Returns false when --help was given.
bool parse(int argc, char** argv, options& options) {
  po::options_description all("l2_reuse: what persisting L2 gains where data is used again; options");
  auto add = all.add_options();
  add("device", po::value(&options.device)->default_value(0), "ordinal of the device");
  add("set-aside", po::value(&options.set_aside_mib)->default_value(0),
      "MiB of L2 set aside; 0: three quarters, or what the device allows");
  add("array", po::value(&options.array_mib)->default_value(0),
      "MiB of the small array and of each layer; 0: three quarters of the set-aside");
  add("hit-ratio", po::value(&options.hit_ratio)->default_value(0),
      "share of the lines that persist, up to 1; 0: what fits into the set-aside");
  add("reads", po::value(&options.reads)->default_value(2), "streamed arrays that each kernel reads beside");
  add("stream", po::value(&options.stream_mib)->default_value(512), "MiB of streamed data");
  add("kernels", po::value(&options.kernels)->default_value(16), "kernels in a row, and in each layer");
  add("layers", po::value(&options.layers)->default_value(4), "layers in the stack");
  add("repeats", po::value(&options.repeats)->default_value(5),
      "measurements of each, of which the best counts");
  add("release", po::value(&options.release)->default_value("normal"),
      "how a layer's lines are released: normal (by its last kernel), reset (waits) or window (not at all)");
  add("help", "this text");

  po::variables_map values;
  try {
    po::store(po::command_line_parser(argc, argv).options(all).positional({}).run(), values);
    if (values.count("help")) {
      std::cout << all;
      return false;
    }
    po::notify(values);
  } catch (const po::error& error) { throw bad_option(error.what()); }

  const auto within = [](const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      char text[160];
      std::snprintf(text, sizeof text, "--%s: %g is not from %g to %g", name, value, low, high);
      throw bad_option(text);
    }
  };
  within("device", options.device, 0, 1023);
  within("set-aside", options.set_aside_mib, 0, 1 << 20);
  within("array", options.array_mib, 0, 1 << 20);
  within("hit-ratio", options.hit_ratio, 0, 1);
  within("reads", options.reads, 1, 64);
  within("stream", options.stream_mib, 1, 1 << 20);
  within("kernels", options.kernels, 2, 100000);
  within("layers", options.layers, 1, 1000);
  within("repeats", options.repeats, 1, 100000);
  if (options.release != "normal" && options.release != "reset" && options.release != "window") {
    throw bad_option("--release: '" + options.release + "' is not normal, reset or window");
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  try {
    options options{};
    if (parse(argc, argv, options)) { run(options); }
    return 0;
  } catch (const bad_option& error) {
    std::cerr << "l2_reuse: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) { // stet::cuda::error among them
    std::cerr << "l2_reuse: " << error.what() << "\n";
    return 1;
  }
}
