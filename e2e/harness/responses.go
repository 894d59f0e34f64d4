package harness

import (
	"errors"
	"io"
)

// Receiver is a stream of responses, as the generated clients return it.
type Receiver[Response any] interface {
	Receive() (*Response, error)
	Close() error
}

// ResponseStream reads the responses of a call in a loop: for s.Receive() { … s.Msg() … }, and then s.Err().
type ResponseStream[Response any] struct {
	receiver Receiver[Response]
	response *Response
	err      error
}

// Responses returns the stream that a client has opened, or the client's error.
func Responses[Response any](receiver Receiver[Response], err error) (*ResponseStream[Response], error) {
	if err != nil {
		return nil, err
	}
	return &ResponseStream[Response]{receiver: receiver}, nil
}

// Receive reads the next response. It returns false if the stream has ended.
func (s *ResponseStream[Response]) Receive() bool {
	if s.err == nil {
		s.response, s.err = s.receiver.Receive()
	}
	return s.err == nil
}

// Msg returns the response that Receive has read, which is nil after the end of the stream.
func (s *ResponseStream[Response]) Msg() *Response { return s.response }

// Err returns the error of the stream; nil if it has ended with OK or has not ended.
func (s *ResponseStream[Response]) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// Close closes the stream.
func (s *ResponseStream[Response]) Close() error { return s.receiver.Close() }
