#ifndef SHARDC_NN_OPS_TD
#define SHARDC_NN_OPS_TD

include "dialects/nn/Elementwise.td"
include "dialects/nn/Shape.td"
include "dialects/nn/Contraction.td"
include "dialects/nn/Reduction.td"
include "dialects/nn/Indexing.td"
include "dialects/nn/Normalization.td"
include "dialects/nn/Loss.td"
include "dialects/nn/Random.td"

#endif
