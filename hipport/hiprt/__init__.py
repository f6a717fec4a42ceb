"""Drop-in HIP runtime on the emulator: build it with `build_runtime`, run programs with `runtime_environment`."""

from hipport.hiprt.build import RuntimeFolder, build_runtime
from hipport.hiprt.launch import RunOptions, runtime_environment

__all__ = ["RunOptions", "RuntimeFolder", "build_runtime", "runtime_environment"]
