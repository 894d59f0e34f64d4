# Builds an image with only the service, which includes the console:
# docker build -t REGISTRY/kubeconnect .

FROM node:22-bookworm-slim AS console
WORKDIR /src/clients
COPY clients .
RUN npm ci --no-audit --no-fund --ignore-scripts && npm run build

FROM golang:1.26-bookworm AS service
WORKDIR /src
# A separate layer, so that modules are downloaded again only when go.mod or go.sum changes.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=console /src/clients/web/dist clients/web/dist
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /kubeconnect ./cmd/server

# The binary is static and needs no CA certificates of a system: it trusts the CA of its cluster.
FROM scratch
COPY --from=service /kubeconnect /kubeconnect
# Numeric, so that Kubernetes can verify that the user is not root (runAsNonRoot).
USER 65532:65532
ENTRYPOINT ["/kubeconnect"]
