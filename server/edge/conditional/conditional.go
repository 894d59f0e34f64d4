package conditional

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/server/edge/call"
	"github.com/kubeconnect/kubeconnect/server/encode"
)

// Reads is the interceptor that gives the response of each read by GET a tag (ETag), and replaces it by 304 if
// the client sends a tag of the same response in If-None-Match. A tag is weak, and has two parts:
//
//	W/"STATE.CONTENT"
//
// CONTENT is a hash of the response, without what changes while the answer does not; see
// contentHash. It is right for every read, at every replica, but needs the response.
//
// STATE is a hash of what the response was computed from; see Unchanged. If it is the same, the
// response is not computed. It is empty for a response that was computed from anything but one
// cache that is current.
//
// Both parts include the URL and the caller. The caller is authenticated and authorized in any
// case, before a tag is compared. An error has no tag.
func Reads(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		if !call.IsGet(ctx) {
			return next(ctx, spec, stream)
		}
		read := newRead(ctx, stream)
		return next(context.WithValue(ctx, readKey{}, read), spec, read)
	}
}

type readKey struct{}

// read is one read by GET. It is owned by the goroutine of the call's handler.
type read struct {
	connect.ServerStream
	header   http.Header // of the response
	scope    string      // the URL and the caller
	known    []entityTag // of the responses that the client has
	oneCache bool        // see readsOneCache
	state    string      // see Unchanged; empty if it is not known
	decodes  bool        // the unknown fields of the response are still to be decoded; see SetEncoded
}

func newRead(ctx context.Context, stream connect.ServerStream) *read {
	c := call.From(ctx)
	return &read{
		ServerStream: stream,
		header:       c.ResponseHeader,
		scope:        fmt.Sprintf("%q %q", c.Request.URL.RequestURI(), call.CallerKey(call.IdentityFrom(ctx))),
		known:        parseTags(c.Request.Header.Values("If-None-Match")),
	}
}

// Receive implements connect.ServerStream.
func (r *read) Receive(message any) error {
	err := r.ServerStream.Receive(message)
	if err == nil {
		r.oneCache = readsOneCache(message.(proto.Message))
	}
	return err
}

// Send implements connect.ServerStream. It returns the error of finish, and then sends nothing. If the response
// cannot be encoded, its error is sent, which must not be stored under the tag of the response.
func (r *read) Send(message any) error {
	if err := r.finish(message.(proto.Message)); err != nil {
		return err
	}
	err := r.ServerStream.Send(message)
	if err != nil {
		r.header.Del("ETag")
		r.header.Set("Cache-Control", "no-store")
	}
	return err
}

// oneCacheFields are the fields of requests that do not make a read depend on more than the objects
// of one cache. A field that is missing here costs time; a field that is wrongly here results in a
// 304 for a response that has changed.
var oneCacheFields = []protoreflect.Name{
	"resource", "namespace", "name", "label_selector", "field_selector", "filter",
	"encoding", "fields", "metadata_only", "order_by", "page_size", "group_by", "max_groups", "aggregates",
	"min_resource_version", "require_all_namespaces",
}

// readsOneCache reports whether the response to a request depends on the objects of one cache at most.
func readsOneCache(request proto.Message) bool {
	only := true
	request.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		only = slices.Contains(oneCacheFields, field.Name())
		return only
	})
	return only
}

// Unchanged returns an error that becomes a 304 if the client has the response that was computed
// from a state, and nil otherwise. The state identifies all that a response to the same request of
// the same caller depends on: the revision of the cache that the response is read from, and the
// permissions. determine returns false if there is no such state. It must be called before the cache
// is read, and is called only for a GET of a response that depends on one cache.
func Unchanged(ctx context.Context, determine func() (state string, ok bool)) error {
	read, ok := ctx.Value(readKey{}).(*read)
	if !ok || !read.oneCache {
		return nil
	}
	read.state = "" // of an earlier attempt, if there was one
	state, ok := determine()
	if !ok {
		return nil
	}
	read.state = hashOf(read.scope, state)
	for _, tag := range read.known {
		if tag.state == read.state {
			return read.notModified(tag)
		}
	}
	return nil
}

// SetEncoded puts encoded fields into the response of a call, like [encode.Set]. For a read by GET
// they are decoded only after it is known that the client does not have the response.
func SetEncoded(ctx context.Context, response proto.Message, encoded []byte, messages bool) {
	if read, ok := ctx.Value(readKey{}).(*read); ok {
		read.decodes, messages = messages, false
	}
	encode.Set(response, encoded, messages)
}

// finish sets the tag of a response. It returns an error that becomes a 304 if the client has the
// response.
func (r *read) finish(response proto.Message) error {
	tag := entityTag{content: contentOf(r.scope, response)}
	if isCurrent(response) {
		tag.state = r.state
	}
	if slices.ContainsFunc(r.known, func(known entityTag) bool { return known.content == tag.content }) {
		return r.notModified(tag)
	}
	r.setHeaders(tag)
	if r.decodes {
		encoded := response.ProtoReflect().GetUnknown()
		response.ProtoReflect().SetUnknown(nil)
		encode.Set(response, encoded, true)
	}
	return nil
}

func (r *read) notModified(tag entityTag) error {
	r.setHeaders(tag)
	return connecthttp.NewNotModifiedError()
}

// setHeaders sets the headers of a response that only this caller's client stores, and that it
// validates before each use.
func (r *read) setHeaders(tag entityTag) {
	r.header.Set("Cache-Control", "private, no-cache")
	r.header.Add("Vary", "Authorization") // connect adds Accept-Encoding
	r.header.Set("ETag", tag.String())
}

// isCurrent reports whether a response was read from a cache that is not stale. After an outage a
// client must receive a response that is not marked as stale, even if no object has changed.
func isCurrent(response proto.Message) bool {
	read, ok := response.(interface {
		GetSource() kubeconnectv1.Source
		GetFreshness() *kubeconnectv1.Freshness
	})
	return ok && read.GetSource() == kubeconnectv1.Source_SOURCE_CACHE && !read.GetFreshness().GetStale()
}

// entityTag is a tag of this service.
type entityTag struct{ state, content string }

func (t entityTag) String() string { return `W/"` + t.state + "." + t.content + `"` }

// maxKnownTags bounds the tags of a request that are compared.
const maxKnownTags = 16

// parseTags returns the tags in the values of If-None-Match that this service may have sent. Others
// are omitted, and so is "*", because the service cannot know which response the client has.
func parseTags(values []string) (tags []entityTag) {
	for _, text := range strings.Split(strings.Join(values, ","), ",") {
		text = strings.TrimPrefix(strings.TrimSpace(text), "W/")
		state, content, ok := strings.Cut(strings.Trim(text, `"`), ".")
		if ok && (state == "" || isHash(state)) && isHash(content) && len(tags) < maxKnownTags {
			tags = append(tags, entityTag{state, content})
		}
	}
	return tags
}

// hashBytes is the length of a hash in a tag.
const hashBytes = 18

func hashOf(parts ...string) string {
	return encodeHash(sha256.Sum256(fmt.Appendf(nil, "%q", parts)))
}

func encodeHash(sum [sha256.Size]byte) string {
	return base64.RawURLEncoding.EncodeToString(sum[:hashBytes])
}

// isHash reports whether text has the form of a hash, so that it can be repeated in a header.
func isHash(text string) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(decoded) == hashBytes
}
