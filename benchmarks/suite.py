"""How long the tests take, from an empty cache of compiled code as in CI, and which of them take longest.

python benchmarks/suite.py [--slowest 15] [what pytest takes, such as tests/policies]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slowest", type=int, default=15)
    given, more = parser.parse_known_args()
    command = [sys.executable, "-m", "pytest", "-n", "3", "--dist", "worksteal", f"--durations={given.slowest}", *more]
    with tempfile.TemporaryDirectory() as cache:
        begun = time.perf_counter()
        ran = subprocess.run(command, cwd=ROOT, env={**os.environ, "RANKLOOP_CACHE_DIR": cache}, check=False)
        seconds = time.perf_counter() - begun
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{seconds:.0f} s with three processes, {used.ru_utime + used.ru_stime:.0f} s of the processors' time")
    raise SystemExit(ran.returncode)


if __name__ == "__main__":
    main()
