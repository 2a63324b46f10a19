// Runs are work of one stream: the caller's, or one that neither waits for stream 0 nor is captured.
#include "../sentence.hpp"
#include "device_work.hpp"
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace {

using namespace strategies;
using stet::cuda::device_array;
using stet::cuda::event;
using stet::cuda::stream;

class streams : public gpu_test {
 protected:
  /// What is done with a simulation, by name.
  using action = std::pair<std::string, std::function<void(machine<float>&)>>;

  const shape n_{1, 400, 260}; // strips partly in memory are long
  const std::size_t cells_ = 400 * 260;

  /// Calls f(way, simulation): one with a residual, so that everything can be asked of it.
  template <class F> void for_every_way(F&& f) {
    const auto& s = find_subject<float>("relax");
    const auto given = one_setting(s, n_, "fixed");
    for (const way& how : every_way()) {
      SCOPED_TRACE(how.name());
      f(s, *prepared(s, given, how));
    }
  }
};

/// Work in `user` that begins only when 50 ms have passed in another stream.
struct gate {
  stream before;
  event passed;
  explicit gate(cudaStream_t user) {
    spin_in(before, 50'000'000);
    passed.record(before);
    passed.block(user);
  }
  bool is_open() const { return cudaEventQuery(passed.get()) == cudaSuccess; }
};

TEST_F(streams, runs_come_after_what_the_caller_s_stream_holds) {
  for_every_way([&](const subject<float>&, machine<float>& m) {
    const stream user;
    m.use_stream(user.get());
    m.run(70); // loads kernels
    const gate closed(user);
    m.run(70);
    EXPECT_TRUE(closed.is_open()) << "the run did not wait for the stream it was given";
    (void)cudaGetLastError();
    user.synchronize();
  });
}

TEST_F(streams, reductions_checks_and_copies_do_too) {
  const auto& s = find_subject<float>("relax");
  const auto given = one_setting(s, n_, "fixed");
  std::vector<float> host(cells_);
  device_array<float> device{std::int64_t(cells_)};
  const action actions[] = {{"reduce", [](auto& m) { m.reduce(reduction::sum); }},
                            {"run_until", [](auto& m) { m.run_until(-1, 2, 4); }},
                            {"copy_in", [&](auto& m) { m.copy_in(0, host.data()); }},
                            {"copy_out", [&](auto& m) { m.copy_out(0, host.data()); }},
                            {"copy_in from the device", [&](auto& m) { m.copy_in(0, device.data()); }},
                            {"copy_out to the device", [&](auto& m) { m.copy_out(0, device.data()); }}};
  for (const auto& [name, act] : actions) {
    SCOPED_TRACE(name);
    const stream user;
    const auto m = prepared(s, given, {"resident", "shared"});
    m->use_stream(user.get());
    act(*m);
    const gate closed(user);
    act(*m);
    EXPECT_TRUE(closed.is_open());
    (void)cudaGetLastError();
    user.synchronize();
  }
}

__global__ void count_up(float* cells, int n) {
  for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += int(gridDim.x * blockDim.x))
    cells[i] = float(i % 97) * 0.125F;
}

TEST_F(streams, fields_come_from_and_go_to_memory_in_order) {
  const auto& s = find_subject<float>("relax");
  auto given = one_setting(s, n_, "periodic");
  std::vector<grid<float>> numbers{
      oracle::make_grid<float>(n_, [&](idx, idx y, idx x) { return double((y * n_[2] + x) % 97) * 0.125; })};
  for (const way& how : every_way()) {
    SCOPED_TRACE(how.name());
    auto want_given = given;
    want_given.start = numbers;
    const auto want = prepared(s, want_given, {"per_step"});
    want->run(5);

    const stream user;
    const auto m = prepared(s, given, how);
    m->use_stream(user.get());
    device_array<float> in{std::int64_t(cells_)}, out{std::int64_t(cells_)};
    in.fill_bytes(0xff, user);
    spin_in(user, 20'000'000);
    stet::cuda::launch(&count_up, {.grid = 64, .block = 256, .stream = user, .name = "count_up"}, in.data(),
                       int(cells_));
    m->copy_in(0, in.data());
    m->run(5);
    m->copy_out(0, out.data());
    grid<float> got(n_);
    out.download(got.cells, user);
    EXPECT_TRUE(support::same(got, fields_of(s, *want, n_)[0]));
  }
}

/// Stream 0, held by a host function until release() or for 3 s.
class blocked_stream_0 {
 public:
  blocked_stream_0() { STET_CUDA_CHECK(cudaLaunchHostFunc(cudaStreamLegacy, wait, this)); }
  /// Whether stream 0 was still held until now.
  bool release() {
    released_ = true;
    (void)cudaStreamSynchronize(cudaStreamLegacy);
    return !timed_out_;
  }
  ~blocked_stream_0() { release(); }

 private:
  static void wait(void* self) {
    auto& me = *static_cast<blocked_stream_0*>(self);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    while (!me.released_ && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (!me.released_) me.timed_out_ = true;
  }
  std::atomic<bool> released_{false}, timed_out_{false};
};

// cudaMalloc and cudaFree wait for the whole device: a call that allocates waits, too.
class without_stream_0 : public streams, public ::testing::WithParamInterface<int> {};

TEST_P(without_stream_0, a_run_does_not_wait_for_it) {
  const way how = every_way()[std::size_t(GetParam())];
  const auto& s = find_subject<float>("s2d5pt");
  const auto m = prepared(s, one_setting(s, n_, "fixed"), how);
  m->run(70); // loads kernels
  blocked_stream_0 held;
  m->run(70);
  EXPECT_TRUE(held.release()) << how.name() << " waits for stream 0, or for the whole device (cudaFree)";
}
INSTANTIATE_TEST_SUITE_P(each, without_stream_0, ::testing::Range(0, int(every_way().size())),
                         [](const auto& info) {
                           std::string name = every_way()[std::size_t(info.param)].name();
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST_F(streams, a_reduction_does_not_wait_for_stream_0) {
  const auto& s = find_subject<float>("relax");
  const auto m = prepared(s, one_setting(s, n_, "fixed"), {"per_step"});
  m->reduce(reduction::sum);
  blocked_stream_0 held;
  m->reduce(reduction::sum);
  EXPECT_TRUE(held.release()) << "reduce waits for stream 0, or for the whole device (cudaFree)";
}

/// Begins a capture, expects `act` to refuse at once, and the capture and the simulation to be as before.
template <class Act>
void expect_refused_capture(const subject<float>& s, const shape& n, machine<float>& m, const Act& act) {
  const stream user;
  m.use_stream(user.get());
  m.run(40); // loads kernels
  const auto before = fields_of(s, m, n);
  ASSERT_EQ(cudaStreamBeginCapture(user, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_SENTENCE(act(m), "captur");
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(user, &graph), cudaSuccess) << "the refusal spoilt the capture";
  if (graph) {
    std::size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 0U) << "something was captured before the refusal";
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  (void)cudaGetLastError();
  EXPECT_EQ(m.step(), 40);
  EXPECT_TRUE(same(fields_of(s, m, n), before)) << "the refusal changed the fields";
  m.run(2);
  EXPECT_EQ(m.step(), 42);
}

TEST_F(streams, a_run_in_a_captured_stream_is_refused) {
  for_every_way([&](const subject<float>& s, machine<float>& m) {
    expect_refused_capture(s, n_, m, [](machine<float>& it) { it.run(40); });
  });
}

TEST_F(streams, so_is_everything_else) {
  const auto& s = find_subject<float>("relax");
  const auto given = one_setting(s, n_, "fixed");
  std::vector<float> host(cells_);
  device_array<float> device{std::int64_t(cells_)};
  device.fill_bytes(0, cudaStreamLegacy);
  const action actions[] = {{"reduce", [](auto& m) { m.reduce(reduction::max); }},
                            {"run_until", [](auto& m) { m.run_until(-1, 2, 4); }},
                            {"copy_in", [&](auto& m) { m.copy_in(0, host.data()); }},
                            {"copy_out", [&](auto& m) { m.copy_out(0, host.data()); }},
                            {"copy_in from the device", [&](auto& m) { m.copy_in(0, device.data()); }},
                            {"copy_out to the device", [&](auto& m) { m.copy_out(0, device.data()); }}};
  for (const auto& [name, act] : actions)
    for (const way& how : {way{"per_step"}, way{"resident", "shared"}}) {
      SCOPED_TRACE(name + ", " + how.name());
      expect_refused_capture(s, n_, *prepared(s, given, how), act);
    }
}

// Stream 0 cannot be captured: a graph of launches is out of the question there.
TEST_F(streams, stream_0_can_be_given) {
  const auto& s = find_subject<float>("relax");
  const auto given = one_setting(s, n_, "fixed");
  const auto want = prepared(s, given, {"per_step"});
  want->run(70);
  for (const way& how : every_way()) {
    SCOPED_TRACE(how.name());
    const auto m = prepared(s, given, how);
    m->use_stream(nullptr);
    if (how.strategy == "per_step_graph") {
      try {
        m->run(70);
      } catch (const stet::error& refusal) {
        expect_sentence(refusal.what(), {"stream"});
        EXPECT_TRUE(same(fields_of(s, *m, n_), given.start)) << "the refusal changed the fields";
        (void)cudaGetLastError();
        continue;
      }
    } else {
      m->run(70);
    }
    EXPECT_TRUE(same(fields_of(s, *m, n_), fields_of(s, *want, n_)));
  }
}

TEST_F(streams, a_problem_too_big_for_the_chip_is_refused) {
  const auto& s = find_subject<float>("s2d5pt");
  const shape n{1, 9000, 9000};
  for (const char* cache : {"both", "registers", "shared"}) {
    const auto m = s.make(n);
    m->choose({"resident", cache});
    EXPECT_SENTENCE(m->run(3), "strategy resident");
    EXPECT_EQ(m->step(), 0);
    m->choose({"auto"});
    EXPECT_NE(m->run(3).strategy, "resident");
    EXPECT_EQ(m->step(), 3);
  }
}

} // namespace
