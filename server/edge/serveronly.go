package edge

import "connectrpc.com/connect"

// serverOnly is the part of an interceptor that a server does not use.
type serverOnly struct{}

// WrapStreamingClient implements connect.Interceptor.
func (serverOnly) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
