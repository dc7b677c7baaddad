"""Plants every fault of plan-fault in a plan and prints what shardplan verify says of it, one line each.

usage: plant_faults.py PLAN_FOLDER WORK_FOLDER
"""

import os
import re
import shutil
import subprocess
import sys


def verdict(folder):
    done = subprocess.run(["shardplan", "verify", folder], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return f"CRASHED with {done.returncode}"
    if done.returncode == 0:
        return "ACCEPTED"
    first = done.stderr.splitlines()[0]
    labels = sorted(set(re.findall(r"\[(plan-[a-z]+)\]", done.stderr)))
    placed = re.match(r"error: rank \d+ \(dp 0, pp \d+, tp 0\), .*instruction \d+ \w+, node '.+': ", first)
    return f"refused by {' '.join(labels)}; {'placed' if placed else 'whole'}; {first}"


def main():
    plan, work = sys.argv[1:]
    listed = subprocess.run(["plan-fault"], capture_output=True, text=True, check=True).stdout
    for fault, _ in re.findall(r"^([a-z-]+) \[([a-z-]+)\]", listed, re.M):
        folder = os.path.join(work, fault)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        source, target = (os.path.join(f, "plan.pb") for f in (plan, folder))
        planted = subprocess.run(["plan-fault", fault, source, target], capture_output=True, text=True)
        print(f"{fault}: {verdict(folder) if planted.returncode == 0 else 'NO PLACE'}")
        shutil.rmtree(folder)


main()
