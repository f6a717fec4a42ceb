// Names that CuTe's copy and prefetch compare with; nothing here makes one.
#pragma once
#include <cute/atom/copy_traits.hpp>

namespace cute {
struct SM90_BULK_COPY_AUTO {};
struct SM90_BULK_COPY_G2S {};
struct SM90_BULK_COPY_S2G {};
}  // namespace cute
