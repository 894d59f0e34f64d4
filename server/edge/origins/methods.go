package origins

import (
	"encoding/json"
	"net/http"
	"strings"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// refuseByGET responds to a GET of an RPC that changes objects or opens a stream. connect would
// respond with the same status, but without an explanation.
func refuseByGET(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !needsPOST(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", http.MethodPost)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusMethodNotAllowed)
		_ = json.NewEncoder(w).Encode(map[string]string{
			"code": connect.CodeUnimplemented.String(),
			"message": strings.TrimPrefix(r.URL.Path, "/") +
				" cannot be called by GET, because it changes objects or opens a stream: call it by POST",
		})
	})
}

// needsPOST reports whether a path is that of an RPC that is not a read with one response.
func needsPOST(path string) bool {
	service, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	rpc, ok := found.(protoreflect.MethodDescriptor)
	if err != nil || !ok {
		return false
	}
	options, _ := rpc.Options().(*descriptorpb.MethodOptions)
	return options.GetIdempotencyLevel() != descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}
