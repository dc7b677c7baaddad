//===-- Passes.cpp - anchors the library --------------------------------------------------------------------------===//

#include "shardc/Sharding/Passes.h"
