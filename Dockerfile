# The dashboard behind gunicorn, as a user without privileges. Nothing in the image is written to: data (uploads, runs,
# caches) live in the volume /data, and numba's compiled code in the volume /var/cache/offgrid, which Docker fills from
# the image. Run it with a read-only root file system and without capabilities:
#
#   docker build -t offgrid .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#       --memory 4g --pids-limit 256 -p 8050:8050 -v offgrid-data:/data offgrid

FROM python:3.11-slim AS packages
RUN python -m venv /opt/venv
WORKDIR /build
COPY requirements.txt requirements-redis.txt ./
RUN /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check -r requirements-redis.txt

FROM python:3.11-slim
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/cache/offgrid \
    OFFGRID_HOST=0.0.0.0 \
    OFFGRID_PORT=8050 \
    OFFGRID_DATA_DIR=/data

RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin offgrid \
    && install --directory --owner=offgrid --group=offgrid --mode=0700 /data /var/cache/offgrid

COPY --from=packages /opt/venv /opt/venv
WORKDIR /app
COPY app.py gunicorn.conf.py ./
COPY offgrid offgrid
COPY services services
COPY figures figures
COPY layouts layouts
COPY callbacks callbacks
COPY assets assets
COPY benchmarks benchmarks

USER 10001:10001
# On another kind of processor numba compiles anew, once, into the volume.
RUN python -c "from offgrid.engine import warmup; warmup()"

VOLUME ["/data", "/var/cache/offgrid"]
EXPOSE 8050
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ[\"OFFGRID_PORT\"]}/healthz', timeout=4)"]
CMD ["gunicorn", "-c", "gunicorn.conf.py", "app:server"]
