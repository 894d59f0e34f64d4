package bounds

import (
	"strings"

	"connectrpc.com/grpcreflect/v2"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1/kubeconnectv1connect"
)

const (
	// MaxManifestBytes bounds a request with a manifest: it is a little above the API server's
	// limit.
	MaxManifestBytes = 4 << 20
	// MaxRequestBytes bounds other requests: it is a little above the longest selectors and
	// filters.
	MaxRequestBytes = 256 << 10
	// maxQuestionsBytes bounds a request of CheckAccess, in which a question can have 2 bytes.
	maxQuestionsBytes = 64 << 10
	// maxHealthRequestBytes bounds a request of health, which needs no authentication, and of
	// reflection.
	maxHealthRequestBytes = 4 << 10
)

// MaxBytes returns the maximum length of a request of a procedure.
func MaxBytes(procedure string) int64 {
	switch {
	case hasManifest(procedure), IsKubernetes(procedure):
		return MaxManifestBytes
	case procedure == kubeconnectv1connect.AccessServiceCheckAccessProcedure:
		return maxQuestionsBytes
	}
	if IsHealth(procedure) || strings.HasPrefix(procedure, "/"+grpcreflect.ReflectV1ServiceName+"/") || strings.HasPrefix(procedure, "/"+grpcreflect.ReflectV1AlphaServiceName+"/") {
		return maxHealthRequestBytes
	}
	return MaxRequestBytes
}

// IsHealth reports whether a procedure is one of grpc.health.v1.Health.
func IsHealth(procedure string) bool {
	return strings.HasPrefix(procedure, "/"+healthv1.Health_ServiceDesc.ServiceName+"/")
}

// Kubernetes is the prefix of the procedures of Kubernetes' own API, which are no calls of connect: a verb follows.
const Kubernetes = "/kubernetes/"

// IsKubernetes reports whether a procedure is one of Kubernetes' own API.
func IsKubernetes(procedure string) bool { return strings.HasPrefix(procedure, Kubernetes) }

// IsKubernetesPath reports whether a path is one of Kubernetes' own API.
func IsKubernetesPath(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "api" || first == "apis" || first == "openapi" || path == "/version" || path == "/version/"
}

func hasManifest(procedure string) bool {
	switch procedure {
	case kubeconnectv1connect.ResourceServiceCreateProcedure,
		kubeconnectv1connect.ResourceServiceUpdateProcedure,
		kubeconnectv1connect.ResourceServicePatchProcedure:
		return true
	}
	return false
}

// DecodedBytes estimates the memory of a request of a procedure when it is decoded. The values of a
// request grow most, such as a join or a number in a manifest that is a google.protobuf.Value, and
// maxValuesOf bounds them.
func DecodedBytes(procedure string, length int64) int64 {
	switch {
	case hasManifest(procedure):
		return manifestGrowth * length
	case procedure == kubeconnectv1connect.ResourceServiceWatchManyProcedure:
		return watchGrowth * length
	case IsKubernetes(procedure):
		return length // it is passed on as it is
	}
	return min(requestGrowth*length, maxGrownBytes)
}

const (
	// manifestGrowth, watchGrowth and requestGrowth bound the memory for each byte of a request with
	// a manifest, of WatchMany, and of others.
	manifestGrowth = 64
	watchGrowth    = 256
	requestGrowth  = 96
	// maxGrownBytes bounds the memory of a decoded request with maxValues.
	maxGrownBytes = 16 * MaxRequestBytes
)
