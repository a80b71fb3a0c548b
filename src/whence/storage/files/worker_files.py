"""Files wherever Hadoop reaches, in a process of Spark's that has no session: its Python workers.

Such a process starts a small JVM of its own with the jars that Spark has there, and keeps it until it ends.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from pyspark.find_spark_home import _find_spark_home

from whence.errors import StateError
from whence.storage.files.hadoop_files import HadoopFiles

# Hadoop keeps what it lists and reads in pieces; this is enough for a file of a commit.
_MEMORY = "-Xmx512m"


class WorkerFiles(HadoopFiles):
    """`properties` are those of Hadoop's that Spark was given beside the files of its configuration.

    In another process they are opened again.
    """

    def __init__(self, root: str, properties: Mapping[str, str]) -> None:
        jvm = _own_jvm()
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        for name, value in properties.items():
            configuration.set(name, value)
        self._arguments = root, dict(properties)
        self._open(jvm, configuration, root)

    def __reduce__(self) -> tuple[type[WorkerFiles], tuple[str, dict[str, str]]]:
        return WorkerFiles, self._arguments


@lru_cache(maxsize=1)
def _own_jvm() -> Any:
    jars = Path(_find_spark_home(), "jars")
    (py4j, *_) = [*sorted(jars.glob("py4j-*.jar")), None]
    if py4j is None:
        raise StateError(f"Spark has no jars in {jars}, without which Hadoop's file systems are out of reach")
    settings = [os.environ[name] for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if name in os.environ]
    port, token = launch_gateway(
        jarpath=str(py4j),
        classpath=os.pathsep.join([*settings, f"{jars}/*"]),
        javaopts=[_MEMORY],
        die_on_exit=True,
        enable_auth=True,
        java_path=None,
    )
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True)).jvm
