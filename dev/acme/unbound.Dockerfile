# unbound for the tests on a cluster. Nothing is copied from the context.
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends unbound && rm -rf /var/lib/apt/lists/*
USER 65532:65532
ENTRYPOINT ["unbound", "-d"]
