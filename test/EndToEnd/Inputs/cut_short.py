"""cut_short.py FILE COMMAND…: writes a large text, runs a command that trains on it, and empties the text after the first
step. Prints the exit code and what the command wrote to standard error.
"""

import subprocess
import sys

path, command = sys.argv[1], sys.argv[2:]
with open(path, "w") as file:
    file.write("many words " * 1000000)
run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for line in run.stdout:
    if line.startswith("step 1/"):
        break
open(path, "w").close()
errors = run.communicate(timeout=120)[1]
print(f"exit code {run.returncode}\n{errors}", end="")
