package remote

import (
	"context"
	"errors"
	"io"
)

// forwarder connects a stream to a port. It implements portforward.PortForwarder.
type forwarder func(port int32, stream io.ReadWriteCloser) error

// PortForward implements portforward.PortForwarder. The context is not that of the request.
func (f forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	return f(port, stream)
}

// forward copies between a stream and a port, until the pod ends its part or ctx is done, which is that of the client's
// connection.
func (s *Server) forward(ctx context.Context, pod Pod, port int32, stream io.ReadWriteCloser) error {
	_, session, ok := s.sessions.begin(ctx)
	if !ok {
		return errors.New("the kubelet is shutting down")
	}
	conn, err := pod.Dial(port)
	if err != nil {
		s.sessions.end(session)
		return err
	}
	go func() { // it ends when the client has ended its part too, or its connection
		defer s.sessions.end(session)
		_, _ = io.Copy(conn, stream)
		_ = conn.CloseWrite()
	}()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, err = io.Copy(stream, conn)
	_ = conn.Close()
	return err
}
