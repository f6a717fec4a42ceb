"""Do the kernels of a code object equal those that the host side registers?

HIP's host code names every ``__global__`` instantiation it may launch in ``__hip_register_globals``; the runtime looks
each of them up in the code object. A kernel that only one side has (code behind ``__HIP_DEVICE_COMPILE__``, an
instantiation that depends on the pass) fails at its first launch, on a machine with a GPU. Comparing both lists finds
it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from hipport.build.messages import REGISTRATION
from hipport.core import Diagnostic, Severity

# %2 = call i32 @__hipRegisterFunction(ptr %0, ptr @_Z1kPf, ptr @0, ptr @0, i32 -1, ...): the second operand is the
# kernel's handle, named like the kernel.
_CALL = re.compile(rb'@__hipRegisterFunction\(ptr [^,]+, ptr (?:noundef )?@(?:"([^"]+)"|([\w$.]+)),')
_SHOWN = 3


def registered_kernels(ir: bytes) -> frozenset[str]:
    """Mangled names that the host IR of a unit registers."""
    return frozenset((quoted or plain).decode() for quoted, plain in _CALL.findall(ir))


def compare(
    unit: str,
    target: str,
    in_object: Iterable[str],
    registered: Iterable[str],
    demangle: Callable[[Iterable[str]], dict[str, str]],
) -> tuple[Diagnostic, ...]:
    """Diagnostics for kernels that only one side has; none when both agree."""
    device, host = set(in_object), set(registered)
    found = []
    for names, severity, text in (
        (host - device, Severity.ERROR, "registered by the host side but not in the code object, a launch fails"),
        (device - host, Severity.WARNING, "in the code object but never registered by the host side"),
    ):
        if names:
            shown = ", ".join(sorted(demangle(sorted(names)[:_SHOWN]).values()))
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            found.append(
                Diagnostic(
                    REGISTRATION,
                    severity,
                    f"{len(names)} kernels are {text} for {target}: {shown}{more}",
                    unit,
                    next_step="look for code that exists in one compilation pass only (__HIP_DEVICE_COMPILE__)",
                    subject=sorted(names)[0],
                )
            )
    return tuple(found)
