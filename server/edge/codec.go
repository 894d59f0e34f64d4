package edge

import (
	"context"
	"strings"

	"connectrpc.com/connect"
)

// WantsMessages reports whether a call's responses are sent in another form than protobuf.
func WantsMessages(ctx context.Context) bool {
	call, ok := connect.CallInfoForHandlerContext(ctx)
	if !ok {
		return true
	}
	contentType := call.RequestHeader().Get("Content-Type")
	return contentType == "" || strings.Contains(contentType, "json")
}
