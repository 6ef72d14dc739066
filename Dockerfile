# The dashboard behind gunicorn, as a user without privileges. Data (uploads, runs, caches) live in /data.
#
#   docker build -t offgrid .
#   docker run -p 8050:8050 -v offgrid-data:/data offgrid

FROM python:3.11-slim AS packages
RUN python -m venv /opt/venv
COPY requirements.txt .
RUN /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check -r requirements.txt

FROM python:3.11-slim
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/cache/offgrid \
    OFFGRID_HOST=0.0.0.0 \
    OFFGRID_PORT=8050 \
    OFFGRID_DATA_DIR=/data

RUN useradd --system --uid 10001 --user-group --create-home --shell /usr/sbin/nologin offgrid \
    && install --directory --owner=offgrid --group=offgrid /data /var/cache/offgrid

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

USER offgrid
# The cache stays writable: on another kind of processor numba compiles anew, once.
RUN python -c "from offgrid.engine import warmup; warmup()"

VOLUME /data
EXPOSE 8050
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ[\"OFFGRID_PORT\"]}/healthz', timeout=4)"]
CMD ["gunicorn", "-c", "gunicorn.conf.py", "app:server"]
