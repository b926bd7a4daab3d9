# A static program in an image that has nothing else: 13 MB, no shell, no user
# that could become root.
#
#   docker build -t orders .                                    examples/orders
#   docker build -t bills --build-arg PACKAGE=./cmd/bills .      a package of yours
#
# It works in any module that requires github.com/sqsbatch/sqsbatch: copy it and
# .dockerignore to the folder of your go.mod. It needs BuildKit, which `docker build` uses
# by itself since Docker 23.0, and before that with DOCKER_BUILDKIT=1.

ARG GO_VERSION=1.26
# The registry's mirror, if you have one: it must be Debian's variant or another
# that has certificates in /etc/ssl/certs.
ARG GO_IMAGE=golang:${GO_VERSION}

# The compiler runs on the builder's own platform and compiles for the target's
# (docker build --platform linux/arm64,linux/amd64), since emulating it is slow.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
COPY . .
ARG PACKAGE=./examples/orders
# Where modules come from, for who has a proxy or private modules. Credentials
# for them: docker build --secret id=netrc,src=$HOME/.netrc
ARG GOPROXY GOPRIVATE
ARG TARGETOS TARGETARCH
# Without CGO_ENABLED=0 the program would want a C library, which scratch has
# not. -buildvcs=false, because .git is not copied and does not have to be.
# livez is what Amazon ECS runs to ask the program whether it lives, at
# SQSBATCH_HEALTH_ADDR or at its argument.
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    --mount=type=secret,id=netrc,target=/root/.netrc \
    export CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH && \
    go build -trimpath -buildvcs=false -tags lambda.norpc -ldflags "-s -w" -o /out/app "$PACKAGE" && \
    go build -trimpath -buildvcs=false -ldflags "-s -w" -o /out/livez github.com/sqsbatch/sqsbatch/cmd/livez

# scratch, and not distroless/static, which has little more: the certificates
# come along with the Go image, so that there is one image to trust and to keep
# up to date. What distroless has and this has not: time zones (import
# time/tzdata if you need them), /etc/passwd, /tmp.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ /
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
# What longpoll drains on. It is the default; said, so that no base changes it.
STOPSIGNAL SIGTERM
# No shell in between, which would keep the signal for itself.
ENTRYPOINT ["/app"]
