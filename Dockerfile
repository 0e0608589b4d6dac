FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/retrial . \
 && mkdir -p /out/data /out/tmp

FROM scratch
COPY --from=build /out/retrial /usr/local/bin/retrial
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build /src/examples/promotion /examples/promotion
COPY --from=build /src/examples/debian-migration /examples/debian-migration
USER 65532:65532
WORKDIR /data
ENV PATH=/usr/local/bin HOME=/data
VOLUME /data
# The socket is reached through the volume; to listen at a port instead, say so with --listen and --insecure, behind
# something that encrypts and authenticates.
HEALTHCHECK --interval=10s --timeout=5s CMD ["retrial", "health", "--quiet", "--server", "unix:/data/retrial.sock"]
ENTRYPOINT ["retrial"]
CMD ["serve", "--listen", "unix:/data/retrial.sock", "--store", "/data/retrial.db"]
