// Stands for ldmatrix: a lane reads its own operand elements from LDS. Along K they are contiguous in an untransposed tile.
#pragma once
#include <cute/atom/copy_traits.hpp>
#include <hipport/cute/tile.h>

namespace cute {
using SM75_U32x4_LDSM_N = UniversalCopy<conditional_t<hipport::tile::values == 4, uint64_t, uint128_t>>;
using SM75_U16x8_LDSM_T = UniversalCopy<uint16_t>;
}  // namespace cute
