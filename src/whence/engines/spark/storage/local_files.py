"""Files on this machine's disks, without a JVM."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from whence.engines.spark.storage.files import Entry


class LocalFiles:
    """With `survives_power_loss`, what was created is on disk and not only in the memory of the operating system."""

    def __init__(self, directory: Path, *, survives_power_loss: bool = True) -> None:
        self.root = str(directory)
        # A process may change its working directory.
        self.directory = directory.absolute()
        self._synced = survives_power_loss

    def uri(self, path: str) -> str:
        return f"file://{self.directory / path}"

    def make_directory(self, path: str) -> None:
        directory = self.directory / path
        new = [each for each in (directory, *directory.parents) if not each.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        for each in new:
            self._sync_one(each.parent)

    def create(self, path: str, data: bytes) -> bool:
        target = self.directory / path
        new = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            with new.open("xb") as opened:
                opened.write(data)
                opened.flush()
                if self._synced:
                    os.fsync(opened.fileno())
            # Unlike a rename, a link never replaces what is there.
            os.link(new, target)
        except FileExistsError:
            return False
        finally:
            new.unlink(missing_ok=True)
        self._sync_one(target.parent)
        return True

    def read(self, path: str) -> bytes:
        return (self.directory / path).read_bytes()

    def entries(self, path: str) -> list[Entry]:
        try:
            with os.scandir(self.directory / path) as scanned:
                found = list(scanned)
        except FileNotFoundError:
            return []
        entries = []
        for each in found:
            # Somebody may have deleted it by now.
            with suppress(FileNotFoundError):
                entries.append(Entry(each.name, each.is_dir(), each.stat().st_size))
        return entries

    def delete(self, path: str) -> None:
        target = self.directory / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def sync(self, path: str) -> None:
        top = self.directory / path
        for directory, _, names in os.walk(top):
            for name in names:
                self._sync_one(Path(directory, name))
            self._sync_one(Path(directory))
        self._sync_one(top.parent)

    def _sync_one(self, path: Path) -> None:
        if not self._synced:
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
