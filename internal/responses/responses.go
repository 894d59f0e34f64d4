// Package responses reads streams of responses in a loop, for tests.
//
//	stream, err := responses.Of(client.Watch(ctx, request))
//	for stream.Receive() {
//		… stream.Msg() …
//	}
//	err = stream.Err()
package responses

import (
	"errors"
	"io"
)

// Receiver is a stream of responses, as the generated clients return it.
type Receiver[Response any] interface {
	Receive() (*Response, error)
	Close() error
}

// Stream is a stream whose responses are read in a loop. It is not safe for concurrent use, except for Close.
type Stream[Response any] struct {
	receiver Receiver[Response]
	response *Response
	err      error
}

// Of returns the stream that a client has opened, or the client's error.
func Of[Response any](receiver Receiver[Response], err error) (*Stream[Response], error) {
	if err != nil {
		return nil, err
	}
	return &Stream[Response]{receiver: receiver}, nil
}

// Receive reads the next response. It returns false if the stream has ended.
func (s *Stream[Response]) Receive() bool {
	if s.err == nil {
		s.response, s.err = s.receiver.Receive()
	}
	return s.err == nil
}

// Msg returns the response that Receive has read; nil after the end of the stream.
func (s *Stream[Response]) Msg() *Response { return s.response }

// Err returns the error of the stream; nil if the stream has ended with OK, or has not ended.
func (s *Stream[Response]) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// Close closes the stream.
func (s *Stream[Response]) Close() error { return s.receiver.Close() }
