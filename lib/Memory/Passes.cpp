//===-- Passes.cpp - anchors the library -----------------------------------------------------------------------===//

#include "shardc/Memory/Passes.h"
