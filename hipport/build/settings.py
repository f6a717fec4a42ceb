"""The ``[build]`` table of ``hipport.toml`` and the presets that ship with hipport."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hipport.core import HipportError, target_named

SETTINGS_NAME = "hipport.toml"
_SHIPPED = Path(__file__).with_name("presets.toml")


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """What a project may say about its build. All patterns are shell globs over paths relative to the tree root.

    Attributes:
        targets: LLVM processor names.
        units: patterns of the units to build; empty means all that were found.
        exclude: patterns of files that are never units.
        kernels: patterns of kernel names; a unit without a match is left out.
        instantiations: patterns of kernels (`hipport.build.instantiations`) to compile alone; empty means whole units.
        include_dirs: added to every unit, relative to the tree root or absolute.
        defines: ``NAME`` or ``NAME=VALUE``, added to every unit.
        flags: further compiler flags, added last.
        std: C++ standard; empty takes the SDK's default.
    """

    targets: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    instantiations: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    std: str = ""

    def with_preset(self, preset: BuildSettings) -> BuildSettings:
        """What a preset chooses (targets, units, kernels, instantiations, std) wins; what it adds is appended."""
        return replace(
            preset,
            targets=preset.targets or self.targets,
            units=preset.units or self.units,
            kernels=preset.kernels or self.kernels,
            instantiations=preset.instantiations or self.instantiations,
            std=preset.std or self.std,
            exclude=self.exclude + preset.exclude,
            include_dirs=self.include_dirs + preset.include_dirs,
            defines=self.defines + preset.defines,
            flags=self.flags + preset.flags,
        )


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """Settings of a project and every preset it can name."""

    build: BuildSettings = BuildSettings()
    presets: Mapping[str, BuildSettings] = field(default_factory=dict)

    def preset(self, name: str) -> BuildSettings:
        """The settings with one preset applied.

        Raises:
            HipportError: there is no preset of that name.
        """
        if name not in self.presets:
            raise HipportError(
                f"no preset {name!r}",
                f"choose from {', '.join(sorted(self.presets))}, or add [build.preset.{name}] to {SETTINGS_NAME}",
            )
        return self.build.with_preset(self.presets[name])


def read_settings(folder: Path) -> ProjectSettings:
    """Shipped presets, overlaid with ``hipport.toml`` of a folder if it has one.

    Raises:
        HipportError: the file is not TOML, or a key or a value of ``[build]`` is wrong.
    """
    shipped = _load(_SHIPPED)
    presets = {name: _settings(table, f"preset {name}") for name, table in shipped["preset"].items()}
    path = folder / SETTINGS_NAME
    if not path.is_file():
        return ProjectSettings(presets=presets)
    table = dict(_table(_load(path).get("build", {}), "[build]"))
    own = _table(table.pop("preset", {}), "[build.preset]")
    presets |= {name: _settings(_table(entry, name), f"[build.preset.{name}]") for name, entry in own.items()}
    return ProjectSettings(_settings(table, "[build]"), presets)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HipportError(f"cannot read {path.name}: {error}", "fix the file") from error


def _table(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise HipportError(f"{SETTINGS_NAME}: {where} must be a table")
    return value


def _settings(table: Mapping[str, Any], where: str) -> BuildSettings:
    known = {f.name for f in fields(BuildSettings)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise HipportError(f"{SETTINGS_NAME}: {where} has no key {key!r}", f"known: {', '.join(sorted(known))}")
        if key == "std":
            if not isinstance(value, str):
                raise HipportError(f"{SETTINGS_NAME}: {where}.std must be text such as 'c++17'")
            values[key] = value
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            values[key] = tuple(value)
        else:
            raise HipportError(f"{SETTINGS_NAME}: {where}.{key} must be a list of texts")
    for target in values.get("targets", ()):
        target_named(target)
    return BuildSettings(**values)
