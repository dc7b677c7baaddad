"""run_readme.py README FOLDER: runs every command line of our tools that stands in the README, word for word and in its
order, in a folder that has what they name. Prints each with its exit code and the last line of its output.
"""

import pathlib
import shlex
import subprocess
import sys

TOOLS = ("shardc", "shardrun", "shardplan", "shardc-opt")


def find_commands(text):
    """The code blocks' lines that begin with a tool, without comments."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    words = [shlex.split(line, comments=True) for line in lines if line.split(" ")[0] in TOOLS]
    return [command for command in words if "…" not in " ".join(command)]


readme, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
commands = find_commands(readme.read_text())
for command in commands:
    run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    last = run.stdout.splitlines()[-1] if run.stdout else ""
    print(f"{shlex.join(command)}\n  exit code {run.returncode}: {last}")
    if run.returncode != 0:
        sys.exit(run.stdout)
print(f"{len(commands)} commands")
