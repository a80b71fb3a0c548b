"""A database behind a file system of Hadoop's that is no local disk to whence, and its feed as a stream.

A process has one Spark, and that is told at its beginning what is mounted where: `python -m tests.spark.mounted_files
DIRECTORY`.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import whence

ROOT = "viewfs://mounted/data/db"


def mounted_session(directory: str) -> SparkSession:
    """In which the directory is viewfs://mounted/data."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        # Code of a program as short as this is not worth compiling well.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.hadoop.fs.viewfs.mounttable.mounted.link./data", f"file://{directory}")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main(directory: str) -> None:
    spark = mounted_session(directory)
    with whence.connect(ROOT, engine="spark") as db:
        db.execute("CREATE TABLE link(src STRING, dst STRING)")
        db.execute("CREATE MATERIALIZED VIEW fan AS SELECT src, count(*) AS n FROM link GROUP BY src")
        db.insert("link", [("a", "b"), ("a", "c"), ("b", "c")])
        before = db.version
        feed = spark.readStream.format("whence").option("relation", "fan").load(ROOT)
        stream = feed.writeStream.format("memory").queryName("feed").start()
        stream.processAllAvailable()
        db.delete("link", [("a", "b")])
        stream.processAllAvailable()
        stream.stop()
        changes = spark.sql("SELECT _change_type, src, n FROM feed ORDER BY _commit_version, _change_type, src")
        frames = [
            changes,
            spark.sql("SELECT * FROM fan ORDER BY src"),
            whence.read(spark, ROOT, "fan").orderBy("src"),
            whence.read(spark, ROOT, "fan", before).orderBy("src"),
            spark.read.format("whence").option("view", "fan").load(ROOT).orderBy("src"),
        ]
        for frame in frames:
            sys.stdout.write(f"{[tuple(row) for row in frame.collect()]}\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
