#include "TinyPlan.h"

#include "runtime/base/File.h"
#include "runtime/base/XxHash.h"
#include "runtime/format/Query.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace shardc::rt::test {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "shardrt-XXXXXX").string();
  if (!mkdtemp(name.data()))
    std::abort();
  folder = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

namespace {

const char *const kKernelSource = R"(
#include "shardrt/control.h"
typedef const shardrtControl *Control;
/* y, t -> dy, s: one work item a column of y, the loss with the first one. */
void tiny_loss(void *const *b, Control c, int64_t begin, int64_t end) {
  const float *y = b[0], *t = b[1]; float *dy = b[2], *s = b[3];
  float sum = 0;
  for (int64_t i = 0; i < ROWS * 2; ++i) { dy[i] = y[i] - t[i]; sum += 0.5f * dy[i] * dy[i]; }
  *s = sum;
}
/* s -> total */
void tiny_set(void *const *b, Control c, int64_t begin, int64_t end) { *(float *)b[1] = *(float *)b[0]; }
/* s, total -> total */
void tiny_add(void *const *b, Control c, int64_t begin, int64_t end) { *(float *)b[2] = *(float *)b[1] + *(float *)b[0]; }
/* -> scale */
void tiny_scale(void *const *b, Control c, int64_t begin, int64_t end) { *(float *)b[0] = 1.0f / BATCH; }
/* total, scale -> loss */
void tiny_mean(void *const *b, Control c, int64_t begin, int64_t end) { *(float *)b[2] = *(float *)b[0] * *(float *)b[1]; }
/* w, g, scale -> w: one work item an element */
void tiny_sgd(void *const *b, Control c, int64_t begin, int64_t end) {
  const float *w = b[0], *g = b[1], *scale = b[2]; float *out = b[3];
  for (int64_t i = begin; i < end; ++i) out[i] = w[i] - c->learningRate * (*scale * g[i]);
}
)";

enum Kernels { Loss, Set, Add, Scale, Mean, Sgd };

class Builder {
public:
  Builder(const TinyOptions &options, plan::Plan &plan, int p)
      : options(options), program(*plan.add_programs()), first(p == 0), last(p == options.pp - 1) {
    program.set_pp(p);
    program.set_streams(1);
  }

  void build() {
    addBuffers();
    buildForward();
    buildBackward("backward_first", false);
    buildBackward("backward", true);
    buildUpdate();
    addSchedule();
    program.set_arena_bytes(end);
  }

private:
  struct Matrix {
    int buffer;
    int reg;
    int64_t rows, columns;
    bool transposed = false;
  };

  int buffer(const std::string &name, plan::Region region, std::vector<int64_t> shape, int64_t slots = 1,
             int parameter = -1, int block = -1) {
    plan::Buffer &result = *program.add_buffers();
    result.set_name(name);
    result.set_region(region);
    result.set_type(plan::F32);
    for (int64_t size : shape)
      result.add_shape(size);
    result.set_bytes(elementCount(shape) * 4);
    result.set_slots(slots);
    result.set_slot_stride((result.bytes() + 63) / 64 * 64);
    result.set_offset(end);
    result.set_parameter(parameter);
    result.set_block(block);
    end += slots * result.slot_stride();
    return ids[name] = program.buffers_size() - 1;
  }

  void addBuffers() {
    int64_t slots = options.microBatches, rows = options.microBatch;
    if (first) {
      buffer("W0", plan::PARAMETER, {kTinyIn, kTinyHidden}, 1, 0);
      buffer("g0", plan::GRADIENT, {kTinyIn, kTinyHidden}, 1, 0);
      buffer("x", plan::STASH, {rows, kTinyIn}, slots);
    }
    buffer("h", plan::STASH, {rows, kTinyHidden}, slots);
    buffer("dh", plan::MESSAGE, {rows, kTinyHidden});
    buffer("scale", plan::OUTPUT, {});
    output("gradient_scale", "scale");
    if (!last)
      return;
    buffer("W1", plan::PARAMETER, {kTinyHidden, kTinyOut}, 1, 1);
    buffer("g1", plan::GRADIENT, {kTinyHidden, kTinyOut}, 1, 1);
    buffer("dy", plan::STASH, {rows, kTinyOut}, slots);
    buffer("s", plan::STASH, {}, slots);
    buffer("total", plan::GRADIENT, {});
    buffer("t", plan::INPUT, {rows, kTinyOut});
    buffer("y", plan::SCRATCH, {rows, kTinyOut}, 1, -1, 0);
    buffer("loss", plan::OUTPUT, {});
    output("loss", "loss");
  }

  void output(const std::string &name, const std::string &bufferName) {
    plan::Output &result = *program.add_outputs();
    result.set_name(name);
    *result.mutable_value() = operand(bufferName, -1);
  }

  plan::Operand operand(const std::string &name, int reg, bool transposed = false) {
    plan::Operand result;
    const plan::Buffer &of = program.buffers(ids.at(name));
    result.set_buffer(ids.at(name));
    result.set_register_(reg);
    std::vector<int64_t> shape(of.shape().begin(), of.shape().end()), strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;)
      strides[i - 1] = strides[i] * shape[i];
    if (transposed) {
      std::swap(shape[0], shape[1]);
      std::swap(strides[0], strides[1]);
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      result.add_sizes(shape[i]);
      result.add_strides(strides[i]);
    }
    return result;
  }

  plan::Block &addBlock(const std::string &name, plan::Block::Action action) {
    blockIds[name] = program.blocks_size();
    block = program.add_blocks();
    block->set_name(name);
    block->set_action(action);
    return *block;
  }

  plan::Instruction &add(const std::string &node) {
    plan::Instruction &result = *block->add_instructions();
    result.set_records(-1);
    result.set_node(node);
    result.set_origin(-1);
    return result;
  }

  void load(int input, plan::Operand value) {
    plan::LoadInput &result = *add("input").mutable_load_input();
    result.set_input(input);
    *result.mutable_value() = std::move(value);
  }

  void gemm(plan::Operand a, plan::Operand b, plan::Operand c, bool accumulate = false) {
    plan::Gemm &result = *add("MatMul").mutable_gemm();
    *result.mutable_a() = std::move(a);
    *result.mutable_b() = std::move(b);
    *result.mutable_c() = std::move(c);
    result.set_accumulate(accumulate);
  }

  void kernel(Kernels kernel, std::vector<plan::Operand> reads, std::vector<plan::Operand> writes, int64_t items = 1) {
    plan::KernelCall &result = *add("kernel").mutable_kernel();
    result.set_kernel(kernel);
    result.set_items(items);
    for (plan::Operand &read : reads)
      *result.add_reads() = std::move(read);
    for (plan::Operand &write : writes)
      *result.add_writes() = std::move(write);
  }

  void allReduce(const std::string &name) {
    plan::Collective &result = *add("reduce " + name).mutable_collective();
    result.set_communicator(0);
    *result.mutable_input() = operand(name, -1);
    *result.mutable_output() = operand(name, -1);
  }

  void buildForward() {
    addBlock("forward", plan::Block::FORWARD);
    if (first) {
      load(0, operand("x", 0));
      gemm(operand("x", 0), operand("W0", -1), operand("h", 0));
    }
    if (last) {
      load(1, operand("t", -1));
      gemm(operand("h", 0), operand("W1", -1), operand("y", -1));
      kernel(Loss, {operand("y", -1), operand("t", -1)}, {operand("dy", 0), operand("s", 0)});
    }
  }

  void buildBackward(const std::string &name, bool accumulate) {
    addBlock(name, plan::Block::BACKWARD);
    if (last) {
      if (accumulate)
        kernel(Add, {operand("s", 0), operand("total", -1)}, {operand("total", -1)});
      else
        kernel(Set, {operand("s", 0)}, {operand("total", -1)});
      gemm(operand("h", 0, true), operand("dy", 0), operand("g1", -1), accumulate);
      gemm(operand("dy", 0), operand("W1", -1, true), operand("dh", -1));
    }
    if (first)
      gemm(operand("x", 0, true), operand("dh", -1), operand("g0", -1), accumulate);
  }

  void update(const std::string &weight, const std::string &gradient) {
    kernel(Sgd, {operand(weight, -1), operand(gradient, -1), operand("scale", -1)}, {operand(weight, -1)},
           program.buffers(ids.at(weight)).bytes() / 4);
  }

  void buildUpdate() {
    addBlock("update", plan::Block::UPDATE);
    kernel(Scale, {}, {operand("scale", -1)});
    if (first)
      allReduce("g0");
    if (last) {
      allReduce("g1");
      allReduce("total");
      kernel(Mean, {operand("total", -1), operand("scale", -1)}, {operand("loss", -1)});
      update("W1", "g1");
    }
    if (first)
      update("W0", "g0");
  }

  /// A block with one message.
  void message(const std::string &name, const std::string &value, bool send, bool backward) {
    addBlock(name, plan::Block::COMMUNICATE);
    plan::Message &result = *add("message").mutable_group()->add_messages();
    result.set_send(send);
    result.set_communicator(1);
    result.set_peer(first ? 1 : 0);
    *result.mutable_value() = operand(value, value == "h" ? (send ? 0 : 1) : -1);
    result.set_identity(value);
    result.set_backward(backward);
  }

  void run(const std::string &name, int64_t microBatch) {
    plan::ScheduleEntry &entry = *program.add_schedule();
    entry.set_block(blockIds.at(name));
    for (int i = 0; i < 2; ++i) {
      auto *pair = entry.add_registers();
      pair->set_micro_batch(microBatch);
      pair->set_slot(microBatch);
    }
  }

  void addSchedule() {
    if (options.pp > 1) {
      message("communicate_h", "h", first, false);
      message("communicate_dh", "dh", last, true);
    }
    for (int64_t m = 0; m < options.microBatches; ++m) {
      if (!first)
        run("communicate_h", m);
      run("forward", m);
      if (!last)
        run("communicate_h", m);
    }
    for (int64_t m = 0; m < options.microBatches; ++m) {
      if (!last)
        run("communicate_dh", m);
      run(m == 0 ? "backward_first" : "backward", m);
      if (!first)
        run("communicate_dh", m);
    }
    run("update", 0);
  }

  const TinyOptions &options;
  plan::Program &program;
  plan::Block *block = nullptr;
  bool first, last;
  int64_t end = 0;
  std::map<std::string, int> ids, blockIds;
};

void addAxis(plan::Plan &plan, const std::string &name, int64_t size) {
  auto *axis = plan.mutable_mesh()->add_axes();
  axis->set_name(name);
  axis->set_size(size);
}

void addParameters(plan::Plan &plan, const TemporaryFolder &folder) {
  std::string weights;
  const std::vector<int64_t> shapes[] = {{kTinyIn, kTinyHidden}, {kTinyHidden, kTinyOut}};
  for (int i = 0; i < 2; ++i) {
    plan::Parameter &parameter = *plan.add_parameters();
    parameter.set_name(fmt::format("W{}", i));
    parameter.set_type(plan::F32);
    for (int64_t size : shapes[i])
      parameter.add_shape(size);
    parameter.set_file_offset(static_cast<int64_t>(weights.size()));
    parameter.set_trainable(true);
    std::vector<float> values = tinyWeights(i);
    weights.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  }
  plan::WeightFile &file = *plan.add_weight_files();
  file.set_path("weights.bin");
  file.set_bytes(static_cast<int64_t>(weights.size()));
  if (!writeFile(folder.file("weights.bin"), weights).isOk())
    std::abort();
}

void addInput(plan::Plan &plan, const std::string &name, int64_t width) {
  plan::Input &input = *plan.add_inputs();
  input.set_name(name);
  input.set_type(plan::F32);
  input.add_sample_shape(width);
}

void addKernels(plan::Plan &plan, const TinyOptions &options, const TemporaryFolder &folder) {
  for (const char *symbol : {"tiny_loss", "tiny_set", "tiny_add", "tiny_scale", "tiny_mean", "tiny_sgd"})
    plan.add_kernels()->set_symbol(symbol);
  if (!writeFile(folder.file("kernels.c"), kKernelSource).isOk())
    std::abort();
  std::string command = fmt::format("cc -shared -fPIC -O1 -ffp-contract=off -DROWS={} -DBATCH={} -I {} {} -o {}",
                                    options.microBatch, plan.training().global_batch(), SHARDRT_INCLUDE_FOLDER,
                                    folder.file("kernels.c"), folder.file(kKernelsFile));
  if (std::system(command.c_str()) != 0)
    std::abort();
  plan.set_kernels_checksum(xxHash64(*readFile(folder.file(kKernelsFile))));
}

} // namespace

std::vector<float> tinyWeights(int index) {
  std::vector<float> values(index == 0 ? kTinyIn * kTinyHidden : kTinyHidden * kTinyOut);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i * 7 + index * 3) % 11 - 5) / 8.0f;
  return values;
}

LoadedPlan makeTinyPlan(const TinyOptions &options, const TemporaryFolder &folder) {
  plan::Plan plan;
  addAxis(plan, "dp", options.dp);
  addAxis(plan, "pp", options.pp);
  addAxis(plan, "tp", 1);
  plan::Training &training = *plan.mutable_training();
  training.set_micro_batch(options.microBatch);
  training.set_micro_batches(options.microBatches);
  training.set_global_batch(options.microBatch * options.microBatches * options.dp);
  training.set_learning_rate(0.125f);
  training.set_lr_schedule("constant");
  addParameters(plan, folder);
  addInput(plan, "x", kTinyIn);
  addInput(plan, "t", kTinyOut);
  for (uint32_t axis : {0, 1}) {
    plan::Communicator &communicator = *plan.add_communicators();
    communicator.set_name(axis == 0 ? "dp" : "pp");
    communicator.add_axes(axis);
  }
  for (int p = 0; p < options.pp; ++p)
    Builder(options, plan, p).build();
  addKernels(plan, options, folder);
  if (!writeFile(folder.file(kPlanFile), serializePlan(plan)).isOk())
    std::abort();
  auto loaded = loadPlan(folder.path());
  EXPECT_TRUE(loaded.isOk()) << loaded.status().render();
  return std::move(*loaded);
}

void writeNpy(const std::string &path, const std::vector<int64_t> &shape, const std::vector<float> &values) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", fmt::join(shape, ", "));
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  if (!writeFile(path, bytes).isOk())
    std::abort();
}

} // namespace shardc::rt::test
