"""Runs `shardrun PLAN --synthetic` and ends it by SIGTERM and by SIGINT: once its first step is printed, and at many
moments while it starts.
"""

import collections
import signal
import subprocess
import sys
import time


def start():
    command = [sys.argv[1], sys.argv[2], "--synthetic", "--steps", "1000000"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_step(run):
    for line in run.stdout:
        if line.startswith("step 1/"):
            return


for number in (signal.SIGTERM, signal.SIGINT):
    run = start()
    wait_for_step(run)
    run.send_signal(number)
    errors = run.communicate(timeout=60)[1].splitlines()
    print(f"{number.name}: exit code {run.returncode}")
    print("\n".join("  " + line.rstrip("0123456789") for line in errors))

codes = collections.Counter()
for moment in range(40):
    run = start()
    time.sleep(moment * 0.004)
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=60)
    codes[128 - run.returncode if run.returncode < 0 else run.returncode] += 1  # before main: by the signal itself
print("while starting:", dict(codes))
