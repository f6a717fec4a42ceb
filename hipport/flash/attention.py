"""A translated FlashAttention tree, ready to call."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from hipport.core import HipportError, target_named
from hipport.emulator.device import Checks
from hipport.flash.kernels import Instantiation, build_entry, programs_for
from hipport.flash.launch import Array, Launch, run, run_here
from hipport.flash.library import Library
from hipport.hiprt.build import RuntimeFolder, build_runtime
from hipport.hiprt.launch import RunOptions, runtime_environment
from hipport.sdk import Sdk, find_sdk

# What upstream's heuristic for the number of splits is told, per target (AMD product pages; one die of an MI250X).
COMPUTE_UNITS = {"gfx90a": 110, "gfx942": 304, "gfx950": 256, "gfx1100": 96, "gfx1201": 64}
INTERFACE = "flash_attn/flash_attn_interface.py"


class FlashAttention:
    """Upstream's functions, computed by the ported kernels.

    On the emulator each call runs in a process of its own. On the GPU it runs in this one: tensors that are there
    already (PyTorch for ROCm) are used in place, on PyTorch's current stream, without waiting; tensors of the CPU are
    copied there and back.

    Args:
        tree: a translated tree (``generated_hip``).
        target: LLVM processor name; on the GPU, what it is.
        device: ``emulator``, or ``rocm`` for the GPU of this machine.
        checks: the emulator's checks (``all``, a comma list, empty for none).
        compute_units: see `COMPUTE_UNITS`; 1 keeps small problems from being split.
        seed: of the random numbers for dropout.

    Attributes:
        used: instantiations that ran since `forget`, each once.
        findings: what the emulator's checks said since then, one line each.
    """

    def __init__(
        self,
        tree: Path | str = "generated_hip",
        target: str = "gfx942",
        device: str = "emulator",
        *,
        checks: str = "",
        compute_units: int = 0,
        seed: int = 0,
    ) -> None:
        from hipport.flash.extension import Extension, Philox

        if device not in ("emulator", "rocm"):
            raise HipportError(f"unknown device {device!r}", "choose emulator or rocm")
        Checks.parse(checks)  # an unknown name is refused here, not at the first call
        self.tree = Path(tree)
        self.target = target_named(target).name
        self.device = device
        self.checks = checks
        self._libraries: dict[Instantiation, Path] = {}
        self._loaded: dict[Path, Library] = {}
        self.used: list[Instantiation] = []
        self.findings: list[str] = []
        self.philox = Philox(seed)
        units = compute_units or COMPUTE_UNITS[self.target]
        self.extension = Extension(self._run, units, self.philox, self.target, in_place=device == "rocm")

    def forget(self) -> None:
        """Empty `used` and `findings`."""
        self.used, self.findings = [], []

    def prepare(self, kernels: Sequence[Instantiation]) -> None:
        """Compile instantiations several at a time, which takes half as long as one by one, as calls do it.

        Args:
            kernels: those that the coming calls need (`hipport.flash.cases.plan_case`).

        Raises:
            CompileError: one does not compile.
            HipportError: the tree is no translated FlashAttention, or there is no toolchain.
        """
        sdk, runtime = self._toolchain
        for group in programs_for([what for what in kernels if what not in self._libraries]):
            library = build_entry(group, self.tree, self.target, sdk, runtime)
            self._libraries.update(dict.fromkeys(group, library))

    @cached_property
    def _toolchain(self) -> tuple[Sdk, RuntimeFolder]:
        sdk = find_sdk()
        return sdk, build_runtime(sdk)

    def _run(
        self, what: Instantiation, buffers: Sequence[tuple[Array, bool]], launches: Sequence[Launch]
    ) -> list[Array]:
        if what not in self._libraries:
            self.prepare([what])
        path = self._libraries[what]
        if what not in self.used:
            self.used.append(what)
        if self.device == "rocm":
            if path not in self._loaded:
                self._loaded[path] = Library(path, self._toolchain[0].library_dirs)
            return run_here(self._loaded[path], buffers, launches)
        with tempfile.TemporaryDirectory(prefix="hipport-flash-") as folder:
            statistics = Path(folder) / "statistics.json"
            options = RunOptions(target=self.target, checks=self.checks, statistics=statistics)
            try:
                return run(path, runtime_environment(self._toolchain[1], options), buffers, launches)
            finally:
                if statistics.is_file():
                    for found in json.loads(statistics.read_text(encoding="utf-8"))["findings"]:
                        place = f" [{found['file']}:{found['line']}]" if found["file"] else ""  # no line tables
                        self.findings.append(f"{found['id']} {found['message']}{place}")

    @cached_property
    def interface(self) -> ModuleType:
        """Upstream's ``flash_attn_interface`` over these kernels.

        Its custom operators are registered for the GPU alone: the CPU is added as the module is read. Two of these
        modules cannot register operators of one name, so each gets its own.

        Raises:
            HipportError: the tree has no such module.
        """
        path = self.tree / INTERFACE
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise HipportError(f"{path}: {error.strerror}", "run: hipport translate upstream_cuda") from error
        name = f"hipport_flash_{id(self):x}"
        text = text.replace('device_types="cuda"', 'device_types=("cpu", "cuda")')
        text = text.replace('"flash_attn::_flash', f'"{name}::_flash').replace(
            "torch.ops.flash_attn.", f"torch.ops.{name}."
        )
        module = ModuleType(name)
        module.__file__ = str(path)
        previous: Any = sys.modules.get("flash_attn_2_cuda")
        sys.modules["flash_attn_2_cuda"] = self.extension  # type: ignore[assignment]
        sys.modules[name] = module
        try:
            exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102 - upstream's own module, pinned by hash
        finally:
            if previous is None:
                del sys.modules["flash_attn_2_cuda"]
            else:
                sys.modules["flash_attn_2_cuda"] = previous
        return module
