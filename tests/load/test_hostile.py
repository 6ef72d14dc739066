"""A small storm of rubbish: no answer is a failure of the server, and its searches stay right. See `hostile`."""

from __future__ import annotations

from pathlib import Path

from hostile import attack, serving


def test_a_server_under_rubbish_answers_in_sentences_and_stays_right(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        _, faults = attack(server, n_uploads=40, n_requests=300, seed=1)
    assert faults == []
