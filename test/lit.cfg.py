"""How the tests run: every RUN line in a shell, with our tools first on the path."""

import os
import shutil

import lit.formats

config.name = "shardc"
config.test_format = lit.formats.ShTest(execute_external=False)
# Passes are the compiler's.
config.suffixes = [".mlir", ".test"] if config.compiler else [".test"]
config.excludes = ["Inputs", "lit.cfg.py"]
config.test_source_root = os.path.join(config.source_dir, "test")
config.test_exec_root = os.path.join(config.build_dir, "test")

bin_dir = os.path.join(config.build_dir, "bin")
config.environment["PATH"] = os.pathsep.join(
    [bin_dir, os.path.dirname(config.filecheck), os.environ.get("PATH", "")]
)
for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
config.substitutions.append(("%examples", os.path.join(config.source_dir, "examples")))
config.substitutions.append(("%source_dir", config.source_dir))
config.substitutions.append(("%build_dir", config.build_dir))

if shutil.which("ptxas"):
    config.available_features.add("ptxas")
if config.compiler:
    config.available_features.add("compiler")
# Processes of one machine; sanitizers do not know what MPI does.
if os.path.exists(os.path.join(bin_dir, "libshardrt-mpi.so")) and shutil.which("mpirun") and not config.sanitizer:
    config.available_features.add("mpi")
for sanitizer in filter(None, config.sanitizer.split(",")):
    config.available_features.add(sanitizer)
