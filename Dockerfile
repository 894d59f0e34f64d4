# The service with its console, and nothing else: docker build -t REGISTRY/kubeconnect .

FROM node:22-bookworm-slim AS console
WORKDIR /src/clients
COPY clients .
RUN npm ci --no-audit --no-fund --ignore-scripts && npm run build

FROM golang:1.26-bookworm AS service
WORKDIR /src
# Modules are downloaded again only when they change.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
COPY --from=console /src/clients/web/dist clients/web/dist
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /kubeconnect ./cmd/server

# The binary is static, and trusts the authorities of the cluster that it is in.
FROM scratch
COPY --from=service /kubeconnect /kubeconnect
# As a number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENTRYPOINT ["/kubeconnect"]
