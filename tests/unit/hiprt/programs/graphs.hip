// Graphs: captured and built by hand, queried, changed, updated, launched.
#include "check.h"

__global__ void add(int* p, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += k;
}
__global__ void scale(int* p, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= k;
}
__device__ int symbol[4];

static int calls = 0;
static void count(void* step) { calls += *(int*)step; }
static int destroyed = 0;
static void destroy(void*) { ++destroyed; }

int main() {
  const int n = 200;
  int *p = nullptr, *q = nullptr, *host = nullptr;
  OK(hipMalloc((void**)&p, n * 4));
  OK(hipMalloc((void**)&q, n * 4));
  OK(hipHostMalloc((void**)&host, n * 4, 0));
  hipStream_t a, b;
  OK(hipStreamCreate(&a));
  OK(hipStreamCreate(&b));
  hipEvent_t fork, join;
  OK(hipEventCreate(&fork));
  OK(hipEventCreate(&join));

  // Capture over two streams: nothing runs until launch.
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  OK(hipMemset(p, 0, n * 4));
  OK(hipMemset(q, 0, n * 4));
  OK(hipStreamBeginCapture(a, hipStreamCaptureModeGlobal));
  add<<<1, 256, 0, a>>>(p, n, 1);
  OK(hipEventRecord(fork, a));
  OK(hipStreamWaitEvent(b, fork, 0));
  scale<<<1, 256, 0, a>>>(p, n, 3);
  add<<<1, 256, 0, b>>>(q, n, 7);
  OK(hipEventRecord(join, b));
  OK(hipStreamWaitEvent(a, join, 0));
  OK(hipMemcpyAsync(host, p, n * 4, hipMemcpyDeviceToHost, a));
  OK(hipStreamEndCapture(a, &graph));
  int value = 5;
  OK(hipMemcpy(&value, p, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(value, 0);
  size_t nodes = 0, edges = 0, roots = 0;
  OK(hipGraphGetNodes(graph, nullptr, &nodes));
  OK(hipGraphGetRootNodes(graph, nullptr, &roots));
  OK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
  EXPECT(nodes == 4 && roots == 1 && edges == 4);
  OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(hipGraphUpload(exec, a));
  for (int i = 0; i < 3; ++i) OK(hipGraphLaunch(exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[0], ((0 + 1) * 3 + 1) * 3 * 3 + 3);  // x -> 3(x + 1), three times: 39
  OK(hipMemcpy(&value, q + n - 1, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(value, 21);

  // The same graph by hand, every kind of node.
  hipGraph_t built = nullptr;
  OK(hipGraphCreate(&built, 0));
  RETURNS(hipErrorInvalidValue, hipGraphCreate(&built, 1));
  hipGraphNode_t fill, kernel, copy, host_node, empty, record, wait, child, to_symbol, from_symbol, linear, alloc, release, batch;
  hipMemsetParams m{};
  m.dst = p;
  m.elementSize = 4;
  m.value = 10;
  m.width = n;
  m.height = 1;
  m.pitch = n * 4;
  OK(hipGraphAddMemsetNode(&fill, built, nullptr, 0, &m));
  int count_ = n, k = 4;
  void* args[] = {&p, &count_, &k};
  hipKernelNodeParams kp{};
  kp.func = (void*)add;
  kp.gridDim = dim3(1);
  kp.blockDim = dim3(256);
  kp.kernelParams = args;
  OK(hipGraphAddKernelNode(&kernel, built, &fill, 1, &kp));
  hipMemcpy3DParms cp{};
  cp.srcPtr = make_hipPitchedPtr(p, n * 4, n * 4, 1);
  cp.dstPtr = make_hipPitchedPtr(host, n * 4, n * 4, 1);
  cp.extent = make_hipExtent(n * 4, 1, 1);
  cp.kind = hipMemcpyDeviceToHost;
  OK(hipGraphAddMemcpyNode(&copy, built, &kernel, 1, &cp));
  int step = 2;
  hipHostNodeParams hp{count, &step};
  OK(hipGraphAddHostNode(&host_node, built, &copy, 1, &hp));
  OK(hipGraphAddEmptyNode(&empty, built, &host_node, 1));
  OK(hipGraphAddEventRecordNode(&record, built, &empty, 1, join));
  OK(hipGraphAddEventWaitNode(&wait, built, &record, 1, join));
  int four[4] = {1, 2, 3, 4}, read[4] = {};
  OK(hipGraphAddMemcpyNodeToSymbol(&to_symbol, built, nullptr, 0, HIP_SYMBOL(symbol), four, 16, 0, hipMemcpyHostToDevice));
  OK(hipGraphAddMemcpyNodeFromSymbol(&from_symbol, built, &to_symbol, 1, read, HIP_SYMBOL(symbol), 16, 0, hipMemcpyDeviceToHost));
  OK(hipGraphAddMemcpyNode1D(&linear, built, &kernel, 1, q, p, n * 4, hipMemcpyDeviceToDevice));
  OK(hipGraphInstantiateWithFlags(&exec, built, 0));
  OK(hipGraphLaunch(exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT(host[0] == 14 && host[n - 1] == 14 && calls == 2 && read[3] == 4);
  OK(hipMemcpy(&value, q + 5, 4, hipMemcpyDeviceToHost));
  EXPECT_EQ(value, 14);

  // Queries give back what was put in.
  hipGraphNodeType type;
  OK(hipGraphNodeGetType(kernel, &type));
  EXPECT_EQ(type, hipGraphNodeTypeKernel);
  hipKernelNodeParams kq{};
  OK(hipGraphKernelNodeGetParams(kernel, &kq));
  EXPECT(kq.func == (void*)add && kq.blockDim.x == 256 && *(int*)kq.kernelParams[2] == 4);
  hipMemsetParams mq{};
  OK(hipGraphMemsetNodeGetParams(fill, &mq));
  EXPECT(mq.dst == p && mq.value == 10 && mq.width == (size_t)n);
  hipMemcpy3DParms cq{};
  OK(hipGraphMemcpyNodeGetParams(copy, &cq));
  EXPECT(cq.dstPtr.ptr == host && cq.extent.width == n * 4u);
  HIP_MEMCPY3D driver{};
  OK(hipDrvGraphMemcpyNodeGetParams(copy, &driver));
  EXPECT(driver.WidthInBytes == n * 4u && driver.Height == 1);
  hipHostNodeParams hq{};
  OK(hipGraphHostNodeGetParams(host_node, &hq));
  EXPECT(hq.fn == count && hq.userData == &step);
  hipEvent_t eq = nullptr;
  OK(hipGraphEventRecordNodeGetEvent(record, &eq));
  EXPECT(eq == join);
  OK(hipGraphEventWaitNodeGetEvent(wait, &eq));
  EXPECT(eq == join);
  hipGraphNode_t list[8];
  size_t m8 = 8;
  OK(hipGraphNodeGetDependencies(copy, list, &m8));
  EXPECT(m8 == 1 && list[0] == kernel);
  m8 = 8;
  OK(hipGraphNodeGetDependentNodes(kernel, list, &m8));
  EXPECT_EQ(m8, 2u);
  RETURNS(hipErrorInvalidValue, hipGraphMemsetNodeGetParams(kernel, &mq));
  RETURNS(hipErrorInvalidValue, hipGraphAddDependencies(built, &copy, &fill, 1));  // would close a cycle
  OK(hipGraphAddDependencies(built, &fill, &copy, 1));
  RETURNS(hipErrorInvalidValue, hipGraphAddDependencies(built, &fill, &copy, 1));  // twice
  OK(hipGraphRemoveDependencies(built, &fill, &copy, 1));
  RETURNS(hipErrorInvalidValue, hipGraphRemoveDependencies(built, &fill, &copy, 1));

  // Changing the graph leaves the executable one alone; changing that one works by its own calls.
  k = 5;
  OK(hipGraphKernelNodeSetParams(kernel, &kp));
  m.value = 20;
  OK(hipGraphMemsetNodeSetParams(fill, &m));
  OK(hipGraphLaunch_spt(exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[0], 14);
  k = 6;
  OK(hipGraphExecKernelNodeSetParams(exec, kernel, &kp));
  m.value = 30;
  OK(hipGraphExecMemsetNodeSetParams(exec, fill, &m));
  int big = 100;
  hipHostNodeParams hr{count, &big};
  OK(hipGraphExecHostNodeSetParams(exec, host_node, &hr));
  OK(hipGraphExecEventRecordNodeSetEvent(exec, record, fork));
  OK(hipGraphExecEventWaitNodeSetEvent(exec, wait, fork));
  OK(hipGraphExecMemcpyNodeSetParams(exec, copy, &cp));
  OK(hipGraphExecMemcpyNodeSetParams1D(exec, linear, q, p, 8, hipMemcpyDeviceToDevice));
  OK(hipGraphExecMemcpyNodeSetParamsToSymbol(exec, to_symbol, HIP_SYMBOL(symbol), four + 2, 8, 8, hipMemcpyHostToDevice));
  OK(hipGraphExecMemcpyNodeSetParamsFromSymbol(exec, from_symbol, read, HIP_SYMBOL(symbol), 16, 0, hipMemcpyDeviceToHost));
  calls = 0;
  OK(hipGraphLaunch(exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT(host[0] == 36 && calls == 100 && read[0] == 1 && read[3] == 4);
  OK(hipDrvGraphExecMemcpyNodeSetParams(exec, copy, &driver, nullptr));
  OK(hipGraphMemcpyNodeSetParams(copy, &cp));
  OK(hipGraphMemcpyNodeSetParams1D(linear, q, p, 4, hipMemcpyDeviceToDevice));
  OK(hipGraphMemcpyNodeSetParamsToSymbol(to_symbol, HIP_SYMBOL(symbol), four, 16, 0, hipMemcpyHostToDevice));
  OK(hipGraphMemcpyNodeSetParamsFromSymbol(from_symbol, read, HIP_SYMBOL(symbol), 16, 0, hipMemcpyDeviceToHost));
  OK(hipDrvGraphMemcpyNodeSetParams(copy, &driver));
  OK(hipGraphHostNodeSetParams(host_node, &hp));
  OK(hipGraphEventRecordNodeSetEvent(record, fork));
  OK(hipGraphEventWaitNodeSetEvent(wait, fork));

  // A whole update: the exec takes over the graph's parameters (k = 5, fill 20).
  hipGraphNode_t bad = nullptr;
  hipGraphExecUpdateResult result;
  OK(hipGraphExecUpdate(exec, built, &bad, &result));
  EXPECT_EQ(result, hipGraphExecUpdateSuccess);
  OK(hipGraphLaunch(exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[0], 25);
  RETURNS(hipErrorGraphExecUpdateFailure, hipGraphExecUpdate(exec, graph, &bad, &result));
  EXPECT_EQ(result, hipGraphExecUpdateErrorTopologyChanged);

  // Disabled nodes are skipped.
  unsigned enabled = 9;
  OK(hipGraphNodeSetEnabled(exec, kernel, 0));
  OK(hipGraphNodeGetEnabled(exec, kernel, &enabled));
  EXPECT_EQ(enabled, 0u);
  OK(hipGraphLaunch(exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[0], 20);
  unsigned long long flags = 9;
  OK(hipGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, 0u);

  // Attributes, clones, children.
  hipLaunchAttributeValue attribute{}, got{};
  attribute.priority = 3;
  OK(hipGraphKernelNodeSetAttribute(kernel, hipLaunchAttributePriority, &attribute));
  OK(hipGraphKernelNodeGetAttribute(kernel, hipLaunchAttributePriority, &got));
  EXPECT_EQ(got.priority, 3);
  hipGraphNode_t kernel2;
  OK(hipGraphAddKernelNode(&kernel2, built, nullptr, 0, &kp));
  OK(hipGraphKernelNodeCopyAttributes(kernel, kernel2));
  OK(hipGraphKernelNodeGetAttribute(kernel2, hipLaunchAttributePriority, &got));
  EXPECT_EQ(got.priority, 3);
  OK(hipGraphDestroyNode(kernel2));
  hipGraph_t clone = nullptr, parent = nullptr, inner = nullptr;
  OK(hipGraphClone(&clone, built));
  hipGraphNode_t twin = nullptr;
  OK(hipGraphNodeFindInClone(&twin, kernel, clone));
  EXPECT(twin != nullptr && twin != kernel);
  OK(hipGraphCreate(&parent, 0));
  OK(hipGraphAddChildGraphNode(&child, parent, nullptr, 0, built));
  OK(hipGraphChildGraphNodeGetGraph(child, &inner));
  OK(hipGraphGetNodes(inner, nullptr, &nodes));
  EXPECT_EQ(nodes, 10u);
  hipGraphInstantiateParams ip{};
  hipGraphExec_t parent_exec = nullptr;
  OK(hipGraphInstantiateWithParams(&parent_exec, parent, &ip));
  EXPECT_EQ(ip.result_out, hipGraphInstantiateSuccess);
  OK(hipGraphLaunch(parent_exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[0], 25);
  OK(hipGraphExecChildGraphNodeSetParams(parent_exec, child, built));

  // Driver forms and generic nodes.
  hipGraph_t more = nullptr;
  OK(hipGraphCreate(&more, 0));
  hipGraphNode_t dcopy, dfill, generic;
  OK(hipDrvGraphAddMemcpyNode(&dcopy, more, nullptr, 0, &driver, nullptr));
#if HIP_VERSION_MAJOR >= 7
  hipMemsetParams dm = m;
#else
  HIP_MEMSET_NODE_PARAMS dm{p, (size_t)n * 4, 40, 4, (size_t)n, 1};
#endif
  dm.value = 40;
  OK(hipDrvGraphAddMemsetNode(&dfill, more, nullptr, 0, &dm, nullptr));
  OK(hipGraphAddDependencies(more, &dfill, &dcopy, 1));
  hipGraphNodeParams gp{};
  gp.type = hipGraphNodeTypeKernel;
  gp.kernel = kp;
  k = 2;
  OK(hipGraphAddNode(&generic, more, &dfill, 1, &gp));
  OK(hipGraphAddDependencies(more, &generic, &dcopy, 1));
  hipGraphExec_t more_exec = nullptr;
  OK(hipGraphInstantiate(&more_exec, more, nullptr, nullptr, 0));
  OK(hipGraphLaunch(more_exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[7], 42);
  dm.value = 50;
  OK(hipDrvGraphExecMemsetNodeSetParams(more_exec, dfill, &dm, nullptr));
  k = 3;
  OK(hipGraphNodeSetParams(generic, &gp));
  OK(hipGraphExecNodeSetParams(more_exec, generic, &gp));
  OK(hipGraphLaunch(more_exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[7], 53);

  // Memory nodes.
  hipGraph_t memory = nullptr;
  hipGraphExec_t memory_exec = nullptr;
  OK(hipGraphCreate(&memory, 0));
  hipMemAllocNodeParams ap{}, aq{};
  ap.poolProps.allocType = hipMemAllocationTypePinned;
  ap.poolProps.location = {hipMemLocationTypeDevice, 0};
  ap.bytesize = 4096;
  OK(hipGraphAddMemAllocNode(&alloc, memory, nullptr, 0, &ap));
  EXPECT(ap.dptr != nullptr);
  OK(hipGraphMemAllocNodeGetParams(alloc, &aq));
  EXPECT(aq.dptr == ap.dptr && aq.bytesize == 4096);
  OK(hipGraphAddMemFreeNode(&release, memory, &alloc, 1, ap.dptr));
  void* freed = nullptr;
  OK(hipGraphMemFreeNodeGetParams(release, &freed));
  EXPECT(freed == ap.dptr);
  OK(hipGraphInstantiate(&memory_exec, memory, nullptr, nullptr, 0));
  OK(hipGraphLaunch(memory_exec, a));
  OK(hipGraphLaunch(memory_exec, a));
  uint64_t used = 9;
  OK(hipDeviceGetGraphMemAttribute(0, hipGraphMemAttrUsedMemCurrent, &used));
  EXPECT_EQ(used, 0u);
  OK(hipDeviceGetGraphMemAttribute(0, hipGraphMemAttrReservedMemCurrent, &used));
  EXPECT_EQ(used, 4096u);
  used = 0;
  OK(hipDeviceSetGraphMemAttribute(0, hipGraphMemAttrUsedMemHigh, &used));
  OK(hipDeviceGraphMemTrim(0));
  hipGraphNode_t release2;
  OK(hipDrvGraphAddMemFreeNode(&release2, memory, &release, 1, ap.dptr));
  hipStreamBatchMemOpParams op{};
  op.writeValue.operation = hipStreamMemOpWriteValue32;
  op.writeValue.address = host;
  op.writeValue.value = 1234;
  hipBatchMemOpNodeParams bp{nullptr, 1, &op, 0}, bq{};
  hipGraph_t writes = nullptr;
  hipGraphExec_t writes_exec = nullptr;
  OK(hipGraphCreate(&writes, 0));
  OK(hipGraphAddBatchMemOpNode(&batch, writes, nullptr, 0, &bp));
  OK(hipGraphBatchMemOpNodeGetParams(batch, &bq));
  EXPECT(bq.count == 1 && bq.paramArray[0].writeValue.value == 1234);
  OK(hipGraphInstantiate(&writes_exec, writes, nullptr, nullptr, 0));
  OK(hipGraphLaunch(writes_exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[0], 1234);
  op.writeValue.value = 4321;
  OK(hipGraphBatchMemOpNodeSetParams(batch, &bp));
  OK(hipGraphExecBatchMemOpNodeSetParams(writes_exec, batch, &bp));
  OK(hipGraphLaunch(writes_exec, a));
  OK(hipStreamSynchronize(a));
  EXPECT_EQ(host[0], 4321);

  // Capture into a graph that exists already; a node of an allocation that was captured.
  OK(hipStreamBeginCaptureToGraph(a, writes, &batch, nullptr, 1, hipStreamCaptureModeGlobal));
  add<<<1, 256, 0, a>>>(p, n, 1);
  hipGraph_t same = nullptr;
  OK(hipStreamEndCapture(a, &same));
  EXPECT(same == writes);
  OK(hipGraphGetNodes(writes, nullptr, &nodes));
  EXPECT_EQ(nodes, 2u);
  OK(hipGraphDebugDotPrint(writes, "/dev/null", 0));

  // User objects live until the last reference goes.
  hipUserObject_t object = nullptr;
  OK(hipUserObjectCreate(&object, &step, destroy, 1, hipUserObjectNoDestructorSync));
  OK(hipUserObjectRetain(object, 1));
  OK(hipGraphRetainUserObject(writes, object, 1, hipGraphUserObjectMove));
  OK(hipUserObjectRelease(object, 1));
  EXPECT_EQ(destroyed, 0);
  OK(hipGraphReleaseUserObject(writes, object, 1));
  EXPECT_EQ(destroyed, 1);

  OK(hipGraphExecDestroy(exec));
  RETURNS(hipErrorInvalidValue, hipGraphLaunch(exec, a));
  OK(hipGraphDestroy(graph));
  RETURNS(hipErrorInvalidValue, hipGraphDestroy(graph));
  OK(hipGraphDestroy(clone));
  OK(hipGraphDestroy(parent));
  return finish();
}
