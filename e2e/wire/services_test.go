package wire_test

import (
	"slices"
	"strings"
)

var discovery = family{"discovery", "What the cluster serves, and who calls.", slices.Concat(
	byEach("resource types", "DiscoveryService/ListResourceTypes", `{"group":"scheduling.k8s.io"}`),
	[]exchange{
		get("resource types", "DiscoveryService/ListResourceTypes", `{"group":"scheduling.k8s.io"}`),
		connectJSON.call("a schema", "DiscoveryService/GetSchema", `{"resource":"runtimeclasses"}`),
	},
	byEach("no schema", "DiscoveryService/GetSchema", `{"resource":"nothing"}`),
	byEach("the caller", "AccessService/WhoAmI", `{}`),
	byEach("permissions", "AccessService/CheckAccess", `{"checks":[{"verb":"list","resource":"configmaps","namespace":"wire"},{"verb":"get","resource":"nothing"}]}`),
)}

var health = family{"health", "Health, without authentication.", slices.Concat(
	[]exchange{
		{name: "liveness", method: "GET", path: "/livez"},
		{name: "readiness", method: "GET", path: "/readyz"},
		{name: "the upstream", method: "GET", path: "/upstreamz"},
		{name: "readiness by POST", path: "/readyz"},
		{name: "readiness by HEAD", method: "HEAD", path: "/readyz"},
	},
	byEach("all services", "grpc.health.v1.Health/Check", `{}`),
	byEach("a service", "grpc.health.v1.Health/Check", `{"service":"kubeconnect.v1.ResourceService"}`),
	byEach("the upstream", "grpc.health.v1.Health/Check", `{"service":"kubeconnect.upstream"}`),
	byEach("an unknown service", "grpc.health.v1.Health/Check", `{"service":"none"}`),
	until(1, byEach("a watch", "grpc.health.v1.Health/Watch", `{"service":"kubeconnect.v1.ResourceService"}`)...),
	until(1, byEach("a watch of an unknown service", "grpc.health.v1.Health/Watch", `{"service":"none"}`)...),
	[]exchange{
		connectJSON.call("a request that is too long", "grpc.health.v1.Health/Check", `{}`).sending(zeros(5 << 10)),
		connectJSON.call("an unknown member", "grpc.health.v1.Health/Check", `{"servic":"none"}`),
		connectJSON.call("malformed JSON", "grpc.health.v1.Health/Check", `{`),
		{name: "a list of services", path: "/grpc.health.v1.Health/List", header: []string{"Content-Type: application/json"}, body: text(`{}`)},
		{name: "by GET", method: "GET", path: "/grpc.health.v1.Health/Check", query: `connect=v1&encoding=json&message={}`},
	},
)}

const (
	reflectV1      = "grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	reflectV1alpha = "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
)

// ask returns a stream of requests for reflection.
func ask(rpc string, requests ...string) body {
	var frames []body
	for _, request := range requests {
		frames = append(frames, frame(0, message(rpc, request)))
	}
	return joined(frames...)
}

var reflection = family{"reflection", "Reflection of gRPC, in both versions.", func() (exchanges []exchange) {
	for _, rpc := range []string{reflectV1, reflectV1alpha} {
		exchanges = append(exchanges,
			grpc.call("services", rpc, `{}`).sending(ask(rpc, `{"listServices":""}`)),
			grpc.call("several requests", rpc, `{}`).sending(ask(rpc,
				`{"fileContainingSymbol":"grpc.health.v1.Health"}`, `{"fileByFilename":"google/protobuf/empty.proto"}`,
				`{"fileContainingSymbol":"none"}`, `{"fileByFilename":"none.proto"}`,
				`{"allExtensionNumbersOfType":"kubeconnect.v1.Status"}`, `{"fileContainingExtension":{"containingType":"none","extensionNumber":1}}`)),
			grpc.call("an empty request", rpc, `{}`),
			grpc.call("no request", rpc, `{}`).sending(raw("")),
			connect.call("services", rpc, `{}`).sending(ask(rpc, `{"listServices":""}`)),
			grpcWeb.call("services", rpc, `{}`).sending(ask(rpc, `{"listServices":""}`)),
			exchange{name: "an unknown procedure", http: http2, path: strings.Replace(pathOf(rpc), "Info", "None", 1), header: []string{"Content-Type: application/grpc"}, body: ask(rpc, `{"listServices":""}`)},
			grpc.call("without a token", rpc, `{}`).sending(ask(rpc, `{"listServices":""}`)).at(guarded),
		)
	}
	return exchanges
}()}
