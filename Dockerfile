# A static program in an image without anything else: 14 MB, no shell, no user
# that could become root.
#
#   docker build -t orders .                                    examples/orders
#   docker build -t bills --build-arg PACKAGE=./cmd/bills .      a package of yours
#
# It works in any module that requires github.com/sqsbatch/sqsbatch: copy it and
# .dockerignore to the folder of your go.mod. It needs BuildKit, which `docker build` uses
# by itself since Docker 23.0, and before that with DOCKER_BUILDKIT=1.

# Another image, such as your registry's mirror: it must be Debian's variant or another
# that has certificates in /etc/ssl/certs. Defaults to the image below. Its digest is that of
# all platforms; let Dependabot, Renovate or `docker buildx imagetools inspect` renew it.
ARG GO_IMAGE=go
FROM --platform=$BUILDPLATFORM golang:1.26@sha256:3aff6657219a4d9c14e27fb1d8976c49c29fddb70ba835014f477e1c70636647 AS go

# The compiler runs on the builder's own platform and compiles for the target's
# (docker build --platform linux/arm64,linux/amd64), since emulating it is slow.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY . .
ARG PACKAGE=./examples/orders
# For a module proxy or private modules. Their credentials:
# docker build --secret id=netrc,src=$HOME/.netrc
ARG GOPROXY GOPRIVATE
ARG TARGETOS TARGETARCH
# Without CGO_ENABLED=0 the program would need a C library, which scratch does
# not have. -buildvcs=false, because .git is not copied. Amazon ECS runs livez as
# the health check: it asks the program at SQSBATCH_HEALTH_ADDR or its argument.
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    --mount=type=secret,id=netrc,target=/root/.netrc \
    export CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH && \
    go build -trimpath -buildvcs=false -tags lambda.norpc -ldflags "-s -w" -o /out/app "$PACKAGE" && \
    go build -trimpath -buildvcs=false -ldflags "-s -w" -o /out/livez github.com/sqsbatch/sqsbatch/cmd/livez

# scratch, not distroless/static: the certificates come from the Go image, so
# there is only one image to trust and to update. This image does not have what
# distroless adds: time zones (import time/tzdata if you need them),
# /etc/passwd, /tmp.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ /
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
# The signal that starts the drain. It is the default, set here so that no base
# image changes it.
STOPSIGNAL SIGTERM
# Without a shell, which would not pass the signal on.
ENTRYPOINT ["/app"]
