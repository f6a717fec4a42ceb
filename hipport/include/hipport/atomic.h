// cuda::atomic and cuda::atomic_ref of libcu++ for AMD GPUs, over clang's scoped atomics.
//
//   hipport::atomic_ref<int, hipport::thread_scope_block> counter(*p);
//   counter.fetch_add(1, std::memory_order_relaxed);
//
// Operations are atomic among the threads of the scope (thread, block, device, system) with the order given, as in the
// libcu++ documentation; without an order they are sequentially consistent. compare_exchange never fails by chance.
// wait and notify are left out: a use of them does not compile.
//
// Sources: libcu++ documentation, "cuda::atomic_ref"; clang documentation, "__hip_atomic builtins" and their scopes.
#pragma once

#include <atomic>
#include <hip/hip_runtime.h>

namespace hipport {

enum thread_scope {
  thread_scope_system = __HIP_MEMORY_SCOPE_SYSTEM,
  thread_scope_device = __HIP_MEMORY_SCOPE_AGENT,
  thread_scope_block = __HIP_MEMORY_SCOPE_WORKGROUP,
  thread_scope_thread = __HIP_MEMORY_SCOPE_SINGLETHREAD,
};

#define HIPPORT_ATOMIC_FN __attribute__((host)) __attribute__((device)) inline

// The builtins want a constant order: one call per order.
#define HIPPORT_BY_ORDER(call)                               \
  switch (order) {                                           \
    case std::memory_order_relaxed: call(__ATOMIC_RELAXED);  \
    case std::memory_order_consume:                          \
    case std::memory_order_acquire: call(__ATOMIC_ACQUIRE);  \
    case std::memory_order_release: call(__ATOMIC_RELEASE);  \
    case std::memory_order_acq_rel: call(__ATOMIC_ACQ_REL);  \
    default: call(__ATOMIC_SEQ_CST);                         \
  }
#define HIPPORT_FETCH(name)                                                                          \
  HIPPORT_ATOMIC_FN T name(T value, std::memory_order order = std::memory_order_seq_cst) const {     \
    HIPPORT_BY_ORDER(HIPPORT_CALL_##name)                                                            \
  }

template <typename T, thread_scope Scope = thread_scope_system>
class atomic_ref {
 public:
  using value_type = T;

  HIPPORT_ATOMIC_FN explicit atomic_ref(T& object) : object_(&object) {}

  HIPPORT_ATOMIC_FN T load(std::memory_order order = std::memory_order_seq_cst) const {
    if (order == std::memory_order_relaxed) return __hip_atomic_load(object_, __ATOMIC_RELAXED, Scope);
    if (order == std::memory_order_seq_cst) return __hip_atomic_load(object_, __ATOMIC_SEQ_CST, Scope);
    return __hip_atomic_load(object_, __ATOMIC_ACQUIRE, Scope);
  }
  HIPPORT_ATOMIC_FN void store(T value, std::memory_order order = std::memory_order_seq_cst) const {
    if (order == std::memory_order_relaxed) return __hip_atomic_store(object_, value, __ATOMIC_RELAXED, Scope);
    if (order == std::memory_order_seq_cst) return __hip_atomic_store(object_, value, __ATOMIC_SEQ_CST, Scope);
    __hip_atomic_store(object_, value, __ATOMIC_RELEASE, Scope);
  }

#define HIPPORT_CALL_exchange(o) return __hip_atomic_exchange(object_, value, o, Scope)
#define HIPPORT_CALL_fetch_add(o) return __hip_atomic_fetch_add(object_, value, o, Scope)
#define HIPPORT_CALL_fetch_sub(o) return __hip_atomic_fetch_add(object_, static_cast<T>(-value), o, Scope)
#define HIPPORT_CALL_fetch_and(o) return __hip_atomic_fetch_and(object_, value, o, Scope)
#define HIPPORT_CALL_fetch_or(o) return __hip_atomic_fetch_or(object_, value, o, Scope)
#define HIPPORT_CALL_fetch_xor(o) return __hip_atomic_fetch_xor(object_, value, o, Scope)
#define HIPPORT_CALL_fetch_min(o) return __hip_atomic_fetch_min(object_, value, o, Scope)
#define HIPPORT_CALL_fetch_max(o) return __hip_atomic_fetch_max(object_, value, o, Scope)
  HIPPORT_FETCH(exchange)
  HIPPORT_FETCH(fetch_add)
  HIPPORT_FETCH(fetch_sub)
  HIPPORT_FETCH(fetch_and)
  HIPPORT_FETCH(fetch_or)
  HIPPORT_FETCH(fetch_xor)
  HIPPORT_FETCH(fetch_min)
  HIPPORT_FETCH(fetch_max)
#undef HIPPORT_CALL_exchange
#undef HIPPORT_CALL_fetch_add
#undef HIPPORT_CALL_fetch_sub
#undef HIPPORT_CALL_fetch_and
#undef HIPPORT_CALL_fetch_or
#undef HIPPORT_CALL_fetch_xor
#undef HIPPORT_CALL_fetch_min
#undef HIPPORT_CALL_fetch_max

  // The order is the strongest one: never too weak for the two that a caller may give.
  HIPPORT_ATOMIC_FN bool compare_exchange_strong(T& expected, T desired,
                                                 std::memory_order = std::memory_order_seq_cst) const {
    return __hip_atomic_compare_exchange_strong(object_, &expected, desired, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, Scope);
  }
  HIPPORT_ATOMIC_FN bool compare_exchange_strong(T& expected, T desired, std::memory_order, std::memory_order) const {
    return compare_exchange_strong(expected, desired);
  }
  HIPPORT_ATOMIC_FN bool compare_exchange_weak(T& expected, T desired,
                                               std::memory_order = std::memory_order_seq_cst) const {
    return compare_exchange_strong(expected, desired);
  }
  HIPPORT_ATOMIC_FN bool compare_exchange_weak(T& expected, T desired, std::memory_order, std::memory_order) const {
    return compare_exchange_strong(expected, desired);
  }

  HIPPORT_ATOMIC_FN operator T() const { return load(); }
  HIPPORT_ATOMIC_FN T operator=(T value) const { store(value); return value; }
  HIPPORT_ATOMIC_FN T operator++() const { return fetch_add(T(1)) + T(1); }
  HIPPORT_ATOMIC_FN T operator++(int) const { return fetch_add(T(1)); }
  HIPPORT_ATOMIC_FN T operator--() const { return fetch_sub(T(1)) - T(1); }
  HIPPORT_ATOMIC_FN T operator--(int) const { return fetch_sub(T(1)); }
  HIPPORT_ATOMIC_FN T operator+=(T value) const { return fetch_add(value) + value; }
  HIPPORT_ATOMIC_FN T operator-=(T value) const { return fetch_sub(value) - value; }

 private:
  T* object_;
};

// An object that is accessed atomically only. Members are those of the reference to its own value.
template <typename T, thread_scope Scope = thread_scope_system>
class atomic {
 public:
  using value_type = T;

  HIPPORT_ATOMIC_FN constexpr atomic(T value = T()) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

#define HIPPORT_FORWARD(name)                                                                  \
  HIPPORT_ATOMIC_FN T name(T value, std::memory_order order = std::memory_order_seq_cst) {     \
    return ref().name(value, order);                                                           \
  }
  HIPPORT_FORWARD(exchange)
  HIPPORT_FORWARD(fetch_add)
  HIPPORT_FORWARD(fetch_sub)
  HIPPORT_FORWARD(fetch_and)
  HIPPORT_FORWARD(fetch_or)
  HIPPORT_FORWARD(fetch_xor)
  HIPPORT_FORWARD(fetch_min)
  HIPPORT_FORWARD(fetch_max)
#undef HIPPORT_FORWARD

  HIPPORT_ATOMIC_FN T load(std::memory_order order = std::memory_order_seq_cst) const { return ref().load(order); }
  HIPPORT_ATOMIC_FN void store(T value, std::memory_order order = std::memory_order_seq_cst) { ref().store(value, order); }
  template <typename... Orders>
  HIPPORT_ATOMIC_FN bool compare_exchange_strong(T& expected, T desired, Orders... orders) {
    return ref().compare_exchange_strong(expected, desired, orders...);
  }
  template <typename... Orders>
  HIPPORT_ATOMIC_FN bool compare_exchange_weak(T& expected, T desired, Orders... orders) {
    return ref().compare_exchange_weak(expected, desired, orders...);
  }

  HIPPORT_ATOMIC_FN operator T() const { return load(); }
  HIPPORT_ATOMIC_FN T operator=(T value) { store(value); return value; }
  HIPPORT_ATOMIC_FN T operator++() { return ++ref(); }
  HIPPORT_ATOMIC_FN T operator++(int) { return ref()++; }
  HIPPORT_ATOMIC_FN T operator--() { return --ref(); }
  HIPPORT_ATOMIC_FN T operator--(int) { return ref()--; }
  HIPPORT_ATOMIC_FN T operator+=(T value) { return ref() += value; }
  HIPPORT_ATOMIC_FN T operator-=(T value) { return ref() -= value; }

 private:
  HIPPORT_ATOMIC_FN atomic_ref<T, Scope> ref() const { return atomic_ref<T, Scope>(const_cast<T&>(value_)); }

  alignas(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0 ? sizeof(T) : alignof(T)) T value_;
};

#undef HIPPORT_FETCH
#undef HIPPORT_BY_ORDER
#undef HIPPORT_ATOMIC_FN

}  // namespace hipport
