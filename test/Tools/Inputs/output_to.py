"""output_to.py full|closed COMMAND…: runs a command whose standard output is a full disk, or closed, and prints its exit
code and what it writes to standard error.
"""

import os
import subprocess
import sys

kind, command = sys.argv[1], sys.argv[2:]
options = {"stdout": open("/dev/full", "w")} if kind == "full" else {"preexec_fn": lambda: os.close(1)}
run = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60, **options)
print(f"exit code {run.returncode}\n{run.stderr}", end="")
