"""Kernels in the object against kernels that the host registers."""

from __future__ import annotations

from collections.abc import Iterable

from hipport.build.registration import compare, registered_kernels
from hipport.core import Severity

# The lines clang writes into __hip_register_globals (LLVM IR), and others that look similar.
IR = b"""
@_Z1kPf = constant ptr @_Z16__device_stub__kPf, align 8
  %2 = call i32 @__hipRegisterFunction(ptr %0, ptr @_Z1kPf, ptr @0, ptr @0, i32 -1, ptr null, ptr null)
  %3 = call i32 @__hipRegisterFunction(ptr %0, ptr @"_Z1k$odd", ptr @1, ptr @1, i32 -1, ptr null, ptr null)
  call void @__hipRegisterVar(ptr %0, ptr @table, ptr @2, ptr @2, i32 0, i64 4, i32 0, i32 0)
declare i32 @__hipRegisterFunction(ptr, ptr, ptr, ptr, i32, ptr, ptr)
"""


def same(names: Iterable[str]) -> dict[str, str]:
    return {name: f"<{name}>" for name in names}


def test_registered_names_are_read_from_ir() -> None:
    assert registered_kernels(IR) == {"_Z1kPf", "_Z1k$odd"}
    assert registered_kernels(b"") == frozenset()


def test_equal_lists_give_no_diagnostic() -> None:
    assert compare("a.cu", "gfx942", ["x", "y"], ["y", "x"], same) == ()


def test_a_kernel_that_only_the_host_has_is_an_error() -> None:
    (found,) = compare("a.cu", "gfx942", ["x"], ["x", "a", "b", "c", "d"], same)
    assert (found.id, found.severity, found.path, found.subject) == ("HP811", Severity.ERROR, "a.cu", "a")
    assert found.message.startswith("4 kernels are registered by the host side but not in the code object")
    assert "<a>, <b>, <c> and 1 more" in found.message


def test_a_kernel_that_only_the_object_has_is_a_warning() -> None:
    (found,) = compare("a.cu", "gfx942", ["x", "y"], ["x"], same)
    assert (found.severity, found.subject) == (Severity.WARNING, "y")
