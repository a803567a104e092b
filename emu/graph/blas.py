"""Which kernels numpy's OpenBLAS takes: decided when numpy is imported, by an environment variable."""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping
from pathlib import Path

CORE_TYPE = "OPENBLAS_CORETYPE"
# what OpenBLAS's SkylakeX kernels use
AVX512 = frozenset({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"})


def prefer_wide_vectors(
    environment: MutableMapping[str, str] | None = None, cpuinfo: Path = Path("/proc/cpuinfo")
) -> bool:
    """Ask for OpenBLAS's AVX-512 kernels where the CPU has AVX-512 and is AMD's: it takes AVX2 kernels there by itself,
    at half the speed (measured on Zen 4 with OpenBLAS 0.3.31). Must be called before numpy is imported; an environment
    that names a core type is left alone. Returns whether the variable was set.
    """
    environment = os.environ if environment is None else environment
    if CORE_TYPE in environment or "numpy" in sys.modules:
        return False
    try:
        text = cpuinfo.read_text()
    except OSError:
        return False
    lines = dict(line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    facts = {key.strip(): value.split() for key, value in lines.items()}
    if facts.get("vendor_id") != ["AuthenticAMD"] or not set(facts.get("flags", ())) >= AVX512:
        return False
    environment[CORE_TYPE] = "SkylakeX"
    return True
