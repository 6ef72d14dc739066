from __future__ import annotations

from pathlib import Path

import pytest

from offgrid.errors import InputError
from services.settings import Settings, from_environment, prepare_data_dir


def test_nothing_set_gives_the_defaults() -> None:
    settings = from_environment({})
    assert (settings.host, settings.port, settings.max_rows, settings.slots) == ("127.0.0.1", 8050, 20_000, 2)
    assert settings.max_upload_bytes == 50_000_000
    assert settings.data_dir.is_absolute()


def test_blank_counts_as_unset() -> None:
    assert from_environment({"OFFGRID_PORT": "  "}).port == 8050


def test_every_variable_is_read(tmp_path: Path) -> None:
    settings = from_environment(
        {
            "OFFGRID_HOST": "0.0.0.0",
            "OFFGRID_PORT": "9000",
            "OFFGRID_DATA_DIR": str(tmp_path),
            "OFFGRID_MAX_ROWS": "500",
            "OFFGRID_MAX_UPLOAD_MB": "1.5",
            "OFFGRID_KEEP_UPLOADS_DAYS": "7",
            "OFFGRID_SLOTS": "3",
            "OFFGRID_THREADS": "4",
            "OFFGRID_MEMORY_LIMIT": "800MB",
            "OFFGRID_UPLOADS_MB": "900",
            "OFFGRID_UPLOADS_PER_VISITOR_MB": "90",
            "OFFGRID_KEEP_RUNS_DAYS": "8",
            "OFFGRID_MAX_RUNS": "70",
            "OFFGRID_RUNS_MB": "60",
            "OFFGRID_CACHE_MB": "50",
            "OFFGRID_RUNS_PER_VISITOR": "5",
            "OFFGRID_GRACE_SECONDS": "200",
            "OFFGRID_SECRET_KEY": "s3cret-s3cret-s3cret",
            "OFFGRID_URL_PREFIX": "/off/grid",
            "OFFGRID_HTTPS": "yes",
            "OFFGRID_METRICS_TOKEN": "t0ken",
            "OFFGRID_LOG_LEVEL": "debug",
            "OFFGRID_LOG_FORMAT": "JSON",
        }
    )
    assert settings == Settings(
        host="0.0.0.0",
        port=9000,
        data_dir=tmp_path,
        max_rows=500,
        max_upload_mb=1.5,
        uploads_mb=900,
        uploads_per_visitor_mb=90,
        keep_uploads_days=7,
        keep_runs_days=8,
        max_runs=70,
        runs_mb=60,
        cache_mb=50,
        slots=3,
        runs_per_visitor=5,
        grace_seconds=200,
        threads=4,
        memory_limit="800MB",
        secret_key="s3cret-s3cret-s3cret",
        url_prefix="/off/grid/",
        https=True,
        metrics_token="t0ken",
        log_level="DEBUG",
        log_format="json",
    )
    assert "s3cret" not in repr(settings), "a settings object may end up in a log"
    assert "t0ken" not in repr(settings)


def test_redis_is_shared_with_a_key_of_all_servers() -> None:
    pytest.importorskip("celery", reason="requirements-redis.txt is not installed")
    variables = {"OFFGRID_REDIS_URL": "rediss://user:p4ss@store:6379/0", "OFFGRID_SECRET_KEY": "s3cret-s3cret-s3cret"}
    settings = from_environment(variables)
    assert settings.redis_url == variables["OFFGRID_REDIS_URL"]
    assert "p4ss" not in repr(settings)
    assert from_environment(settings.to_environment()) == settings
    with pytest.raises(InputError, match="OFFGRID_SECRET_KEY is not; give all servers of it the same key"):
        from_environment({"OFFGRID_REDIS_URL": "redis://store"})
    with pytest.raises(InputError, match="must begin with redis://, rediss:// or unix://") as caught:
        from_environment({**variables, "OFFGRID_REDIS_URL": "http://user:p4ss@store"})
    assert "p4ss" not in str(caught.value)


def test_without_its_packages_redis_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"needs packages that are missing; install requirements-redis\.txt"):
        from_environment({"OFFGRID_REDIS_URL": "redis://store", "OFFGRID_SECRET_KEY": "s3cret-s3cret-s3cret"})


def test_the_environment_of_a_subprocess_reads_back_as_the_same_settings(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, port=8123, threads=2, max_upload_mb=0.5, https=True, log_level="ERROR")
    assert from_environment(settings.to_environment()) == settings


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("OFFGRID_PORT", "http", "a whole number from 1 to 65,535"),
        ("OFFGRID_PORT", "0", "a whole number from 1 to 65,535"),
        ("OFFGRID_PORT", "-1", "a whole number from 1 to 65,535"),
        ("OFFGRID_MAX_ROWS", "many", "a whole number from 2 to 1,000,000"),
        ("OFFGRID_MAX_UPLOAD_MB", "nan", "a number from 0.001 to 2,000"),
        ("OFFGRID_MAX_UPLOAD_MB", "inf", "a number from 0.001 to 2,000"),
        ("OFFGRID_SLOTS", "1.5", "a whole number from 1 to 64"),
        ("OFFGRID_MEMORY_LIMIT", "plenty", "a size such as 800MB or 1.5GiB"),
        ("OFFGRID_LOG_LEVEL", "loud", "one of DEBUG, INFO, WARNING, ERROR"),
        ("OFFGRID_LOG_FORMAT", "xml", "one of text, json"),
        ("OFFGRID_GRACE_SECONDS", "1", "a whole number from 5 to 86,400"),
        ("OFFGRID_RUNS_PER_VISITOR", "0", "a whole number from 1 to 1,000"),
        ("OFFGRID_HTTPS", "maybe", "1 or 0"),
        ("OFFGRID_URL_PREFIX", "off grid", "a path such as /offgrid/"),
        ("OFFGRID_URL_PREFIX", "https://host/offgrid", "a path such as /offgrid/"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(name: str, value: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        from_environment({name: value})
    message = str(caught.value)
    assert message.startswith(f"{name} is {value!r}; it must be {allowed}")
    assert message.count(".") - message.count("0.001") - message.count("1.5") == 1


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="more than all uploads may take together"):
        from_environment({"OFFGRID_UPLOADS_MB": "10", "OFFGRID_UPLOADS_PER_VISITOR_MB": "20"})


def test_a_short_secret_is_refused_without_being_told() -> None:
    with pytest.raises(InputError, match="has 5 characters, which can be guessed") as caught:
        from_environment({"OFFGRID_SECRET_KEY": "hunch"})
    assert "hunch" not in str(caught.value)


def test_a_file_is_no_data_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InputError, match="is a file; give a folder"):
        from_environment({"OFFGRID_DATA_DIR": str(file)})


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="can't be written to"):
        prepare_data_dir(Settings(data_dir=tmp_path / "file" / "below"))


def test_the_data_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new")
    prepare_data_dir(settings)
    assert settings.data_dir.stat().st_mode & 0o077 == 0
