# Pebble for the tests on a cluster. The context is a folder with its binary for Linux, such as `npm test` leaves below
# ~/.cache/tunnel-operator. What Pebble publishes is linked to glibc.
FROM debian:bookworm-slim
COPY pebble /usr/local/bin/
USER 65532:65532
ENTRYPOINT ["pebble"]
