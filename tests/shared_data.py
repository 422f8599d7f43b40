"""Where real data stands beside the project, for the tests that use some: they skip themselves where it is absent."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
