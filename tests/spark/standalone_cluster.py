"""A standalone cluster of Spark on this machine: a master and two workers from the jars that PySpark has.

`python -m tests.spark.standalone_cluster DIRECTORY` runs a program on it, with executors that have whence in an archive
and with executors that do not have it at all, and says what came out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
# Until a master or a worker says that it is there, in seconds.
STARTUP_SECONDS = 120
# Programs as short as these pay more for code that is compiled well than they get back.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

PROGRAM = """
import sys
import whence
from pyspark.sql import SparkSession

root, python = sys.argv[1:]
spark = SparkSession.builder.appName("whence").getOrCreate()
db = whence.connect(root, engine="spark")
db.execute("CREATE TABLE t (a INT NOT NULL, b STRING, PRIMARY KEY (a))")
db.execute("CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n, max(a) AS a FROM t GROUP BY b")
db.insert("t", spark.range(60000).selectExpr("CAST(id AS INT) AS a", "CAST(id % 7 AS STRING) AS b"))
db.insert("t", [(-1, "x")])
db.delete("t", [(3,)])
print("SQL", spark.sql("SELECT sum(n) FROM v").collect()[0][0])
print("READ", whence.read(spark, root, "t").count())
db.function("twice", lambda a: 2 * a, returns="BIGINT")
try:
    db.execute("CREATE MATERIALIZED VIEW w AS SELECT twice(a) AS d FROM t")
    print("FUNCTION", spark.sql("SELECT max(d) FROM w").collect()[0][0])
except whence.StateError as error:
    print("ERROR", str(error).replace(chr(10), " | "))
db.close()
spark.stop()
"""


@contextmanager
def standalone_cluster(directory: Path) -> Iterator[str]:
    """Gives the address of its master."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_started(directory, "master", "master.Master", "--port", "0"))
        master = _said(directory, "master", started[0])
        for number in (1, 2):
            work = ["--cores", "1", "--memory", "1g", "--work-dir", str(directory / f"work-{number}"), master]
            started.append(_started(directory, f"worker-{number}", "worker.Worker", *work))
        for number in (1, 2):
            _said(directory, f"worker-{number}", started[number])
        yield master
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(STARTUP_SECONDS)


def _started(directory: Path, name: str, main: str, *options: str) -> subprocess.Popen[bytes]:
    command = [str(SPARK_HOME / "bin/spark-class"), f"org.apache.spark.deploy.{main}", "--host", "localhost"]
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        "PYTHONPATH": "",
    }
    with (directory / f"{name}.log").open("wb") as opened:
        return subprocess.Popen(
            [*command, "--webui-port", "0", *options], stdout=opened, stderr=opened, env=environment
        )


def _said(directory: Path, name: str, process: subprocess.Popen[bytes]) -> str:
    """Wait for the address of the master in what a part of the cluster says."""
    log = directory / f"{name}.log"
    known = re.compile(r"(?:Starting Spark master at|Successfully registered with master) (spark://\S+)")
    end = time.monotonic() + STARTUP_SECONDS
    while (found := known.search(log.read_text(errors="replace"))) is None:
        if time.monotonic() > end or process.poll() is not None:
            raise TimeoutError(log.read_text(errors="replace")[-2000:])
        time.sleep(0.1)
    return found[1]


def environment_archive(directory: Path) -> Path:
    """A Python environment in an archive. Its packages are those of this one, by a path, to keep it small."""
    environment = directory / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "whence.pth").write_text("\n".join(path for path in sys.path if path))
    archive = directory / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as opened:
        opened.add(environment, ".")
    return archive


def submitted(directory: Path, master: str, root: Path, python: str, *options: str) -> str:
    """What the program says, run as the documentation tells to."""
    program = directory / "program.py"
    program.write_text(PROGRAM)
    settings = ["spark.sql.shuffle.partitions=2", "spark.ui.enabled=false", "spark.ui.showConsoleProgress=false"]
    conf = [part for setting in settings for part in ("--conf", setting)]
    conf += ["--driver-java-options", SHORT_LIVED, "--conf", f"spark.executor.extraJavaOptions={SHORT_LIVED}"]
    command = [str(SPARK_HOME / "bin/spark-submit"), "--master", master, *options, *conf]
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK_HOME),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_PYTHON": python,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    memory = ["--driver-memory", "1g", "--executor-memory", "1g"]
    done = subprocess.run(
        [*command, *memory, str(program), str(root), python],
        cwd=directory, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + ("" if done.returncode == 0 else done.stderr[-4000:])


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with standalone_cluster(directory) as master:
        archive = environment_archive(directory)
        with_archive = ("--archives", f"{archive}#environment")
        sys.stdout.write(submitted(directory, master, directory / "one", "./environment/bin/python", *with_archive))
        bare = directory / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", bare], check=True)
        # One executor is as good as two at not having whence.
        single = ("--total-executor-cores", "1")
        sys.stdout.write(submitted(directory, master, directory / "two", str(bare / "bin/python"), *single))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
