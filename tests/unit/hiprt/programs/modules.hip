// Code compiled at run time by hipRTC, loaded as modules; entry points by name.
#include <hip/hiprtc.h>

#include <string>

#include "check.h"

static const char* kSource = R"(
#include "factor.h"
__device__ int offset = 5;
__constant__ int unused[3];
template <int N> __global__ void scale(int* p) { p[threadIdx.x] = p[threadIdx.x] * N * FACTOR + offset; }
extern "C" __global__ void plain(int* p, int k) { p[threadIdx.x] += k; }
)";

#define RTC(call)                                                                                  \
  do {                                                                                             \
    const hiprtcResult got_ = (call);                                                              \
    if (got_ != HIPRTC_SUCCESS) {                                                                  \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hiprtcGetErrorString(got_));       \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

int main() {
  int major = 0, minor = 0;
  RTC(hiprtcVersion(&major, &minor));
  EXPECT(major > 0);
  EXPECT(std::strcmp(hiprtcGetErrorString(HIPRTC_ERROR_COMPILATION), "HIPRTC_ERROR_COMPILATION") == 0);
  const char *headers[] = {"#define FACTOR 10\n"}, *names[] = {"factor.h"};
  hiprtcProgram program = nullptr;
  RTC(hiprtcCreateProgram(&program, kSource, "module.hip", 1, headers, names));
  RTC(hiprtcAddNameExpression(program, "scale<3>"));
  RTC(hiprtcAddNameExpression(program, "&offset"));
  const char* lowered = nullptr;
  EXPECT_EQ(hiprtcGetLoweredName(program, "scale<3>", &lowered), HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
  const char* options[] = {"-DUNUSED=1"};
  RTC(hiprtcCompileProgram(program, 1, options));
  size_t size = 0;
  RTC(hiprtcGetProgramLogSize(program, &size));
  std::string text(size + 1, 0);
  RTC(hiprtcGetProgramLog(program, &text[0]));
  RTC(hiprtcGetCodeSize(program, &size));
  std::vector<char> code(size);
  RTC(hiprtcGetCode(program, code.data()));
  RTC(hiprtcGetLoweredName(program, "scale<3>", &lowered));
  std::string scale_name = lowered;
  EXPECT(scale_name == "_Z5scaleILi3EEvPi");
  RTC(hiprtcGetLoweredName(program, "&offset", &lowered));
  std::string offset_name = lowered;
  EXPECT(offset_name == "offset");
  RTC(hiprtcDestroyProgram(&program));

  hipModule_t module = nullptr;
  OK(hipModuleLoadData(&module, code.data()));
  hipFunction_t scale = nullptr, plain = nullptr;
  OK(hipModuleGetFunction(&scale, module, scale_name.c_str()));
  OK(hipModuleGetFunction(&plain, module, "plain"));
  RETURNS(hipErrorNotFound, hipModuleGetFunction(&plain, module, "absent"));
  OK(hipModuleGetFunction(&plain, module, "plain"));
  hipDeviceptr_t address = nullptr;
  OK(hipModuleGetGlobal(&address, &size, module, offset_name.c_str()));
  EXPECT_EQ(size, 4u);
  RETURNS(hipErrorNotFound, hipModuleGetGlobal(&address, &size, module, "absent"));
  int nine = 9, *p = nullptr, host[4] = {1, 2, 3, 4}, k = 100;
  OK(hipMemcpyHtoD(address, &nine, 4));
  OK(hipMalloc((void**)&p, 16));
  OK(hipMemcpy(p, host, 16, hipMemcpyHostToDevice));
  void* args[] = {&p, &k};
  OK(hipModuleLaunchKernel(scale, 1, 1, 1, 4, 1, 1, 0, nullptr, args, nullptr));
  OK(hipModuleLaunchKernel(plain, 1, 1, 1, 4, 1, 1, 0, nullptr, args, nullptr));
  OK(hipMemcpy(host, p, 16, hipMemcpyDeviceToHost));
  EXPECT(host[0] == 139 && host[3] == 4 * 30 + 9 + 100);

  // From a file, and again from memory; each load has its own variables.
  const char* path = "module.co";
  FILE* file = std::fopen(path, "wb");
  std::fwrite(code.data(), 1, code.size(), file);
  std::fclose(file);
  hipModule_t second = nullptr, third = nullptr, none = nullptr;
  OK(hipModuleLoad(&second, path));
  hipDeviceptr_t other = nullptr;
  OK(hipModuleGetGlobal(&other, &size, second, "offset"));
  EXPECT(other != address);
  int five = 0;
  OK(hipMemcpyDtoH(&five, other, 4));
  EXPECT_EQ(five, 5);
  OK(hipModuleLoadDataEx(&third, code.data(), 0, nullptr, nullptr));
  RETURNS(hipErrorFileNotFound, hipModuleLoad(&none, "/no/such/file"));
  char rubbish[64] = "this is not a code object";
  RETURNS(hipErrorInvalidImage, hipModuleLoadData(&none, rubbish));
#if HIP_VERSION_MAJOR >= 7
  unsigned count = 0;
  OK(hipModuleGetFunctionCount(&count, third));
  EXPECT_EQ(count, 2u);
  OK(hipModuleLoadFatBinary(&none, code.data()));
  hipLibrary_t library = nullptr, from_file = nullptr, back = nullptr;
  OK(hipLibraryLoadData(&library, code.data(), (hipJitOption*)nullptr, (void**)nullptr, 0u, (hipLibraryOption*)nullptr, (void**)nullptr, 0u));
  OK(hipLibraryLoadFromFile(&from_file, path, (hipJitOption*)nullptr, (void**)nullptr, 0u, (hipLibraryOption*)nullptr, (void**)nullptr, 0u));
  OK(hipLibraryGetKernelCount(&count, library));
  EXPECT_EQ(count, 2u);
  hipKernel_t kernel = nullptr, kernels[2] = {};
  OK(hipLibraryGetKernel(&kernel, library, "plain"));
  OK(hipLibraryEnumerateKernels(kernels, 2, library));
  EXPECT(kernels[0] == kernel || kernels[1] == kernel);
  const char* name = nullptr;
  OK(hipKernelGetName(&name, kernel));
  EXPECT(std::strcmp(name, "plain") == 0);
  OK(hipKernelGetLibrary(&back, kernel));
  EXPECT(back == library);
  OK(hipLibraryUnload(library));
  void* driver_entry = nullptr;
  hipDriverEntryPointQueryResult found;
  OK(hipGetDriverEntryPoint("hipMalloc", &driver_entry, 0, &found));
  EXPECT(driver_entry != nullptr && found == hipDriverEntryPointSuccess);
  OK(hipGetDriverEntryPoint_spt("hipMemcpy", &driver_entry, 0, &found));
  EXPECT(driver_entry != nullptr);
#endif
  OK(hipModuleUnload(second));
  RETURNS(hipErrorInvalidHandle, hipModuleUnload(second));
  OK(hipModuleUnload(third));
  OK(hipModuleUnload(module));

  // Two programs in bitcode, linked: by hipRTC, and by the driver's spelling of it.
  const char* parts[] = {
      "__device__ int helper(int x);\nextern \"C\" __global__ void apply(int* p) { p[threadIdx.x] = helper(p[threadIdx.x]); }",
      "__device__ int helper(int x) { return 3 * x + 1; }"};
  std::vector<char> bitcode[2];
  for (int i = 0; i < 2; ++i) {
    const char* relocatable[] = {"-fgpu-rdc"};
    RTC(hiprtcCreateProgram(&program, parts[i], i == 0 ? "one.hip" : "two.hip", 0, nullptr, nullptr));
    RTC(hiprtcCompileProgram(program, 1, relocatable));
    RTC(hiprtcGetBitcodeSize(program, &size));
    bitcode[i].resize(size);
    RTC(hiprtcGetBitcode(program, bitcode[i].data()));
    RTC(hiprtcDestroyProgram(&program));
  }
  file = std::fopen("two.bc", "wb");
  std::fwrite(bitcode[1].data(), 1, bitcode[1].size(), file);
  std::fclose(file);
  void* binary = nullptr;
  hiprtcLinkState link = nullptr;
  RTC(hiprtcLinkCreate(0, nullptr, nullptr, &link));
  RTC(hiprtcLinkAddData(link, hipJitInputLLVMBitcode, bitcode[0].data(), bitcode[0].size(), "one", 0, nullptr, nullptr));
  RTC(hiprtcLinkAddFile(link, hipJitInputLLVMBitcode, "two.bc", 0, nullptr, nullptr));
  EXPECT_EQ(hiprtcLinkAddData(link, hipJitInputPtx, rubbish, 8, "x", 0, nullptr, nullptr), HIPRTC_ERROR_INVALID_INPUT);
  RTC(hiprtcLinkComplete(link, &binary, &size));
  hipFunction_t apply = nullptr;
  OK(hipModuleLoadData(&module, binary));
  OK(hipModuleGetFunction(&apply, module, "apply"));
  OK(hipMemcpy(host, p, 16, hipMemcpyDeviceToHost));
  const int before = host[2];
  OK(hipModuleLaunchKernel(apply, 1, 1, 1, 4, 1, 1, 0, nullptr, args, nullptr));
  OK(hipMemcpy(host, p, 16, hipMemcpyDeviceToHost));
  EXPECT_EQ(host[2], 3 * before + 1);
  OK(hipModuleUnload(module));
  RTC(hiprtcLinkDestroy(link));
  hipLinkState_t state = nullptr;
  OK(hipLinkCreate(0, nullptr, nullptr, &state));
  OK(hipLinkAddFile(state, hipJitInputLLVMBitcode, "two.bc", 0, nullptr, nullptr));
  OK(hipLinkAddData(state, hipJitInputLLVMBitcode, bitcode[0].data(), bitcode[0].size(), "one", 0, nullptr, nullptr));
  RETURNS(hipErrorFileNotFound, hipLinkAddFile(state, hipJitInputLLVMBitcode, "absent.bc", 0, nullptr, nullptr));
  OK(hipLinkComplete(state, &binary, &size));
  OK(hipModuleLoadData(&module, binary));
  OK(hipModuleGetFunction(&apply, module, "apply"));
  OK(hipModuleUnload(module));
  OK(hipLinkDestroy(state));
  RETURNS(hipErrorInvalidValue, hipLinkDestroy(state));

  // A program that does not compile leaves the compiler's words in the log.
  RTC(hiprtcCreateProgram(&program, "__global__ void broken( { }", "broken.hip", 0, nullptr, nullptr));
  EXPECT_EQ(hiprtcCompileProgram(program, 0, nullptr), HIPRTC_ERROR_COMPILATION);
  RTC(hiprtcGetProgramLogSize(program, &size));
  text.assign(size, 0);
  RTC(hiprtcGetProgramLog(program, &text[0]));
  EXPECT(text.find("broken.hip") != std::string::npos && text.find("error") != std::string::npos);
  RTC(hiprtcDestroyProgram(&program));

  void* entry = nullptr;
  hipDriverProcAddressQueryResult status;
  OK(hipGetProcAddress("hipMalloc", &entry, 600, 0, &status));
  EXPECT(entry != nullptr && status == HIP_GET_PROC_ADDRESS_SUCCESS);
  RETURNS(hipErrorNotFound, hipGetProcAddress("hipNoSuchThing", &entry, 600, 0, &status));
  EXPECT_EQ(status, HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  return finish();
}
