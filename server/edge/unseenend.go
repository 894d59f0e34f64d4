package edge

import (
	"errors"
	"net/http"
	"strconv"

	"connectrpc.com/connect"
)

// Interceptors do not see how two kinds of calls end: those whose request cannot be read or decoded, for
// which connect responds by itself, and those whose handler panics. Without noteUnseenEnd the log, the
// metrics and the traces would have them as successful.

// noteUnseenEnd records how a call has ended, unless that is recorded. Requests that are no calls have
// no end.
func (c *call) noteUnseenEnd() {
	if c.record.procedure == "" || c.hasEnded {
		return
	}
	code, message := c.sentCode(), "the request could not be read"
	c.record.isRefused = !c.isHandled
	if c.isHandled {
		code, message = connect.CodeInternal, "the handler has panicked"
	}
	c.record.metrics.ended(connect.Spec{Procedure: c.record.procedure}, c, connect.NewError(code, errors.New(message)))
}

// sentCode returns the code of the error that was sent for a request that could not be read.
func (c *call) sentCode() connect.Code {
	if c.request.Context().Err() != nil {
		return connect.CodeCanceled
	}
	for _, key := range []string{"Grpc-Status", http.TrailerPrefix + "Grpc-Status"} {
		if code, err := strconv.ParseUint(c.responseHeader.Get(key), 10, 8); err == nil && code != 0 {
			return connect.Code(code)
		}
	}
	if code, ok := codesOfStatus[c.record.status]; ok {
		return code
	}
	return connect.CodeInvalidArgument // over gRPC-Web the code is in the body
}

// codesOfStatus are the codes of the errors of reading, by the status that Connect sends them with.
var codesOfStatus = map[int]connect.Code{
	499:                            connect.CodeCanceled,
	http.StatusTooManyRequests:     connect.CodeResourceExhausted,
	http.StatusInternalServerError: connect.CodeInternal,
	http.StatusNotImplemented:      connect.CodeUnimplemented,
	http.StatusServiceUnavailable:  connect.CodeUnavailable,
	http.StatusGatewayTimeout:      connect.CodeDeadlineExceeded,
}
