"""Drop-in libamdhip64 on top of the emulator."""
