package harness

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// WatchSpecs returns the watches of requests, for one stream. The requests must have no resume
// token. The fields of both messages have the same numbers.
func WatchSpecs(requests ...*kubeconnectv1.WatchRequest) []*kubeconnectv1.WatchSpec {
	specs := make([]*kubeconnectv1.WatchSpec, len(requests))
	for i, request := range requests {
		specs[i] = &kubeconnectv1.WatchSpec{}
		encoded, err := proto.Marshal(request)
		if err == nil {
			err = proto.Unmarshal(encoded, specs[i])
		}
		if err != nil || len(specs[i].ProtoReflect().GetUnknown()) > 0 {
			panic(fmt.Sprintf("no watch of several: %v, %v", request, err))
		}
	}
	return specs
}
