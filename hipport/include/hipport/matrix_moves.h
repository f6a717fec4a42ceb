// ldmatrix, stmatrix, movmatrix: matrices between shared memory and the fragments of mma.sync. Lane = 4 g + q.
// Source: PTX ISA 9.7.14.5, "ldmatrix", "stmatrix", "movmatrix".
#pragma once

#include <hipport/mma_lanes.h>

namespace hipport {

/// ldmatrix: lanes 8 i ... 8 i + 7 give the addresses of the rows of matrix i (8 x 8 elements of 16 bits); lane 4 g + q gets
/// elements 2 q, 2 q + 1 of row g, or of column g for Trans. P: pointer to shared memory or generic.
template <int Count, bool Trans, class P> __device__ inline vec<unsigned, Count> ldmatrix(P row) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u;
  const unsigned address = ptx::lds_address(row);
  vec<unsigned, Count> result;
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if constexpr (Trans) {
      const unsigned first = detail::from_lane(address, 8u * i + 2u * q) + 2u * g;
      const unsigned second = detail::from_lane(address, 8u * i + 2u * q + 1u) + 2u * g;
      result[i] = ptx::pack(*ptx::shared<const unsigned short>(first), *ptx::shared<const unsigned short>(second));
    } else {
      result[i] = *ptx::shared<const unsigned>(detail::from_lane(address, 8u * i + g) + 4u * q);
    }
  }
  return result;
}

/// stmatrix: the reverse of ldmatrix.
template <int Count, bool Trans, class P> __device__ inline void stmatrix(P row, vec<unsigned, Count> values) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u;
  const unsigned address = ptx::lds_address(row);
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    if constexpr (Trans) {
      const unsigned first = detail::from_lane(address, 8u * i + 2u * q) + 2u * g;
      const unsigned second = detail::from_lane(address, 8u * i + 2u * q + 1u) + 2u * g;
      *ptx::shared<unsigned short>(first) = static_cast<unsigned short>(values[i]);
      *ptx::shared<unsigned short>(second) = static_cast<unsigned short>(values[i] >> 16);
    } else {
      *ptx::shared<unsigned>(detail::from_lane(address, 8u * i + g) + 4u * q) = values[i];
    }
  }
}

/// movmatrix.trans: transpose an 8 x 8 matrix of 16-bit elements that lies in the layout of ldmatrix.
__device__ inline unsigned movmatrix_trans(unsigned value) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u, source = 8u * q + (g >> 1), shift = 16u * (g & 1u);
  const unsigned first = detail::from_lane(value, source), second = detail::from_lane(value, source + 4u);
  return ((first >> shift) & 0xffffu) | (((second >> shift) & 0xffffu) << 16);
}

/// How ldmatrix finds bytes in a row of 16: bytes, or 4- or 6-bit elements without their padding, each in the low bits of a byte.
enum class RowFormat { b8, b6x16_p32, b4x16_p64 };

namespace detail {
template <RowFormat Format> __device__ inline unsigned row_byte(unsigned row, unsigned column) {
  if constexpr (Format == RowFormat::b8) {
    return *ptx::shared<const unsigned char>(row + column);
  } else {
    constexpr unsigned width = Format == RowFormat::b4x16_p64 ? 4 : 6;
    const unsigned bit = width * column, at = row + bit / 8, shift = bit % 8;
    unsigned value = *ptx::shared<const unsigned char>(at) >> shift;
    if (shift + width > 8) value |= static_cast<unsigned>(*ptx::shared<const unsigned char>(at + 1)) << (8 - shift);
    return value & ((1u << width) - 1);
  }
}
}  // namespace detail

/// ldmatrix.m8n16: matrix i has 8 rows of 16 small elements, whose addresses lanes 8 i ... give; a lane gets elements 4 q ... 4 q + 3
/// of row g as bytes.
template <int Count, RowFormat Format, class P> __device__ inline vec<unsigned, Count> ldmatrix_m8n16(P row) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u, address = ptx::lds_address(row);
  vec<unsigned, Count> result{};
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
    const unsigned from = detail::from_lane(address, 8u * i + g);
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) result[i] |= detail::row_byte<Format>(from, 4u * q + e) << (8 * e);
  }
  return result;
}
/// ldmatrix.m16n16.trans: matrix i has 16 rows of 16 elements, whose addresses lanes 16 i ... give; a lane gets rows 4 q ... 4 q + 3 of
/// column g in one register and of column g + 8 in the next.
template <int Count, RowFormat Format, class P> __device__ inline vec<unsigned, 2 * Count> ldmatrix_m16n16_trans(P row) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u, address = ptx::lds_address(row);
  vec<unsigned, 2 * Count> result{};
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned from = detail::from_lane(address, 16u * i + 4u * q + e);
      result[2 * i] |= detail::row_byte<Format>(from, g) << (8 * e);
      result[2 * i + 1] |= detail::row_byte<Format>(from, g + 8u) << (8 * e);
    }
  }
  return result;
}
/// stmatrix.m16n8.trans.b8: matrix i goes to 8 rows of 16 bytes, whose addresses lanes 8 i ... give; a lane brings columns g and g + 8
/// of rows 2 q and 2 q + 1.
template <int Count, class P> __device__ inline void stmatrix_m16n8_trans(P row, vec<unsigned, Count> values) {
  const unsigned lane = lane_id(), g = lane >> 2, q = lane & 3u, address = ptx::lds_address(row);
#pragma unroll
  for (unsigned i = 0; i < Count; ++i) {
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned to = detail::from_lane(address, 8u * i + 2u * q + (e & 1u)) + g + 4u * (e & 2u);
      *ptx::shared<unsigned char>(to) = static_cast<unsigned char>(values[i] >> (8 * e));
    }
  }
}

}  // namespace hipport
