// Streams and events: order, queries, waits for values and events, callbacks, capture status.
#include <atomic>
#include <thread>

#include "check.h"

static std::vector<int> log_of_calls;
static void note(void* value) { log_of_calls.push_back((int)(size_t)value); }
static void noted(hipStream_t, hipError_t status, void* value) { log_of_calls.push_back(status == hipSuccess ? (int)(size_t)value : -1); }

int main() {
  hipStream_t a, b, urgent;
  OK(hipStreamCreate(&a));
  OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  OK(hipStreamCreateWithPriority(&urgent, hipStreamNonBlocking, -1));
  RETURNS(hipErrorInvalidValue, hipStreamCreateWithFlags(&a, 77));
  unsigned flags = 9;
  int priority = 9, least = 9, greatest = 9;
  hipDevice_t device = 9;
  OK(hipStreamGetFlags(b, &flags));
  EXPECT_EQ(flags, (unsigned)hipStreamNonBlocking);
  OK(hipStreamGetFlags_spt(nullptr, &flags));
  OK(hipStreamGetPriority(urgent, &priority));
  EXPECT_EQ(priority, -1);
  OK(hipStreamGetPriority_spt(nullptr, &priority));
  EXPECT_EQ(priority, 0);
  OK(hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(least == 1 && greatest == -1);
  OK(hipStreamGetDevice(a, &device));
  EXPECT_EQ(device, 0);
  EXPECT_EQ(hipGetStreamDeviceId(a), 0);
#if HIP_VERSION_MAJOR >= 7
  unsigned long long one = 0, two = 0;
  OK(hipStreamGetId(a, &one));
  OK(hipStreamGetId(b, &two));
  EXPECT(one != two);
  hipLaunchAttributeValue value{};
  value.syncPolicy = hipSyncPolicySpin;
  OK(hipStreamSetAttribute(a, hipLaunchAttributeSynchronizationPolicy, &value));
  OK(hipStreamCopyAttributes(b, a));
  value = {};
  OK(hipStreamGetAttribute(b, hipLaunchAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, hipSyncPolicySpin);
#endif
  uint32_t mask[10] = {0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0}, read[10] = {};
  hipStream_t few;
  OK(hipExtStreamCreateWithCUMask(&few, 10, mask));
  OK(hipExtStreamGetCUMask(few, 10, read));
  EXPECT(read[0] == 0xff && read[1] == 0);
  OK(hipExtStreamGetCUMask(a, 10, read));
  EXPECT(read[0] == ~0u && read[9] == 0xffff);  // 304 units
  OK(hipStreamDestroy(few));
  RETURNS(hipErrorContextIsDestroyed, hipStreamDestroy(few));
  RETURNS(hipErrorInvalidHandle, hipStreamDestroy(nullptr));

  // Callbacks run in the order of the stream.
  OK(hipLaunchHostFunc(a, note, (void*)1));
  OK(hipStreamAddCallback(a, noted, (void*)2, 0));
  OK(hipLaunchHostFunc_spt(nullptr, note, (void*)3));
  OK(hipStreamAddCallback_spt(nullptr, noted, (void*)4, 0));
  OK(hipStreamSynchronize(a));
  OK(hipStreamSynchronize_spt(nullptr));
  EXPECT((log_of_calls == std::vector<int>{1, 2, 3, 4}));
  RETURNS(hipErrorInvalidValue, hipStreamAddCallback(a, nullptr, nullptr, 0));
  RETURNS(hipErrorInvalidValue, hipLaunchHostFunc(a, nullptr, nullptr));
  log_of_calls.clear();

  // A stream that waits for a value holds back what follows it: here, and through an event in another stream.
  volatile uint32_t* gate = nullptr;
  OK(hipHostMalloc((void**)&gate, 64, hipHostMallocMapped));
  gate[0] = 0;
  hipEvent_t event, other;
  OK(hipEventCreate(&event));
  OK(hipEventCreateWithFlags(&other, hipEventDisableTiming));
  RETURNS(hipErrorInvalidValue, hipEventCreateWithFlags(&other, 0x800));
  OK(hipEventQuery(event));  // never recorded: complete
  OK(hipStreamWaitValue32(b, (void*)gate, 5, hipStreamWaitValueEq, 0xffffffff));
  OK(hipLaunchHostFunc(b, note, (void*)10));
  OK(hipEventRecord(event, b));
  OK(hipStreamWaitEvent(urgent, event, 0));
  OK(hipLaunchHostFunc(urgent, note, (void*)11));
  RETURNS(hipErrorNotReady, hipStreamQuery(b));
  RETURNS(hipErrorNotReady, hipStreamQuery(urgent));
  RETURNS(hipErrorNotReady, hipEventQuery(event));
  OK(hipStreamQuery(a));
  OK(hipStreamQuery_spt(nullptr));
  EXPECT(log_of_calls.empty());
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    __atomic_store_n((uint32_t*)gate, 5u, __ATOMIC_RELEASE);
  });
  OK(hipEventSynchronize(event));
  opener.join();
  OK(hipStreamSynchronize(urgent));
  OK(hipStreamQuery(b));
  EXPECT((log_of_calls == std::vector<int>{10, 11}));
  log_of_calls.clear();

  // The null stream waits for blocking streams, and they for it; non-blocking streams take no part.
  gate[0] = 0;
  OK(hipStreamWaitValue32(a, (void*)gate, 1, hipStreamWaitValueGte, 0xffffffff));
  OK(hipLaunchHostFunc(a, note, (void*)20));
  OK(hipLaunchHostFunc(nullptr, note, (void*)21));
  OK(hipLaunchHostFunc(b, note, (void*)22));
  EXPECT((log_of_calls == std::vector<int>{22}));
  OK(hipStreamWriteValue32(b, (void*)gate, 3, 0));
  OK(hipDeviceSynchronize());
  EXPECT((log_of_calls == std::vector<int>{22, 20, 21}));

  uint64_t* wide = (uint64_t*)(gate + 8);
  OK(hipStreamWriteValue64(a, wide, 0x123456789abcull, 0));
  OK(hipStreamWaitValue64(a, wide, 0x120000000000ull, hipStreamWaitValueAnd, ~0ull));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(*wide, 0x123456789abcull);
  hipStreamBatchMemOpParams batch[2] = {};
  batch[0].writeValue.operation = hipStreamMemOpWriteValue32;
  batch[0].writeValue.address = (void*)gate;
  batch[0].writeValue.value = 77;
  batch[1].waitValue.operation = hipStreamMemOpWaitValue32;
  batch[1].waitValue.address = (void*)gate;
  batch[1].waitValue.value = 77;
  batch[1].waitValue.flags = hipStreamWaitValueEq;
  OK(hipStreamBatchMemOp(a, 2, batch, 0));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(gate[0], 77u);
  int on_stack = 0;
  RETURNS(hipErrorInvalidValue, hipStreamWaitValue32(a, &on_stack, 1, 0, ~0u));

  // Elapsed time.
  hipEvent_t start, stop;
  OK(hipEventCreate(&start));
  OK(hipEventCreate(&stop));
  float ms = -1;
  RETURNS(hipErrorInvalidHandle, hipEventElapsedTime(&ms, start, stop));  // not recorded
  OK(hipEventRecord(start, a));
  OK(hipLaunchHostFunc(a, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }, nullptr));
  OK(hipEventRecordWithFlags(stop, a, hipEventRecordDefault));
  OK(hipEventSynchronize(stop));
  OK(hipEventElapsedTime(&ms, start, stop));
  EXPECT(ms >= 29.0f && ms < 2000.0f);
  OK(hipEventRecord_spt(other, nullptr));
  RETURNS(hipErrorInvalidHandle, hipEventElapsedTime(&ms, start, other));  // other has no timing
  OK(hipStreamWaitEvent_spt(nullptr, other, 0));
  OK(hipEventDestroy(start));
  RETURNS(hipErrorInvalidHandle, hipEventDestroy(start));
  RETURNS(hipErrorInvalidHandle, hipEventRecord(start, a));

  // A stream of another device may not record an event of this one.
  OK(hipSetDevice(1));
  hipStream_t far;
  OK(hipStreamCreate(&far));
  RETURNS(hipErrorInvalidHandle, hipEventRecord(stop, far));
  OK(hipStreamWaitEvent(far, stop, 0));
  OK(hipStreamDestroy(far));
  OK(hipSetDevice(0));

  // Capture status.
  hipStreamCaptureStatus status;
  unsigned long long id = 0;
  hipGraph_t graph = nullptr, seen = nullptr;
  const hipGraphNode_t* frontier = nullptr;
  size_t n = 9;
  OK(hipStreamIsCapturing(a, &status));
  EXPECT_EQ(status, hipStreamCaptureStatusNone);
  OK(hipStreamBeginCapture(a, hipStreamCaptureModeThreadLocal));
  RETURNS(hipErrorIllegalState, hipStreamBeginCapture(a, hipStreamCaptureModeGlobal));
  OK(hipLaunchHostFunc(a, note, (void*)30));
  OK(hipStreamIsCapturing(a, &status));
  EXPECT_EQ(status, hipStreamCaptureStatusActive);
  OK(hipStreamGetCaptureInfo(a, &status, &id));
  EXPECT(id != 0);
  OK(hipStreamGetCaptureInfo_v2(a, &status, &id, &seen, &frontier, &n));
  EXPECT_EQ(n, 1u);
  hipGraphNode_t first = frontier[0];
  OK(hipStreamUpdateCaptureDependencies(a, &first, 0, hipStreamSetCaptureDependencies));
  OK(hipLaunchHostFunc(a, note, (void*)31));  // a second root
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  OK(hipThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, hipStreamCaptureModeGlobal);
  void* memory = nullptr;
  OK(hipMalloc(&memory, 64));  // allowed in relaxed mode
  OK(hipThreadExchangeStreamCaptureMode(&mode));
  OK(hipStreamUpdateCaptureDependencies(a, &first, 1, hipStreamAddCaptureDependencies));
  OK(hipStreamEndCapture(a, &graph));
  EXPECT(seen == graph);
  n = 0;
  OK(hipGraphGetRootNodes(graph, nullptr, &n));
  EXPECT_EQ(n, 2u);
  OK(hipStreamBeginCapture_spt(nullptr, hipStreamCaptureModeRelaxed));
  OK(hipStreamIsCapturing_spt(nullptr, &status));
  EXPECT_EQ(status, hipStreamCaptureStatusActive);
  OK(hipStreamGetCaptureInfo_spt(nullptr, &status, &id));
  OK(hipStreamGetCaptureInfo_v2_spt(nullptr, &status, &id, nullptr, nullptr, nullptr));
  OK(hipStreamEndCapture_spt(nullptr, &graph));

  // What breaks a capture.
  OK(hipStreamBeginCapture(a, hipStreamCaptureModeGlobal));
  RETURNS(hipErrorStreamCaptureUnsupported, hipMalloc(&memory, 64));
  RETURNS(hipErrorStreamCaptureInvalidated, hipLaunchHostFunc(a, note, nullptr));
  RETURNS(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(a, &graph));
  OK(hipStreamBeginCapture(a, hipStreamCaptureModeRelaxed));
  RETURNS(hipErrorStreamCaptureUnsupported, hipStreamSynchronize(a));
  RETURNS(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(a, &graph));
  RETURNS(hipErrorIllegalState, hipStreamEndCapture(a, &graph));
  RETURNS(hipErrorStreamCaptureUnsupported, hipStreamBeginCapture(nullptr, hipStreamCaptureModeRelaxed));
  OK(hipStreamBeginCapture(a, hipStreamCaptureModeRelaxed));
  OK(hipEventRecord(event, a));
  RETURNS(hipErrorCapturedEvent, hipEventQuery(event));
  OK(hipStreamWaitEvent(b, event, 0));
  OK(hipLaunchHostFunc(b, note, nullptr));
  RETURNS(hipErrorStreamCaptureUnjoined, hipStreamEndCapture(a, &graph));
  OK(hipStreamBeginCapture(a, hipStreamCaptureModeThreadLocal));
  std::thread stranger([&] { RETURNS(hipErrorStreamCaptureWrongThread, hipStreamEndCapture(a, &graph)); });
  stranger.join();
  OK(hipStreamEndCapture(a, &graph));
  return finish();
}
