"""From bytes to text: byte-order marks, UTF-8, UTF-16, Windows' Latin alphabet, and what is no text at all."""

from __future__ import annotations

import codecs
import re

from offgrid.errors import InputError

# Longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF8, "utf-8-sig", ""),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"PAR1", "a Parquet file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")


def decode(content: bytes, name: str) -> tuple[str, list[str]]:
    """Return the text of a file, lines ending in a newline character, and notes on its encoding."""
    for signature, what in _SIGNATURES:
        if content.startswith(signature):
            raise InputError(f"{name} is {what}, not text: give it the ending that belongs to it.")
    text, notes = _decoded(content, name)
    if _CONTROL.search(text):
        raise InputError(_binary(name))
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes


def _decoded(content: bytes, name: str) -> tuple[str, list[str]]:
    for mark, codec, title in _MARKS:
        if content.startswith(mark):
            try:
                return content.decode(codec), ([f"The file is read as {title}."] if title else [])
            except UnicodeDecodeError as error:
                raise InputError(f"{name} is damaged: it says {title or 'UTF-8'} and is not; save it again.") from error
    codec = _unmarked_utf16(content)
    try:
        if codec:
            return content.decode(codec), ["The file is read as UTF-16."]
        return content.decode("utf-8"), []
    except UnicodeDecodeError as error:
        # Windows' Latin alphabet leaves five bytes undefined, so that most binary files fail here or on controls.
        try:
            text = content.decode("cp1252")
        except UnicodeDecodeError:
            raise InputError(_binary(name)) from error
        letter = text[error.start] if not codec else text[0]
        return text, [
            f"The file is not UTF-8: it is read as Windows Latin (cp1252), where its first sign is {letter!r}."
        ]


def _unmarked_utf16(content: bytes) -> str:
    """Return the codec of UTF-16 without a mark: in a table nearly every second byte is 0."""
    sample = content[:4096]
    pairs = len(sample) // 2
    if len(content) % 2 or pairs < 2:
        return ""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > 0.7 * pairs and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 * pairs and odd == 0 else ""


def _binary(name: str) -> str:
    return f"{name} is not text: save the table as UTF-8 text, or give the file the ending that belongs to it."
