# One image for every process of the stack. BASE is any image with Python 3.11 or newer as python3.
ARG BASE=python:3.12-slim
FROM ${BASE}

WORKDIR /opt/wddm
COPY pyproject.toml constraints.txt README.md ./
COPY wddm wddm
COPY runtime runtime
COPY umd umd
COPY kernel kernel
COPY miniport miniport
COPY vgpu vgpu
RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt . \
    && /opt/venv/bin/python -m compileall -q /opt/venv \
    && rm -rf /opt/wddm/*

ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 XDG_CACHE_HOME=/tmp/cache
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["wddm"]
CMD ["--help"]
