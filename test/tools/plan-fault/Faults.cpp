#include "Faults.h"

#include <algorithm>
#include <functional>

namespace shardc::rt::test {
namespace {

using Action = plan::Block::Action;

struct Found {
  plan::Program *program = nullptr;
  plan::Block *block = nullptr;
  int index = -1;
  plan::Instruction *instruction() const { return block->mutable_instructions(index); }
  explicit operator bool() const { return index >= 0; }
};

using Test = std::function<bool(const plan::Program &, const plan::Instruction &)>;

/// The first instruction in blocks of an action that passes a test.
Found find(plan::Plan &plan, Action action, const Test &test) {
  for (plan::Program &program : *plan.mutable_programs())
    for (plan::Block &block : *program.mutable_blocks())
      if (block.action() == action)
        for (int i = 0; i < block.instructions_size(); ++i)
          if (test(program, block.instructions(i)))
            return {&program, &block, i};
  return {};
}

bool hasAxis(const plan::Plan &plan, uint32_t communicator, std::string_view name) {
  for (uint32_t axis : plan.communicators(communicator).axes())
    if (plan.mesh().axes(axis).name() == name && plan.mesh().axes(axis).size() > 1)
      return true;
  return false;
}

/// An all-reduce or reduce-scatter over one axis (and no other, if it is `only`).
Test reduces(const plan::Plan &plan, std::string_view axis) {
  return [&plan, axis](const plan::Program &, const plan::Instruction &instruction) {
    const plan::Collective &collective = instruction.collective();
    return instruction.has_collective() &&
           (collective.kind() == plan::Collective::ALL_REDUCE ||
            collective.kind() == plan::Collective::REDUCE_SCATTER) &&
           plan.communicators(collective.communicator()).axes_size() == 1 &&
           hasAxis(plan, collective.communicator(), axis);
  };
}

/// Takes an instruction out; who waited for it waits for what it waited for.
void erase(const Found &found) {
  plan::Instruction removed = *found.instruction();
  found.block->mutable_instructions()->DeleteSubrange(found.index, 1);
  if (removed.records() < 0)
    return;
  for (plan::Instruction &instruction : *found.block->mutable_instructions()) {
    auto *waits = instruction.mutable_waits();
    auto it = std::find(waits->begin(), waits->end(), uint32_t(removed.records()));
    if (it == waits->end())
      continue;
    waits->erase(it);
    waits->MergeFrom(removed.waits());
  }
}

bool removeMessage(plan::Plan &plan, bool send) {
  Found found = find(plan, plan::Block::COMMUNICATE, [&](const plan::Program &, const plan::Instruction &instruction) {
    for (const plan::Message &message : instruction.group().messages())
      if (message.send() == send)
        return true;
    return false;
  });
  if (!found)
    return false;
  auto *messages = found.instruction()->mutable_group()->mutable_messages();
  for (int m = 0; m < messages->size(); ++m)
    if (messages->Get(m).send() == send) {
      messages->DeleteSubrange(m, 1);
      break;
    }
  if (messages->empty())
    erase(found);
  return true;
}

/// Swaps what the first two collectives of a block do, streams and events staying where they are.
bool swapCollectives(plan::Plan &plan, Action action, bool acrossStages) {
  for (plan::Program &program : *plan.mutable_programs())
    for (plan::Block &block : *program.mutable_blocks()) {
      if (block.action() != action)
        continue;
      plan::Instruction *first = nullptr;
      for (plan::Instruction &instruction : *block.mutable_instructions()) {
        if (!instruction.has_collective() ||
            hasAxis(plan, instruction.collective().communicator(), "pp") != acrossStages)
          continue;
        if (first && first->collective().SerializeAsString() != instruction.collective().SerializeAsString()) {
          first->mutable_collective()->Swap(instruction.mutable_collective());
          first->mutable_node()->swap(*instruction.mutable_node());
          return true;
        }
        if (!first)
          first = &instruction;
      }
    }
  return false;
}

/// In a stage that sends forward and receives backward from the same peer, what is sent and what is received change
/// places.
bool swapMessages(plan::Plan &plan, bool identities) {
  for (plan::Program &program : *plan.mutable_programs()) {
    std::vector<plan::Message *> sends, receives;
    for (plan::Block &block : *program.mutable_blocks())
      for (plan::Instruction &instruction : *block.mutable_instructions())
        if (instruction.has_group())
          for (plan::Message &message : *instruction.mutable_group()->mutable_messages())
            (message.send() ? sends : receives).push_back(&message);
    for (plan::Message *send : sends)
      for (plan::Message *receive : receives) {
        if (send->backward() || !receive->backward() || send->peer() != receive->peer() ||
            send->value().sizes_size() != receive->value().sizes_size() ||
            !std::equal(send->value().sizes().begin(), send->value().sizes().end(), receive->value().sizes().begin()))
          continue;
        if (identities) {
          send->mutable_identity()->swap(*receive->mutable_identity());
          send->set_backward(true);
          receive->set_backward(false);
        } else {
          plan::Operand value = send->value();
          *send->mutable_value() = receive->value();
          *receive->mutable_value() = value;
        }
        return true;
      }
  }
  return false;
}

bool moveBuffer(plan::Plan &plan, plan::Region from, plan::Region onto) {
  for (plan::Program &program : *plan.mutable_programs())
    for (plan::Buffer &moved : *program.mutable_buffers())
      for (const plan::Buffer &other : program.buffers())
        if (&moved != &other && moved.region() == from && other.region() == onto && moved.bytes() <= other.bytes() &&
            moved.slots() <= other.slots() && (moved.slots() == 1 || moved.slot_stride() <= other.slot_stride()) &&
            moved.bytes() * 2 > other.bytes()) {
          moved.set_offset(other.offset());
          return true;
        }
  return false;
}

/// Two operands of one kernel, alive at once: the scratch that one instruction of the backward reads comes to lie on
/// another one that it reads.
bool moveScratch(plan::Plan &plan) {
  for (plan::Program &program : *plan.mutable_programs())
    for (plan::Block &block : *program.mutable_blocks())
      for (const plan::Instruction &instruction : block.instructions()) {
        if (!instruction.has_gemm())
          continue;
        plan::Buffer &a = *program.mutable_buffers(instruction.gemm().a().buffer());
        plan::Buffer &c = *program.mutable_buffers(instruction.gemm().c().buffer());
        if (&a == &c || c.region() != plan::SCRATCH || c.offset() == a.offset())
          continue;
        c.set_offset(a.offset());
        return c.offset() + c.bytes() <= program.arena_bytes();
      }
  return false;
}

bool removeWait(plan::Plan &plan) {
  Found found = find(plan, plan::Block::FORWARD, [](const plan::Program &, const plan::Instruction &instruction) {
    return instruction.waits_size() > 0 && instruction.stream() == 0;
  });
  if (found)
    found.instruction()->clear_waits();
  return bool(found);
}

bool removeWaitBefore(plan::Plan &plan) {
  Found found = find(plan, plan::Block::BACKWARD, [](const plan::Program &, const plan::Instruction &instruction) {
    return instruction.waits_size() > 0 && instruction.stream() != 0;
  });
  if (found)
    found.instruction()->clear_waits();
  return bool(found);
}

bool removeRecord(plan::Plan &plan) {
  Found found = find(plan, plan::Block::FORWARD, [](const plan::Program &, const plan::Instruction &instruction) {
    return instruction.records() >= 0 && instruction.stream() != 0;
  });
  if (found)
    found.instruction()->set_records(-1);
  return bool(found);
}

bool wrongSlot(plan::Plan &plan) {
  for (plan::Program &program : *plan.mutable_programs()) {
    uint32_t slots = 0;
    for (const plan::Buffer &buffer : program.buffers())
      if (buffer.region() == plan::STASH)
        slots = std::max(slots, buffer.slots());
    int seen = 0;
    for (plan::ScheduleEntry &entry : *program.mutable_schedule())
      if (slots > 1 && program.blocks(entry.block()).action() == plan::Block::BACKWARD && seen++ == 1) {
        entry.mutable_registers(0)->set_slot((entry.registers(0).slot() + 1) % slots);
        return true;
      }
  }
  return false;
}

/// A collective is done once more, on its result.
void repeat(const Found &found) {
  plan::Instruction copy = *found.instruction();
  copy.clear_waits();
  copy.set_records(-1);
  *copy.mutable_collective()->mutable_input() = copy.collective().output();
  *found.block->add_instructions() = copy;
  auto *list = found.block->mutable_instructions();
  for (int i = list->size() - 1; i > found.index + 1; --i)
    list->SwapElements(i, i - 1);
}

bool doubleReduction(plan::Plan &plan) {
  Found found = find(plan, plan::Block::UPDATE, reduces(plan, "dp"));
  if (found)
    repeat(found);
  return bool(found);
}

/// The first and the second backward of a program change their blocks: 0 both, 1 only the first, 2 only the second.
bool swapVariants(plan::Plan &plan, int which) {
  for (plan::Program &program : *plan.mutable_programs()) {
    std::vector<plan::ScheduleEntry *> backwards;
    for (plan::ScheduleEntry &entry : *program.mutable_schedule())
      if (program.blocks(entry.block()).action() == plan::Block::BACKWARD)
        backwards.push_back(&entry);
    if (backwards.size() < 2 || backwards[0]->block() == backwards[1]->block())
      continue;
    uint32_t first = backwards[0]->block(), second = backwards[1]->block();
    if (which != 2)
      backwards[0]->set_block(second);
    if (which != 1)
      backwards[1]->set_block(first);
    return true;
  }
  return false;
}

/// Every group that sends and receives becomes two: all ranks send first.
bool ungroup(plan::Plan &plan) {
  bool any = false;
  for (plan::Program &program : *plan.mutable_programs())
    for (plan::Block &block : *program.mutable_blocks())
      for (int i = 0; i < block.instructions_size(); ++i) {
        plan::Instruction sends = block.instructions(i), receives = sends;
        if (!sends.has_group())
          continue;
        sends.mutable_group()->clear_messages();
        receives.mutable_group()->clear_messages();
        for (const plan::Message &message : block.instructions(i).group().messages())
          *(message.send() ? sends : receives).mutable_group()->add_messages() = message;
        if (sends.group().messages().empty() || receives.group().messages().empty())
          continue;
        sends.set_records(-1);
        receives.clear_waits();
        *block.mutable_instructions(i) = sends;
        *block.add_instructions() = receives;
        for (int j = block.instructions_size() - 1; j > i + 1; --j)
          block.mutable_instructions()->SwapElements(j, j - 1);
        ++i;
        any = true;
      }
  return any;
}

bool updateTwice(plan::Plan &plan) {
  Found found = find(plan, plan::Block::UPDATE, [](const plan::Program &program, const plan::Instruction &instruction) {
    for (const plan::Operand &operand : instruction.kernel().writes())
      if (program.buffers(operand.buffer()).region() == plan::PARAMETER)
        return true;
    return false;
  });
  if (!found)
    return false;
  plan::Instruction copy = *found.instruction();
  copy.set_records(-1);
  copy.clear_waits();
  *found.block->add_instructions() = copy;
  return true;
}

bool dropUpdate(plan::Plan &plan) {
  Found found = find(plan, plan::Block::UPDATE, [](const plan::Program &program, const plan::Instruction &instruction) {
    for (const plan::Operand &operand : instruction.kernel().writes())
      if (program.buffers(operand.buffer()).region() == plan::PARAMETER)
        return true;
    return false;
  });
  if (found)
    erase(found);
  return bool(found);
}

bool dropBackward(plan::Plan &plan) {
  plan::Program &program = *plan.mutable_programs(plan.programs_size() - 1);
  for (int e = program.schedule_size() - 1; e >= 0; --e)
    if (program.blocks(program.schedule(e).block()).action() == plan::Block::BACKWARD) {
      program.mutable_schedule()->DeleteSubrange(e, 1);
      return true;
    }
  return false;
}

/// Whether an instruction writes a region, and nothing else.
bool writesOnly(const plan::Program &program, const plan::Instruction &instruction, plan::Region region) {
  std::vector<const plan::Operand *> list;
  for (const plan::Operand &operand : instruction.kernel().writes())
    list.push_back(&operand);
  if (instruction.has_gemm())
    list.push_back(&instruction.gemm().c());
  return !list.empty() && std::all_of(list.begin(), list.end(), [&](const plan::Operand *operand) {
    return program.buffers(operand->buffer()).region() == region;
  });
}

bool dropGradient(plan::Plan &plan) {
  for (plan::Program &program : *plan.mutable_programs())
    for (const plan::ScheduleEntry &entry : program.schedule()) {
      plan::Block &block = *program.mutable_blocks(entry.block());
      if (block.action() != plan::Block::BACKWARD || entry.registers(0).micro_batch() == 0)
        continue;
      for (int i = 0; i < block.instructions_size(); ++i)
        if (block.instructions(i).has_gemm() && writesOnly(program, block.instructions(i), plan::GRADIENT)) {
          erase({&program, &block, i});
          return true;
        }
    }
  return false;
}

bool dropOutput(plan::Plan &plan) {
  Found found = find(plan, plan::Block::UPDATE, [](const plan::Program &program, const plan::Instruction &instruction) {
    bool any = false;
    for (const plan::Operand &operand : instruction.kernel().writes()) {
      plan::Region region = program.buffers(operand.buffer()).region();
      if (region == plan::PARAMETER || region == plan::STATE)
        return false;
      any |= region == plan::OUTPUT;
    }
    return any;
  });
  if (found)
    erase(found);
  return bool(found);
}

/// The reduction of a tied gradient is missing in the first program that has it.
bool dropTied(plan::Plan &plan) {
  Found found = find(plan, plan::Block::UPDATE, reduces(plan, "pp"));
  if (found)
    erase(found);
  return bool(found);
}

/// The tied gradient is summed nowhere.
bool untie(plan::Plan &plan) {
  bool any = false;
  while (dropTied(plan))
    any = true;
  return any;
}

/// The tied gradients are summed twice.
bool tieTwice(plan::Plan &plan) {
  bool any = false;
  for (plan::Program &program : *plan.mutable_programs())
    for (plan::Block &block : *program.mutable_blocks())
      for (int i = 0; i < block.instructions_size(); ++i) {
        if (!reduces(plan, "pp")(program, block.instructions(i)))
          continue;
        repeat({&program, &block, i});
        any = true;
        break;
      }
  return any;
}

template <typename Edit> bool editFirst(plan::Plan &plan, Action action, const Test &test, Edit edit) {
  Found found = find(plan, action, test);
  if (found)
    edit(*found.program, *found.instruction());
  return bool(found);
}

bool isKernel(const plan::Program &, const plan::Instruction &instruction) {
  return instruction.has_kernel() && instruction.kernel().reads_size() > 0;
}
bool isGemm(const plan::Program &, const plan::Instruction &instruction) { return instruction.has_gemm(); }
bool isCollective(const plan::Program &, const plan::Instruction &instruction) { return instruction.has_collective(); }
bool isGroup(const plan::Program &, const plan::Instruction &instruction) { return instruction.has_group(); }

bool lastBufferBeyondArena(plan::Plan &plan) {
  plan.mutable_programs(0)->set_arena_bytes(plan.programs(0).arena_bytes() - 64);
  return true;
}

} // namespace

bool dropReduction(plan::Plan &plan, plan::Block::Action action, std::string_view axis) {
  Found found = find(plan, action, reduces(plan, axis));
  if (!found)
    return false;
  for (plan::Block &block : *found.program->mutable_blocks())
    for (int i = 0; i < block.instructions_size(); ++i)
      if (&block != found.block && block.action() == action &&
          reduces(plan, axis)(*found.program, block.instructions(i))) {
        erase({found.program, &block, i});
        break;
      }
  erase(found);
  return true;
}

const std::vector<Fault> &faults() {
  using plan::Block;
  static const std::vector<Fault> list = {
      // Communication
      {"removed-send", "a send is missing", "plan-receive", [](plan::Plan &plan) { return removeMessage(plan, true); }},
      {"removed-receive", "a receive is missing", "plan-send",
       [](plan::Plan &plan) { return removeMessage(plan, false); }},
      {"swapped-collectives", "two collectives of a forward change places", "plan-unwritten",
       [](plan::Plan &plan) { return swapCollectives(plan, Block::FORWARD, false); }},
      {"swapped-collectives-across-stages", "two collectives over pp change places in one program", "plan-deadlock",
       [](plan::Plan &plan) { return swapCollectives(plan, Block::UPDATE, true); }},
      {"swapped-messages", "a forward and a backward message of equal size change places", "plan-message",
       [](plan::Plan &plan) { return swapMessages(plan, true); }},
      {"swapped-message-buffers", "a forward message is sent from the buffer of a backward one", "plan-unwritten",
       [](plan::Plan &plan) { return swapMessages(plan, false); }},
      {"ungrouped", "all ranks send before they receive", "plan-deadlock", ungroup},
      // Memory
      {"moved-stash", "a stash lies on another one", "plan-overlap",
       [](plan::Plan &plan) { return moveBuffer(plan, plan::STASH, plan::STASH); }},
      {"moved-scratch", "the result of a product lies on its operand", "plan-alias", moveScratch},
      {"moved-gradient", "a gradient lies on a parameter", "plan-overlap",
       [](plan::Plan &plan) { return moveBuffer(plan, plan::GRADIENT, plan::PARAMETER); }},
      {"removed-wait", "stream 0 does not wait for a collective", "plan-order", removeWait},
      {"removed-wait-before", "a collective does not wait for what it reads", "plan-order", removeWaitBefore},
      {"removed-record", "a collective does not record its end", "plan-event", removeRecord},
      {"wrong-slot", "a backward uses the stash slot of another micro-batch", "plan-stale", wrongSlot},
      // Reductions
      {"left-out-all-reduce-forward", "an all-reduce over tp is missing in a forward", "plan-partial",
       [](plan::Plan &plan) { return dropReduction(plan, Block::FORWARD, "tp"); }},
      {"left-out-all-reduce-backward", "an all-reduce over tp is missing in a backward", "plan-partial",
       [](plan::Plan &plan) { return dropReduction(plan, Block::BACKWARD, "tp"); }},
      {"left-out-all-reduce-update", "a gradient is not reduced over dp", "plan-partial",
       [](plan::Plan &plan) { return dropReduction(plan, Block::UPDATE, "dp"); }},
      {"doubled-reduction", "a gradient is reduced twice over dp", "plan-reduction", doubleReduction},
      {"left-out-tied", "a tied gradient is not summed in one of its stages", "plan-collective", dropTied},
      {"untied", "a tied gradient is summed nowhere", "plan-tied", untie},
      {"tied-twice", "a tied gradient is summed twice over its stages", "plan-tied", tieTwice},
      // Accumulation and update
      {"accumulated-first", "the first micro-batch adds to the sums of the step before", "plan-unwritten",
       [](plan::Plan &plan) { return swapVariants(plan, 1); }},
      {"overwritten-later", "a later micro-batch overwrites the sums", "plan-accumulate",
       [](plan::Plan &plan) { return swapVariants(plan, 2); }},
      {"updated-twice", "a parameter is updated twice", "plan-parameter", updateTwice},
      {"not-updated", "a parameter is not updated", "plan-parameter", dropUpdate},
      {"missing-backward", "a micro-batch has no backward", "plan-schedule", dropBackward},
      {"no-gradient", "a gradient is not computed in later micro-batches", "plan-gradient", dropGradient},
      {"no-output", "an output is never written", "plan-output", dropOutput},
      // Damaged files
      {"bad-buffer", "the index of a buffer is out of range", "plan-index",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::FORWARD, isKernel, [](plan::Program &, plan::Instruction &instruction) {
           instruction.mutable_kernel()->mutable_reads(0)->set_buffer(1u << 31);
         });
       }},
      {"bad-kernel", "the index of a kernel is out of range", "plan-index",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::FORWARD, isKernel, [](plan::Program &, plan::Instruction &instruction) {
           instruction.mutable_kernel()->set_kernel(UINT32_MAX);
         });
       }},
      {"bad-communicator", "the index of a communicator is out of range", "plan-index",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::UPDATE, isCollective, [](plan::Program &, plan::Instruction &instruction) {
           instruction.mutable_collective()->set_communicator(1000);
         });
       }},
      {"bad-peer", "a message goes to a stage that is not there", "plan-index",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::COMMUNICATE, isGroup, [](plan::Program &, plan::Instruction &instruction) {
           instruction.mutable_group()->mutable_messages(0)->set_peer(77);
         });
       }},
      {"bad-event", "an event is out of range", "plan-index",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::FORWARD, isKernel,
                          [](plan::Program &, plan::Instruction &instruction) { instruction.add_waits(UINT32_MAX); });
       }},
      {"bad-stream", "a stream is out of range", "plan-index",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::FORWARD, isKernel,
                          [](plan::Program &, plan::Instruction &instruction) { instruction.set_stream(UINT32_MAX); });
       }},
      {"bad-register", "a register is out of range", "plan-index",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::FORWARD, isKernel, [](plan::Program &, plan::Instruction &instruction) {
           instruction.mutable_kernel()->mutable_reads(0)->set_register_(5);
         });
       }},
      {"bad-block", "the schedule runs a block that is not there", "plan-index",
       [](plan::Plan &plan) {
         plan.mutable_programs(0)->mutable_schedule(0)->set_block(UINT32_MAX);
         return true;
       }},
      {"bad-slot", "the schedule names a slot that is not there", "plan-index",
       [](plan::Plan &plan) {
         for (plan::ScheduleEntry &entry : *plan.mutable_programs(0)->mutable_schedule())
           for (plan::ScheduleEntry::Register &reg : *entry.mutable_registers())
             reg.set_slot(1u << 30);
         return true;
       }},
      {"bad-micro-batch", "the schedule names a micro-batch that is not there", "plan-index",
       [](plan::Plan &plan) {
         plan.mutable_programs(0)->mutable_schedule(0)->mutable_registers(0)->set_micro_batch(1u << 30);
         return true;
       }},
      {"bad-parameter", "a buffer belongs to a parameter that is not there", "plan-buffer",
       [](plan::Plan &plan) {
         plan.mutable_programs(0)->mutable_buffers(0)->set_parameter(INT32_MAX);
         return true;
       }},
      {"bad-view", "a view leaves its buffer", "plan-operand",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::FORWARD, isGemm, [](plan::Program &, plan::Instruction &instruction) {
           instruction.mutable_gemm()->mutable_a()->set_strides(0, INT64_MAX / 2);
         });
       }},
      {"bad-shape", "a product's operands do not fit", "plan-shape",
       [](plan::Plan &plan) {
         return editFirst(plan, Block::FORWARD, isGemm, [](plan::Program &, plan::Instruction &instruction) {
           int rank = instruction.gemm().a().sizes_size();
           instruction.mutable_gemm()->mutable_a()->set_sizes(rank - 1, 1);
         });
       }},
      {"op-in-no-stage", "an op of the model belongs to no stage", "plan-stage",
       [](plan::Plan &plan) {
         plan::Program &program = *plan.mutable_programs(plan.programs_size() - 1);
         if (program.ops_size() == 0)
           return false;
         program.mutable_ops()->RemoveLast();
         return true;
       }},
      {"op-in-two-stages", "an op of the model belongs to two stages", "plan-stage",
       [](plan::Plan &plan) {
         if (plan.programs_size() < 2 || plan.programs(1).ops_size() == 0)
           return false;
         // An op of the second stage that comes after those of the first.
         plan.mutable_programs(0)->add_ops(*plan.programs(1).ops().rbegin());
         return true;
       }},
      {"repeated-op", "an op stands in the list of its stage twice", "plan-stage",
       [](plan::Plan &plan) {
         plan::Program &program = *plan.mutable_programs(plan.programs_size() - 1);
         if (program.ops_size() == 0)
           return false;
         program.add_ops(*program.ops().rbegin());
         return true;
       }},
      {"foreign-op", "a forward computes an op of another stage", "plan-stage",
       [](plan::Plan &plan) {
         if (plan.programs_size() < 2 || plan.programs(1).ops_size() == 0)
           return false;
         return editFirst(plan, Block::FORWARD, isKernel, [&plan](plan::Program &, plan::Instruction &instruction) {
           instruction.set_origin(*plan.programs(1).ops().rbegin());
         });
       }},
      {"small-arena", "a buffer ends beyond the arena", "plan-buffer", lastBufferBeyondArena},
      {"huge-buffer", "a buffer's bytes overflow", "plan-buffer",
       [](plan::Plan &plan) {
         plan.mutable_programs(0)->mutable_buffers(0)->set_bytes(INT64_MAX);
         return true;
       }},
      {"no-mesh", "a mesh axis has no ranks", "plan-mesh",
       [](plan::Plan &plan) {
         plan.mutable_mesh()->mutable_axes(0)->set_size(0);
         return true;
       }},
      {"no-micro-batches", "a step has no micro-batches", "plan-training",
       [](plan::Plan &plan) {
         plan.mutable_training()->set_micro_batches(0);
         return true;
       }},
  };
  return list;
}

bool plantFault(plan::Plan &plan, const std::string &name) {
  for (const auto *list : {&faults(), &evaluationFaults()})
    for (const Fault &fault : *list)
      if (fault.name == name)
        return fault.plant(plan);
  return false;
}

} // namespace shardc::rt::test
