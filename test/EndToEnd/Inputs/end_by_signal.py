"""Runs `shardrun PLAN --synthetic` twice and ends it, once its first step is printed, by SIGTERM and by SIGINT."""

import signal
import subprocess
import sys

for number in (signal.SIGTERM, signal.SIGINT):
    command = [sys.argv[1], sys.argv[2], "--synthetic", "--steps", "1000000"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in run.stdout:
        if line.startswith("step 1/"):
            break
    run.send_signal(number)
    errors = run.communicate(timeout=60)[1]
    how = "stopped after a step" if errors.startswith("stopped after step ") else errors
    print(f"{number.name}: exit code {run.returncode}, {how}")
