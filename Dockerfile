# One image for every service: `python -m services.<name>.app`, configured by the environment alone.
# Written for any builder: no BuildKit mounts, no heredocs. Nothing secret goes in.

FROM node:22-slim AS page
WORKDIR /build/web
COPY web/package.json web/package-lock.json web/.npmr[c] ./
RUN npm ci --no-audit --no-fund --loglevel=error
COPY shared /build/shared
COPY docs /build/docs
COPY web ./
RUN npm run build

FROM python:3.13-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PARLEY_HOME=/var/lib/parley
WORKDIR /app
COPY requirements.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore --require-hashes -r requirements.txt
COPY shared shared
COPY services services
COPY retail retail
COPY sql sql
COPY flows flows
COPY sdk sdk
COPY cli cli
COPY --from=page /build/services/gateway/page services/gateway/page
# Compiled here, because the one who runs it may write nothing but its home.
RUN python -m compileall -q shared services retail sql flows sdk cli \
    && useradd --system --uid 10001 --no-create-home parley \
    && mkdir -p /var/lib/parley && chown parley /var/lib/parley
USER parley
CMD ["python", "-m", "services.gateway.app"]
