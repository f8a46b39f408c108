# The image of both programs: `api` and `operator` are its arguments. docs/install.md says how to build it.

# Any Linux image with glibc 2.34 or later, Node.js 24 and npm; for example, this one from a mirror.
ARG NODE_IMAGE=node:24-slim

# -- The compiled program. This stage and the next do not depend on the processor, so they run on the builder's own.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.ts scripts/
COPY src src
RUN node scripts/build.ts /app/dist && find /app/dist -name '*.d.ts' -delete

# -- Its dependencies. The optional one, the embedded PostgreSQL, is only for tests and the demo.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
 # Describes what is installed. With --omit, npm sbom would also drop packages that both kinds of dependencies need.
 && cp package.json whole.json && npm pkg delete devDependencies optionalDependencies \
 && npm sbom --sbom-format=cyclonedx > sbom.cdx.json && mv whole.json package.json \
 # Half of what npm installs is for editors and debuggers. Licences stay.
 && find node_modules -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -iname '*.md' \) \
      ! -iname 'licen[cs]e*' ! -iname 'copying*' ! -iname 'notice*' -delete \
 && (cd node_modules/@fastify/swagger-ui/static && rm swagger-ui.js favicon-*.png index.html oauth2-redirect.*) \
 && rm -r node_modules/.bin node_modules/.package-lock.json package-lock.json \
 && find node_modules -type d -empty -delete

# -- Node.js and the libraries that it is linked to, with their licences: no shell, no package manager.
FROM ${NODE_IMAGE} AS root
RUN mkdir -p /root-fs/etc /root-fs/tmp && chmod 1777 /root-fs/tmp \
 && node=$(command -v node) \
 && cp -L --parents "$node" $(ldd "$node" | grep -o '/[^ ]*') /root-fs \
 && for licence in /usr/local/LICENSE /usr/share/doc/libc6/copyright /usr/share/doc/libstdc++6/copyright /usr/share/doc/libgcc-s1/copyright; do \
      if [ -e "$licence" ]; then cp -L --parents "$licence" /root-fs; fi; \
    done \
 && ln -s "$node" /root-fs/node \
 && echo 'tunnel-operator:x:65532:65532::/:/' > /root-fs/etc/passwd \
 && echo 'tunnel-operator:x:65532:' > /root-fs/etc/group \
 && echo 'hosts: files dns' > /root-fs/etc/nsswitch.conf

FROM scratch
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="tunnel-operator" \
      org.opencontainers.image.description="Management API of a tunnelling platform, and the Kubernetes operator that drives it" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=root /root-fs /
COPY --from=dependencies /app /app
COPY --from=build /app/dist /app/dist
COPY LICENSE /app/
# Licences that @fastify/swagger-ui omits from its copy of Swagger UI.
COPY licences /app/licences
ENV NODE_ENV=production HOST=:: LOG_FORMAT=json TUNNEL_OPERATOR_COMMIT=${REVISION}
WORKDIR /app
USER 65532:65532
EXPOSE 8080 8081
# No init is needed: the program handles signals itself and starts no other processes.
STOPSIGNAL SIGTERM
# By default, the young generation may grow to 128 MiB, a quarter of the API's memory in the chart (docs/api/limits.md).
ENTRYPOINT ["/node", "--max-semi-space-size=8", "/app/dist/main.js"]
CMD ["--help"]
