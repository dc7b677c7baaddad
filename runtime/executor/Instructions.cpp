//===-- Instructions.cpp - prepared instructions ------------------------------------------------------------------===//

#include "runtime/executor/Instructions.h"

#include "runtime/device/cpu/Arena.h"
#include "runtime/device/cpu/StridedCopy.h"

#include <fmt/format.h>

namespace shardc::rt {

Address::Address(const plan::Program &program, const plan::Operand &operand) {
  const plan::Buffer &buffer = program.buffers(operand.buffer());
  base = buffer.offset() + operand.offset() * elementBytes(buffer.type());
  slotStride = buffer.slot_stride();
  registerIndex = operand.register_();
}

namespace {

plan::ElementType typeOf(const PrepareContext &context, const plan::Operand &operand) {
  return context.program.buffers(operand.buffer()).type();
}

int64_t operandBytes(const PrepareContext &context, const plan::Operand &operand) {
  return elementCount(operand.sizes()) * elementBytes(typeOf(context, operand));
}

std::span<const int64_t> spanOf(const google::protobuf::RepeatedField<int64_t> &values) {
  return {values.data(), static_cast<size_t>(values.size())};
}

class KernelInstruction final : public Instruction {
public:
  KernelInstruction(const PrepareContext &context, const plan::KernelCall &call)
      : kernels(context.kernels), kernel(call.kernel()), items(call.items()), reads(call.reads_size()) {
    for (const auto *operands : {&call.reads(), &call.writes()})
      for (const plan::Operand &operand : *operands) {
        const plan::Buffer &buffer = context.program.buffers(static_cast<int>(operand.buffer()));
        addresses.emplace_back(context.program, operand);
        buffers.push_back({buffer.offset(), buffer.bytes()});
      }
    pointers.resize(addresses.size());
    slots.resize(addresses.size());
  }

  Status run(const RunContext &context) override {
    for (size_t i = 0; i < addresses.size(); ++i) {
      pointers[i] = addresses[i].resolve(context);
      // From the operand back to where its slot begins.
      const char *slot = static_cast<const char *>(pointers[i]) - (addresses[i].base - buffers[i].offset);
      slots[i] = {slot, static_cast<size_t>(buffers[i].bytes)};
    }
    return kernels.run(kernel, {pointers, slots, reads}, *context.control, items, *context.threads);
  }

private:
  struct Place {
    int64_t offset, bytes;
  };
  const Kernels &kernels;
  size_t kernel;
  int64_t items;
  size_t reads;
  std::vector<Address> addresses;
  std::vector<Place> buffers;
  std::vector<void *> pointers;
  std::vector<std::span<const char>> slots;
};

class GemmInstruction final : public Instruction {
public:
  GemmInstruction(const PrepareContext &context, const plan::Gemm &call, Gemm &gemm)
      : gemm(gemm), a(context.program, call.a()), b(context.program, call.b()), c(context.program, call.c()),
        hasBias(call.has_bias()) {
    if (hasBias)
      bias = Address(context.program, call.bias());
  }

  static GemmSpec specOf(const PrepareContext &context, const plan::Gemm &call) {
    auto operand = [](const plan::Operand &view) {
      return GemmOperand{{view.sizes().begin(), view.sizes().end()}, {view.strides().begin(), view.strides().end()}};
    };
    GemmSpec spec;
    spec.a = operand(call.a());
    spec.b = operand(call.b());
    spec.c = operand(call.c());
    spec.hasBias = call.has_bias();
    spec.biasStride = call.has_bias() ? call.bias().strides(0) : 1;
    spec.accumulate = call.accumulate();
    spec.type = typeOf(context, call.a());
    spec.widens = typeOf(context, call.c()) != spec.type;
    return spec;
  }

  Status run(const RunContext &context) override {
    gemm.run(a.resolve(context), b.resolve(context), c.resolve(context), hasBias ? bias.resolve(context) : nullptr,
             context.workspace);
    return {};
  }

private:
  Gemm &gemm;
  Address a, b, c, bias;
  bool hasBias;
};

class CollectiveInstruction final : public Instruction {
public:
  CollectiveInstruction(const PrepareContext &context, const plan::Collective &collective)
      : input(context.program, collective.input()), output(context.program, collective.output()) {
    call.kind = collective.kind();
    call.reduction = collective.reduction();
    call.type = typeOf(context, collective.input());
    call.inputElements = elementCount(collective.input().sizes());
    call.communicator = collective.communicator();
  }

  Status run(const RunContext &context) override {
    call.input = input.resolve(context);
    call.output = output.resolve(context);
    return context.communicator->collective(call);
  }

private:
  Address input, output;
  CollectiveCall call;
};

class GroupInstruction final : public Instruction {
public:
  GroupInstruction(const PrepareContext &context, const plan::Group &group) {
    int pp = context.mesh.axisIndex("pp");
    Coordinates at = context.mesh.coordinates(context.rank);
    for (const plan::Message &message : group.messages()) {
      MessageCall call;
      call.send = message.send();
      call.communicator = message.communicator();
      Coordinates peer = at;
      if (pp >= 0)
        peer[pp] = message.peer();
      call.peer = context.mesh.rank(peer);
      call.bytes = operandBytes(context, message.value());
      call.identity = message.identity(); // the plan outlives the executor
      call.chunk = message.chunk();
      call.backward = message.backward();
      calls.push_back(call);
      addresses.emplace_back(context.program, message.value());
    }
  }

  Status run(const RunContext &context) override {
    for (size_t i = 0; i < calls.size(); ++i) {
      calls[i].data = addresses[i].resolve(context);
      calls[i].microBatch = microBatch(context, addresses[i], calls[i].send);
    }
    return context.communicator->exchange(calls);
  }

private:
  /// Of the register that the value lives in; without one, register 0 is what is sent and 1 what is received.
  static int64_t microBatch(const RunContext &context, const Address &address, bool send) {
    size_t index = address.registerIndex >= 0 ? address.registerIndex : (send ? 0 : 1);
    if (index >= context.registers.size())
      index = 0;
    return context.registers.empty() ? 0 : context.registers[index].microBatch;
  }

  std::vector<MessageCall> calls;
  std::vector<Address> addresses;
};

class LoadInputInstruction final : public Instruction {
public:
  LoadInputInstruction(const PrepareContext &context, const plan::LoadInput &load)
      : input(load.input()), type(context.plan.inputs(input).type()), padding(context.plan.inputs(input).padding()),
        value(context.program, load.value()), rows(load.value().sizes(0)),
        rowBytes(load.value().strides(0) * elementBytes(typeOf(context, load.value()))) {}

  static Status check(const PrepareContext &context, const plan::LoadInput &load) {
    const plan::Input &input = context.plan.inputs(load.input());
    const plan::Operand &value = load.value();
    std::vector<int64_t> expected = {context.plan.training().micro_batch()};
    expected.insert(expected.end(), input.sample_shape().begin(), input.sample_shape().end());
    std::vector<int64_t> shape(value.sizes().begin(), value.sizes().end());
    plan::Operand row = value;
    if (!row.sizes().empty()) {
      row.mutable_sizes()->erase(row.sizes().begin());
      row.mutable_strides()->erase(row.strides().begin());
    }
    if (shape == expected && isContiguous(row) && typeOf(context, value) == input.type())
      return {};
    return Status(StatusKind::Corrupt,
                  fmt::format("input '{}': loads {} of {}, expected {} of {} in contiguous rows", input.name(),
                              formatShape(shape), elementName(typeOf(context, value)), formatShape(expected),
                              elementName(input.type())));
  }

  /// Micro-batch m of a step is samples [m·mb·dp, (m+1)·mb·dp), of which replica r takes rows [r·mb, (r+1)·mb).
  Status run(const RunContext &context) override {
    char *target = value.resolve(context);
    int64_t microBatch = context.registers.empty() ? 0 : context.registers[0].microBatch;
    int64_t first = (microBatch * context.replicas + context.replica) * context.microBatchSamples;
    for (int64_t row = 0; row < rows; ++row, target += rowBytes) {
      int64_t sample = context.samples[first + row];
      if (sample < 0)
        fill(type, target, rowBytes, static_cast<double>(padding));
      else
        SHARDRT_RETURN_IF_ERROR(context.dataset->read(input, sample, target));
    }
    return {};
  }

private:
  int input;
  plan::ElementType type;
  int64_t padding;
  Address value;
  int64_t rows, rowBytes;
};

class CopyInstruction final : public Instruction {
public:
  CopyInstruction(const PrepareContext &context, const plan::Copy &copy)
      : from(context.program, copy.from()), to(context.program, copy.to()),
        strided(spanOf(copy.from().sizes()), spanOf(copy.from().strides()), spanOf(copy.to().strides()),
                elementBytes(typeOf(context, copy.from()))) {}

  Status run(const RunContext &context) override {
    strided.run(from.resolve(context), to.resolve(context));
    return {};
  }

private:
  Address from, to;
  StridedCopy strided;
};

using Prepared = Result<std::unique_ptr<Instruction>>;

template <typename T, typename... Args> Prepared make(Args &&...args) {
  return Prepared(std::make_unique<T>(std::forward<Args>(args)...));
}

Prepared prepareGemm(const PrepareContext &context, const plan::Gemm &call) {
  plan::ElementType factors = typeOf(context, call.a()), result = typeOf(context, call.c());
  bool widens = (factors == plan::BF16 || factors == plan::F16) && result == plan::F32;
  bool hasOtherBias = call.has_bias() && typeOf(context, call.bias()) != result;
  if (typeOf(context, call.b()) != factors || (result != factors && !widens) || hasOtherBias)
    return Status(StatusKind::Unsupported, "operands of different element types");
  SHARDRT_ASSIGN(Gemm * gemm, context.gemms.get(GemmInstruction::specOf(context, call)));
  return make<GemmInstruction>(context, call, *gemm);
}

} // namespace

Prepared prepareInstruction(const PrepareContext &context, const plan::Instruction &instruction) {
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    return make<KernelInstruction>(context, instruction.kernel());
  case plan::Instruction::kGemm:
    return prepareGemm(context, instruction.gemm());
  case plan::Instruction::kCollective:
    return make<CollectiveInstruction>(context, instruction.collective());
  case plan::Instruction::kGroup:
    return make<GroupInstruction>(context, instruction.group());
  case plan::Instruction::kLoadInput:
    SHARDRT_RETURN_IF_ERROR(LoadInputInstruction::check(context, instruction.load_input()));
    return make<LoadInputInstruction>(context, instruction.load_input());
  case plan::Instruction::kCopy:
    return make<CopyInstruction>(context, instruction.copy());
  default:
    return Status(StatusKind::Corrupt, "an instruction of an unknown kind");
  }
}

} // namespace shardc::rt
