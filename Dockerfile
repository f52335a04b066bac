# Kaiwa with the SDKs of all models. The image needs no writable file system but /data and /tmp; docs/hosting.md says how it is run.
FROM python:3.13-slim AS build
WORKDIR /src
RUN python3 -m venv /app
COPY requirements-models.txt ./
RUN /app/bin/python -m pip install --no-cache-dir --quiet --require-hashes --no-deps --requirement requirements-models.txt
COPY pyproject.toml README.md LICENSE ./
COPY bot ./bot
COPY toolset ./toolset
COPY schemas ./schemas
COPY evals ./evals
RUN /app/bin/python -m pip install --quiet --no-index --no-build-isolation --no-deps .
RUN /app/bin/python -m pip uninstall --yes --quiet hatchling pip
RUN install --directory --owner=10001 --group=10001 --mode=700 /data

FROM python:3.13-slim
COPY --from=build /app /app
COPY --from=build --chown=10001:10001 /data /data
ENV PATH=/app/bin:/usr/local/bin:/usr/bin:/bin HOME=/data HOST=0.0.0.0 PORT=8000 KAIWA_DATA_DIR=/data
WORKDIR /data
USER 10001:10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD python -c "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/healthz', timeout=4)"
CMD ["kaiwa", "run"]
