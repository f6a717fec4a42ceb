// Stands for cp.async: the copy is done when it is issued, so that there is nothing to commit or to wait for. The barrier
// that CUDA code needs behind a wait is the one that makes the data visible here too.
#pragma once
#include <cute/atom/copy_traits.hpp>

namespace cute {
template <class T, class = T>
using SM80_CP_ASYNC_CACHEGLOBAL = UniversalCopy<T>;
template <class T, class = T>
using SM80_CP_ASYNC_CACHEALWAYS = UniversalCopy<T>;

CUTE_HOST_DEVICE void cp_async_fence() {}
template <int N>
CUTE_HOST_DEVICE void cp_async_wait() {}
template <int N>
CUTE_HOST_DEVICE void cp_async_wait(Int<N>) {}
}  // namespace cute
