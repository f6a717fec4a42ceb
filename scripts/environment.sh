# Sourced by scripts/port and scripts/test: messages, system packages, and the virtual environment.
# shellcheck shell=bash

step() { # step N/M TEXT: heading with the time used so far
  printf '\n==> [%s] %s  (%d min %02d s)\n' "$1" "$2" $((SECONDS / 60)) $((SECONDS % 60))
}

note() { printf '    %s\n' "$*"; }

fail() { # fail REASON NEXT_STEP
  printf '\nfailed: %s\n  next: %s\n' "$1" "$2" >&2
  exit 2
}

as_root() { # run a command as root, or return 1 when that cannot be
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    sudo "$@"
  else
    return 1
  fi
}

system_packages() { # system_packages REASON PACKAGE...: install them, or say how
  local reason=$1
  shift
  [ "$OFFLINE" = 0 ] || fail "$reason, and --offline was given" "run it once without --offline"
  command -v apt-get >/dev/null ||
    fail "$reason" "install with this system's package manager what Debian calls: $*"
  note "$reason: installing $* with apt-get"
  local log
  log=$(mktemp)
  if ! { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null; then
    grep '^E: ' "$log" | head -n 3 >&2 || true
    rm -f "$log"
    fail "$reason, and apt-get could not install it" "as root: apt-get update && apt-get install $*"
  fi
  rm -f "$log"
}

usable_python() { # print the first Python that is new enough
  local name
  for name in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}

has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

has_headers() { # the C headers of Python, which PyTorch extensions include
  "$1" -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists())'
}

python_and_compiler() { # sets PYTHON; installs what the system lacks
  PYTHON=$(usable_python) || {
    system_packages "no Python 3.11 or newer" python3 python3-venv python3-dev
    PYTHON=$(usable_python) || fail "this system's Python is older than 3.11" "install Python 3.11, then set PYTHON=/path/to/it"
  }
  local version
  version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  has_venv "$PYTHON" || system_packages "Python $version has no venv" "python$version-venv"
  has_headers "$PYTHON" || system_packages "Python $version has no C headers" "python$version-dev"
  command -v g++ >/dev/null || command -v c++ >/dev/null || system_packages "no C++ compiler" g++
}

virtual_environment() { # virtual_environment LOCK...: .venv with exactly these packages and this checkout
  local lock stamp wanted
  stamp=.venv/hipport.stamp
  wanted=$(cat pyproject.toml "$@" | cksum; "$PYTHON" --version; pwd)
  if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && .venv/bin/python -c 'import hipport' 2>/dev/null; then
    note ".venv is up to date"
    return
  fi
  [ "$OFFLINE" = 0 ] || fail ".venv is absent or out of date, and --offline was given" "run it once without --offline"
  if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    note "making .venv with $("$PYTHON" --version)"
    rm -rf .venv
    "$PYTHON" -m venv .venv || fail "cannot make .venv" "check free disk space: df -h ."
  fi
  local list=()
  for lock in "$@"; do list+=(-r "$lock"); done
  note "installing the packages of $*"
  # --no-deps: the lock files are complete, and say exactly which versions.
  .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --no-deps "${list[@]}" 2>&1 |
    { grep --line-buffered -E '^ *(Downloading|Successfully installed|ERROR)|No space left' || true; } | # no line: all was there
    sed -u 's/^ */    /' | cut -c1-160 ||
    fail "pip could not install the packages" "check the network and pip's settings: .venv/bin/python -m pip config list"
  .venv/bin/python -m pip install --disable-pip-version-check -qq --no-deps --no-build-isolation -e . ||
    fail "pip could not install hipport itself" "see pip's message above"
  printf '%s' "$wanted" >"$stamp"
}

enough_disk() { # enough_disk GB: before anything is fetched
  local free
  free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1000000) }')
  [ "$free" -ge "$1" ] || fail "$free GB of disk are free here, $1 GB are needed" "free some space"
}
