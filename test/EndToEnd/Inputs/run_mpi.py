"""Trains plans in processes under mpirun, and compares with one process; makes processes fail, and looks at how the rest ends.

usage: run_mpi.py bits PLAN WORK FILE…          equal bits: losses, norms, gradients, parameters, evaluation; hosts mixed
       run_mpi.py failures PLAN WORK OTHER_PLAN  a process killed, stopped, with another plan; a wrong number; the end by a signal

FILE… are what shardrun takes as data.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

# Containers run tests as root, and have fewer cores than ranks and no network.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1",
               "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_orte_tmpdir_base": "/tmp"}
RANKS = 8
# What ends everything has this long, the time without a sign of life included.
LIMIT = 30
failures = 0


def report(what, faults, detail=""):
    global failures
    failures += bool(faults)
    print(f"{'FAIL' if faults else 'ok'}: {what}{': ' + detail if detail else ''}")
    for fault in faults:
        print(f"    {fault}")
    sys.stdout.flush()


def mpirun(arguments, ranks=RANKS, program=("shardrun",), **options):
    return subprocess.Popen(["mpirun", "-n", str(ranks), *program, *map(str, arguments)], env={**ENVIRONMENT, **options},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(run):
    out, errors = run.communicate(timeout=120)
    if run.returncode != 0:
        sys.exit(f"FAIL: exit code {run.returncode}\n{out}{errors}")
    return out


def training(plan, folder, data):
    return [plan, "--steps", 3, "--seed", 5, "--log-dir", folder / "log", "--dump-gradients", folder / "gradients",
            "--dump-parameters", folder / "parameters", *data]


def results(folder):
    lines = [json.loads(line) for line in (folder / "log" / "metrics.jsonl").read_text().splitlines()]
    timeless = [{key: value for key, value in line.items() if key not in ("samples_per_s", "step_ms")} for line in lines]
    return timeless, *((folder / name).read_bytes() for name in ("gradients", "parameters"))


def check_bits(plan, work, data):
    folders = [work / name for name in ("one", "many", "mixed")]
    for folder in folders:
        folder.mkdir(parents=True)
    subprocess.run(["shardrun", *map(str, training(plan, folders[0], data))], check=True, stdout=subprocess.DEVNULL)
    expected = results(folders[0])
    report("evaluated", [] if "eval_loss" in expected[0][-1] else ["no evaluation in the metrics"])

    out = finish(mpirun(training(plan, folders[1], data)))
    report("8 processes", [name for name, a, b in zip(("metrics", "gradients", "parameters"), results(folders[1]), expected)
                           if a != b], "bits of metrics, gradients and parameters")
    told = [len(re.findall(pattern, out)) for pattern in (r"(?m)^rank \d", r"(?m)^step 3/3 ", r"(?m)^plan '")]
    report("one process tells", [] if told == [RANKS, 1, 1] else [f"{told} times, expected {[RANKS, 1, 1]}"])

    # Every second process on another host: tp groups, and then stages, stay together all the same.
    script = 'SHARDRT_HOST=host$((OMPI_COMM_WORLD_RANK % 2)) exec shardrun "$@"'
    out = finish(mpirun(training(plan, folders[2], data), program=("sh", "-c", script, "sh")))
    hosts = re.findall(r"(?m)^rank (\d) \(dp (\d), .*host (\w+)", out)
    faults = [f"rank {rank} of replica {dp} is on {host}" for rank, dp, host in hosts if host != f"host{dp}"]
    report("processes dealt to hosts", faults if len(hosts) == RANKS else [out], "replicas stay together")
    report("8 processes of 2 hosts", [] if results(folders[2]) == expected else ["the results differ"],
           "bits of metrics, gradients and parameters")


def processes(run):
    """The process of each rank, as the table says once training has begun."""
    found = {}
    for line in run.stdout:
        place = re.match(r"rank (\d+) .*process (\d+)", line)
        if place:
            found[int(place[1])] = int(place[2])
        if line.startswith("step 1/"):
            time.sleep(1)
            return found
    sys.exit(f"FAIL: no first step\n{run.stderr.read()}")


def is_alive(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def errors_of(text):
    return [line for line in text.splitlines() if line.startswith("error:")]


def check_loss(plan, how, victim):
    """One line that names rank, instruction and node; nobody left."""
    run = mpirun([plan, "--synthetic", "--steps", 1000000, "--timeout", 4])
    found = processes(run)
    begin = time.monotonic()
    os.kill(found[victim], how)
    _, text = run.communicate(timeout=60)
    while any(map(is_alive, found.values())) and time.monotonic() - begin < LIMIT:
        time.sleep(0.1)
    seconds = time.monotonic() - begin
    errors, faults = errors_of(text), []
    named = rf"error: rank {victim} \(dp \d, pp \d, tp \d\), instruction \d+ \w+, node '.+', in block '\w+' of step \d+.*\[run-lost\]"
    if len(errors) != 1 or not re.fullmatch(named, errors[0]):
        faults.append(f"expected one line that says what rank {victim} did, got {errors}")
    faults += [f"rank {rank} lives" for rank, process in found.items() if is_alive(process)]
    faults += [] if run.returncode else ["exit code 0"]
    report(f"rank {victim} gets {how.name}", faults + ([] if seconds < LIMIT else [f"took {seconds:.0f} s"]))


def check_refused(what, run, expected):
    _, text = run.communicate(timeout=60)
    errors = errors_of(text)
    isRight = len(errors) == 1 and re.fullmatch(expected, errors[0]) and run.returncode
    report(what, [] if isRight else [f"exit code {run.returncode}, {errors}"])


def check_stop(plan, work):
    run = mpirun([plan, "--synthetic", "--steps", 1000000, "--log-dir", work / "stopped", "--dump-parameters", work / "kept"],
                 OMPI_MCA_odls_base_sigkill_timeout="8")
    processes(run)
    run.send_signal(signal.SIGINT)
    _, text = run.communicate(timeout=60)
    stopped = re.search(r"(?m)^stopped after step (\d+)$", text)
    steps = len((work / "stopped" / "metrics.jsonl").read_text().splitlines())
    isRight = stopped and int(stopped[1]) == steps and (work / "kept").stat().st_size > 0 and not errors_of(text)
    report("Ctrl-C", [] if isRight else [f"{steps} lines of metrics, {text}"], "ends after a step, with what was asked for")


def check_failures(plan, work, other):
    work.mkdir(parents=True)
    check_refused("a wrong number of processes", mpirun([plan, "--synthetic"], ranks=3),
                  r"error: plan: 8 ranks, but 3 processes have been started \[run-world\]")
    check_refused("no plan", mpirun([work / "none", "--synthetic"], ranks=2), r"error: plan '.*none'.*\[plan-file\]")
    script = f'[ $OMPI_COMM_WORLD_RANK = 3 ] && set -- {other} --synthetic; exec shardrun "$@"'
    check_refused("another plan in one process", mpirun([plan, "--synthetic"], program=("sh", "-c", script, "sh")),
                  r"error: plan: another one than that of the first process \[run-world\]")
    check_stop(plan, work)
    for how in (signal.SIGKILL, signal.SIGSTOP):
        for victim in (0, 5):
            check_loss(plan, how, victim)


mode, plan, folder, *rest = sys.argv[1:]
if mode == "bits":
    check_bits(plan, pathlib.Path(folder), rest)
else:
    check_failures(plan, pathlib.Path(folder), *rest)
sys.exit(1 if failures else 0)
