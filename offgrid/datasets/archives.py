"""Zip archives (NPZ, XLSX) that cannot harm: nothing is unpacked beyond what was allowed.

Entry points: `open_archive` checks the directory, `unpack` reads one member with a cap of its own, since a
directory can lie.
"""

from __future__ import annotations

import io
import zipfile
import zlib

from offgrid.datasets.limits import MB, Limits
from offgrid.errors import InputError

_CHUNK = MB
_MAX_MEMBERS = 10_000
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError, KeyError)


def open_archive(content: bytes, name: str, limits: Limits) -> zipfile.ZipFile:
    """Return an archive whose directory keeps to the limits."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = archive.infolist()
    except _BROKEN as error:
        raise InputError(f"{name} is damaged: it cannot be opened as an archive; save it again.") from error
    if len(members) > _MAX_MEMBERS:
        raise InputError(f"{name} holds {len(members):,} parts, and {_MAX_MEMBERS:,} are allowed: save it again.")
    limits.check_unpacked(sum(member.file_size for member in members))
    for member in members:
        if member.flag_bits & 0x1:
            raise InputError(f"{name} is encrypted: save it without a password.")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"{name} is compressed in an unusual way: save it with ordinary zip compression.")
        limits.check_ratio(name, member.compress_size, member.file_size)
    return archive


def unpack(archive: zipfile.ZipFile, member: str, name: str, limits: Limits) -> bytes:
    """Return the content of a member, stopping as soon as it grows past what is allowed."""
    chunks, size = [], 0
    try:
        with archive.open(member) as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                limits.check_unpacked(size)
                chunks.append(chunk)
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(f"{name} is damaged: its part {member} cannot be unpacked; save it again.") from error
    return b"".join(chunks)
