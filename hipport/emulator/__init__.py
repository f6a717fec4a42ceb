"""The AMDGPU emulator: C++ core and its Python driver."""
