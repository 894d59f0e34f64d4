package callerrors

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// Limits of the size of an error. gRPC sends an error in the trailers of a response, encoded, and
// its message occurs there several times. A client that receives more than it accepts does not see
// the error: gRPC's C core accepts 8 KiB by default and reports RESOURCE_EXHAUSTED for more, and
// Node.js 20 waits forever after 64 KiB. Connect sends an error as JSON, which has the Status twice. The
// protocol and the codec of an error are not known where it is made, so it fits into each of them.
const (
	// maxErrorBytes bounds an error: its trailers, in the size that HTTP/2 counts, and its JSON.
	maxErrorBytes = 8 << 10
	// maxMessageBytes bounds the grpc-message trailer of a shortened error. It is also the minimum
	// that the message in the Status keeps, unless most of its characters are escaped in JSON.
	maxMessageBytes = 1 << 10
	// maxCauseBytes bounds each string of a cause in a shortened error, so that one long cause does
	// not displace the others.
	maxCauseBytes = 512
	// maxQuotedBytes bounds a quoted value in a shortened message. The API server quotes whole
	// objects and describes the fault only after them.
	maxQuotedBytes = 128
	// maxNameBytes bounds every other string of a shortened error. Names of objects, the longest of
	// these strings, have at most 253 bytes.
	maxNameBytes = 256
)

// trailerOverhead is the number of bytes that HTTP/2 and gRPC add to each trailer.
const trailerOverhead = 32

const typeURLPrefix = "type.googleapis.com/"

// ellipsis ends a shortened string.
const ellipsis = "…"

// newError returns an error with a message and a Status, which may be nil. It replaces invalid
// UTF-8 in both, and shortens both if the error would have more than maxErrorBytes.
func newError(code connect.Code, err error, status *kubeconnectv1.Status) *connect.Error {
	message := strings.ToValidUTF8(err.Error(), string(utf8.RuneError))
	encode.ValidUTF8(status)
	if isTooLarge(code, message, status) {
		message, status = shortened(code, message, status)
	}
	coded := connect.NewError(code, message).WithCause(err)
	if status == nil {
		return coded
	}
	detail, _ := connectproto.NewErrorDetail(status) // in UTF-8, so it can be encoded
	return coded.WithDetail(detail)
}

// bounded applies the limits of newError to an error that has a code. It returns an error that fits
// unchanged.
func bounded(coded *connect.Error) *connect.Error {
	status := StatusIn(coded)
	if utf8.ValidString(coded.Message()) && !isTooLarge(coded.Code(), coded.Message(), status) {
		return coded
	}
	return newError(coded.Code(), errors.New(coded.Message()), status)
}

// StatusIn returns the Status of an error for callers, or nil if it has none.
func StatusIn(err error) *kubeconnectv1.Status {
	var coded *connect.Error
	if !errors.As(err, &coded) {
		return nil
	}
	for _, detail := range coded.Details() {
		value, err := connectproto.UnmarshalErrorDetail(detail)
		if status, ok := value.(*kubeconnectv1.Status); ok && err == nil {
			return status
		}
	}
	return nil
}

// isTooLarge reports whether an error must be shortened. It encodes only those that may be too large: no
// encoding of a byte has more than 6 bytes in one copy and 8 in both, and 512 are enough for the rest.
func isTooLarge(code connect.Code, message string, status *kubeconnectv1.Status) bool {
	return 512+6*len(message)+8*proto.Size(status) > maxErrorBytes && errorBytes(code, message, status) > maxErrorBytes
}

// errorBytes returns the size of an error in the encoding that needs most.
func errorBytes(code connect.Code, message string, status *kubeconnectv1.Status) int {
	return max(trailerBytes(code, message, status), jsonBytes(code, message, status))
}

// jsonBytes returns the size of the message that ends a stream of Connect with an error, which is larger
// than the body of a call: the error has the Status in base64, and once more for people.
func jsonBytes(code connect.Code, message string, status *kubeconnectv1.Status) int {
	type detail struct {
		Type  string          `json:"type"`
		Value string          `json:"value"`
		Debug json.RawMessage `json:"debug,omitempty"`
	}
	var end struct {
		Error struct {
			Code    string   `json:"code"`
			Message string   `json:"message"`
			Details []detail `json:"details,omitempty"`
		} `json:"error"`
	}
	end.Error.Code, end.Error.Message = code.String(), message
	if status != nil {
		debug, _ := protojson.Marshal(status) // in UTF-8, or this size is not used: see newError
		value := strings.Repeat("A", base64.RawStdEncoding.EncodedLen(proto.Size(status)))
		end.Error.Details = []detail{{string(status.ProtoReflect().Descriptor().FullName()), value, debug}}
	}
	text, _ := json.Marshal(end)
	return envelopeBytes + len(text)
}

// envelopeBytes is the size of the prefix of a message of a stream.
const envelopeBytes = 5

// trailerBytes returns the size of the trailers that gRPC sends for an error: grpc-status,
// grpc-message in percent-encoding, and grpc-status-details-bin, a google.rpc.Status in base64 that
// repeats the message. The result may be a few bytes too large if fields are empty.
func trailerBytes(code connect.Code, message string, status *kubeconnectv1.Status) int {
	number := strconv.Itoa(int(code))
	size := len("grpc-status") + len(number) + trailerOverhead
	size += len("grpc-message") + percentBytes(message) + trailerOverhead
	if status == nil {
		return size
	}
	detail := 1 + protowire.SizeBytes(len(typeURLPrefix)+len(status.ProtoReflect().Descriptor().FullName())) +
		1 + protowire.SizeBytes(proto.Size(status))
	details := 1 + protowire.SizeVarint(uint64(code)) + 1 + protowire.SizeBytes(len(message)) + 1 + protowire.SizeBytes(detail)
	return size + len("grpc-status-details-bin") + base64.RawStdEncoding.EncodedLen(details) + trailerOverhead
}

// percentBytes returns the size of a string in gRPC's percent-encoding.
func percentBytes(text string) int {
	size := len(text)
	for i := range len(text) {
		if isEscaped(text[i]) {
			size += 2
		}
	}
	return size
}

func isEscaped(b byte) bool { return b < ' ' || b > '~' || b == '%' }

// shortened returns the message and the Status of an error, shortened to maxErrorBytes.
func shortened(code connect.Code, message string, status *kubeconnectv1.Status) (string, *kubeconnectv1.Status) {
	message = withoutLongQuotes(message)
	for part := 1; ; part *= 2 { // more than once only for text that JSON escapes
		short, copied := shortenedTo(code, message, status, part)
		if errorBytes(code, short, copied) <= maxErrorBytes {
			return short, copied
		}
	}
}

// shortenedTo bounds each string of an error to a part of its limit, and keeps the causes that fit. The
// message in the Status has the rest of maxErrorBytes.
func shortenedTo(code connect.Code, message string, status *kubeconnectv1.Status, part int) (string, *kubeconnectv1.Status) {
	message = cutEncoded(message, maxMessageBytes/part)
	if status == nil {
		return message, nil
	}
	text, maxName := withoutLongQuotes(status.GetMessage()), maxNameBytes/part
	copied := &kubeconnectv1.Status{
		Reason:            Cut(status.GetReason(), maxName),
		Message:           Cut(text, maxMessageBytes/part),
		Code:              status.GetCode(),
		Group:             Cut(status.GetGroup(), maxName),
		Kind:              Cut(status.GetKind(), maxName),
		Name:              Cut(status.GetName(), maxName),
		Uid:               Cut(status.GetUid(), maxName),
		RetryAfterSeconds: status.GetRetryAfterSeconds(),
		OmittedCauseCount: status.GetOmittedCauseCount() + int32(len(status.GetCauses())),
	}
	for _, cause := range status.GetCauses() {
		copied.Causes = append(copied.Causes, shortCause(cause))
		copied.OmittedCauseCount--
		if errorBytes(code, message, copied) > maxErrorBytes {
			copied.Causes = copied.Causes[:len(copied.Causes)-1]
			copied.OmittedCauseCount++
			break
		}
	}
	kept := len(copied.Message)
	longer := sort.Search(maxErrorBytes-kept, func(more int) bool {
		copied.Message = Cut(text, kept+more+1)
		return errorBytes(code, message, copied) > maxErrorBytes
	})
	copied.Message = Cut(text, kept+longer)
	return message, copied
}

func shortCause(cause *kubeconnectv1.StatusCause) *kubeconnectv1.StatusCause {
	return &kubeconnectv1.StatusCause{
		Reason:  Cut(cause.GetReason(), maxNameBytes),
		Message: Cut(withoutLongQuotes(cause.GetMessage()), maxCauseBytes),
		Field:   Cut(cause.GetField(), maxCauseBytes),
	}
}

// CutName returns the name of an object or a resource, shortened to maxNameBytes.
func CutName(name string) string { return Cut(name, maxNameBytes) }

// maxEventBytes bounds a message in an event.
const maxEventBytes = 1 << 10

// CutMessage returns a message of the API server, or of a node, as an event contains it: in UTF-8, and
// shortened to 1 KiB.
func CutMessage(message string) string {
	return Cut(strings.ToValidUTF8(message, "\uFFFD"), maxEventBytes)
}

// Cut returns text shortened to at most the given number of bytes. Shortened text ends in an
// ellipsis.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// cutEncoded shortens text like cut, measured by its size in percent-encoding.
func cutEncoded(text string, limit int) string {
	if percentBytes(text) <= limit {
		return text
	}
	size, end := percentBytes(ellipsis), 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		if size += percentBytes(text[i:next]); size > limit {
			break
		}
		end = next
	}
	return text[:end] + ellipsis
}

// withoutLongQuotes shortens each long value in double quotes and keeps the text around it.
func withoutLongQuotes(text string) string {
	var out strings.Builder
	for {
		begin := strings.IndexByte(text, '"')
		length := -1
		if begin >= 0 {
			length = quotedBytes(text[begin+1:])
		}
		if length < 0 {
			return out.String() + text
		}
		out.WriteString(text[:begin+1])
		out.WriteString(cutQuoted(text[begin+1 : begin+1+length]))
		out.WriteByte('"')
		text = text[begin+1+length+1:]
	}
}

// cutQuoted shortens text like cut, for text with backslash escapes.
func cutQuoted(text string) string {
	if len(text) <= maxQuotedBytes {
		return text
	}
	return strings.TrimRight(strings.TrimSuffix(Cut(text, maxQuotedBytes), ellipsis), `\`) + ellipsis
}

// quotedBytes returns the number of bytes before the quote that ends a quoted value, or a negative
// number if the value does not end.
func quotedBytes(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
