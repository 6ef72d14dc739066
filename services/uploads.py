"""Uploaded files, kept as parsed tables in a folder until swept.

Entry point: `UploadStore`. Each upload is a folder with what `services.upload_keeping` packs, and whose it is. It
appears whole, by one rename, so that no reader meets half an upload.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from offgrid.errors import InputError
from services.disk import is_full, size_of
from services.handles import short
from services.upload_keeping import GONE, NO_ROOM, PARTS, Kept, Upload, Uploads

__all__ = ["GONE", "NO_ROOM", "Upload", "UploadStore"]

_NEW = ".new-"
_VISITOR = "visitor"  # the file that says whose upload it is

logger = logging.getLogger(__name__)


class UploadStore(Uploads):
    """Keeps uploads in a folder, which is made with the first of them.

    Parameters
    ----------
    folder : path
    **limits
        As for `Uploads`.
    """

    def __init__(self, folder: str | Path, **limits: Any) -> None:
        super().__init__(**limits)
        self.folder = Path(folder)

    def sweep(self, older_than: float) -> int:
        """Delete what was not used for so many seconds, is over the room for all, or was left by a save half done."""
        if not self.folder.is_dir():
            return 0
        limit = time.time() - older_than
        left = [folder for folder in self.folder.glob(f"{_NEW}*") if _used(folder) < limit]
        return sum(map(_deleted, left)) + super().sweep(older_than)

    def rebase(self) -> None:
        """Count every upload as used now: the clock was set, and ages mean nothing."""
        now = time.time()
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            if self._is_ours(folder):
                os.utime(folder, (now, now))

    def _put(self, upload: Upload, parts: Mapping[str, bytes], visitor: str) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = Path(tempfile.mkdtemp(prefix=_NEW, dir=self.folder))
            try:
                for name, part in {**parts, _VISITOR: visitor.encode()}.items():
                    (new / name).write_bytes(part)
                with self._alone():
                    self._make_room_for(size_of(new), visitor)
                    new.rename(self.folder / upload.id)
            except BaseException:
                shutil.rmtree(new, ignore_errors=True)
                raise
        except OSError as error:
            if not is_full(error):
                raise
            logger.exception("no room for an upload")
            raise InputError(NO_ROOM) from error

    def _parts(self, upload_id: str) -> Mapping[str, bytes]:
        folder = self.folder / upload_id
        parts = {name: (folder / name).read_bytes() for name in PARTS if (folder / name).exists()}
        if not parts:
            raise FileNotFoundError(upload_id)
        return parts

    def _use(self, upload_id: str) -> bool:
        try:
            os.utime(self.folder / upload_id)
        except FileNotFoundError:
            return False
        except OSError:
            logger.warning("the use of upload %s could not be noted", short(upload_id), exc_info=True)
        return True

    def _delete(self, upload_id: str) -> bool:
        return _deleted(self.folder / upload_id)

    def _kept(self) -> Iterator[Kept]:
        found = []
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            if not self._handles.valid(folder.name):
                continue
            try:
                owner = (folder / _VISITOR).read_text(encoding="utf-8")
            except OSError:
                owner = ""
            try:
                found.append(Kept(folder.name, owner, size_of(folder), folder.stat().st_mtime))
            except FileNotFoundError:
                continue  # swept by another process
        return iter(sorted(found, key=lambda kept: kept.used))

    def _alone(self) -> FileLock:
        return FileLock(self.folder.with_suffix(".lock"))

    def _is_ours(self, folder: Path) -> bool:
        return self._handles.valid(folder.name) or folder.name.startswith(_NEW)


def _deleted(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _used(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return float("inf")  # swept by another process
