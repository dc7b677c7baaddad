//===-- Communication.h - what the programs of a plan say to one another ------------------------------------------===//
//
// One step, unrolled to what crosses pp coordinates: groups of messages, and collectives whose communicator spans the
// pp axis, of each program in issue order. Collectives within dp and tp are not here: see Verify.h.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_COMMUNICATION_H
#define SHARDC_RUNTIME_VERIFY_COMMUNICATION_H

#include "runtime/verify/Report.h"

#include <map>
#include <vector>

namespace shardc::rt::verify {

/// One message of one run of a group.
struct Transfer {
  Place place;
  const plan::Message *message;
  uint32_t microBatch;
  int channel; // index into Communication::channels
  int number;  // how many of its side come before it in its channel
};

/// A group, or a collective across pp coordinates.
struct CommunicationStep {
  Place place;
  int firstTransfer, endTransfer;     // of the program's transfers, for groups
  const plan::Collective *collective; // else null
  int number;                         // how many of its communicator come before it in its program
};

/// Messages from one pp coordinate to another through one communicator, in both programs' order. FIFO: the k-th send
/// meets the k-th receive.
struct Channel {
  uint32_t communicator, source, destination;
  std::vector<const Transfer *> sends, receives;
};

struct Communication {
  std::vector<std::vector<CommunicationStep>> steps; // of each program
  std::vector<std::vector<Transfer>> transfers;      // of each program
  std::vector<Channel> channels;
};

/// Unrolls the communication of a well-formed plan. False, and a report, when there is too much of it.
bool unrollCommunication(const plan::Plan &plan, Report &report, Communication &communication);

/// Reports messages and collectives that do not agree with their counterparts.
void checkMatching(const plan::Plan &plan, const Communication &communication, Report &report);

/// Executes communication that matches by rendezvous and reports who waits for whom when that stops early.
void checkDeadlock(const plan::Plan &plan, const Communication &communication, Report &report);

} // namespace shardc::rt::verify

#endif
