package object

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/kubeconnect/kubeconnect/internal/testobjects"
)

var watchMediaTypes = []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON}

// mediaType returns a media type of a serializer.
func mediaType(t testing.TB, of runtime.NegotiatedSerializer, name string) runtime.SerializerInfo {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(of.SupportedMediaTypes(), name)
	if !ok {
		t.Fatalf("%s is not supported", name)
	}
	return info
}

// watchOf returns a decoder of a watch, as client-go creates it for a response with the body.
func watchOf(t testing.TB, name string, body io.Reader) *restwatch.Decoder {
	t.Helper()
	info := mediaType(t, &Codec{Kind: pods.GroupVersionKind()}, name)
	frames := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(body))
	return restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), info.Serializer)
}

// messageOf returns the message of an event, as an API server sends it.
func messageOf(t testing.TB, name string, kind watch.EventType, object runtime.Object) []byte {
	t.Helper()
	content := testobjects.ProtobufBody(t, object)
	if name == runtime.ContentTypeJSON {
		content = testobjects.JSONOf(t, object)
	}
	stream := mediaType(t, scheme.Codecs, name).StreamSerializer
	var framed bytes.Buffer
	event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: content}}
	if err := streaming.NewEncoder(stream.Framer.NewFrameWriter(&framed), stream.Serializer).Encode(event); err != nil {
		t.Fatal(err)
	}
	return framed.Bytes()
}

// TestCodec_EventsOfAWatchKeepTheirContent reads events of different sizes, which client-go reads into
// the same buffer.
func TestCodec_EventsOfAWatchKeepTheirContent(t *testing.T) {
	for _, name := range watchMediaTypes {
		t.Run(name, func(t *testing.T) {
			var body bytes.Buffer
			names := []string{"one", strings.Repeat("long", 1000), "two", "six"}
			for _, each := range names {
				body.Write(messageOf(t, name, watch.Modified, testobjects.NewPod(traits{Name: each, Version: "7", Node: "on-" + each})))
			}
			events := watchOf(t, name, &body)
			var received []*Object
			for range names {
				kind, object, err := events.Decode()
				if err != nil || kind != watch.Modified {
					t.Fatalf("received %q: %v", kind, err)
				}
				received = append(received, object.(*Object))
			}
			if _, _, err := events.Decode(); err != io.EOF {
				t.Errorf("at the end: %v, want EOF", err)
			}
			for i, object := range received {
				if object.Name() != names[i] || !strings.Contains(contentOf(t, object), `"on-`+names[i]+`"`) {
					t.Errorf("object %d is %.20q, with another content", i, object.Name())
				}
			}
		})
	}
}

func TestCodec_AWatchEndsWithTheErrorOfTheAPIServer(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	for _, name := range watchMediaTypes {
		kind, object, err := watchOf(t, name, bytes.NewReader(messageOf(t, name, watch.Error, &expired))).Decode()
		if status, ok := object.(*metav1.Status); err != nil || kind != watch.Error || !ok || status.Reason != metav1.StatusReasonExpired {
			t.Errorf("%s: received %q %v, %v", name, kind, object, err)
		}
	}
}

func TestCodec_AnIncompleteMessageOfAWatchIsAnError(t *testing.T) {
	const head = 4 // bytes of the length
	whole := messageOf(t, runtime.ContentTypeProtobuf, watch.Added, testobjects.NewPod(traits{Name: "a", Version: "7"}))[head:]
	for length := range whole {
		framed := append(binary.BigEndian.AppendUint32(nil, uint32(length)), whole[:length]...)
		if kind, object, err := watchOf(t, runtime.ContentTypeProtobuf, bytes.NewReader(framed)).Decode(); err == nil {
			t.Errorf("received %q %v of %d bytes", kind, object, length)
		}
	}
}

// TestCodec_AnEventIsReceivedWhenItArrives requires that the buffer of a watch does not wait for more.
func TestCodec_AnEventIsReceivedWhenItArrives(t *testing.T) {
	for _, name := range watchMediaTypes {
		t.Run(name, func(t *testing.T) {
			body, server := io.Pipe()
			events := watchOf(t, name, body)
			for _, version := range []string{"7", "8"} {
				message := messageOf(t, name, watch.Added, testobjects.NewPod(traits{Name: "a", Version: version}))
				go func() { _, _ = server.Write(message) }()
				_, object, err := events.Decode()
				if err != nil || object.(*Object).ResourceVersion() != version {
					t.Fatalf("received %v, %v", object, err)
				}
			}
		})
	}
}

// countedReader counts the reads, each of which returns as much as is asked for.
type countedReader struct {
	io.Reader
	reads int
}

func (c *countedReader) Read(into []byte) (int, error) {
	c.reads++
	return c.Reader.Read(into)
}

// TestCodec_ManyEventsAreReadTogether requires less than one read of the response for an event: over
// HTTP/2 many of these reads cause a write.
func TestCodec_ManyEventsAreReadTogether(t *testing.T) {
	const count = 1000
	for _, name := range watchMediaTypes {
		message := messageOf(t, name, watch.Added, testobjects.NewPod(traits{Name: "a", Version: "7"}))
		body := &countedReader{Reader: bytes.NewReader(bytes.Repeat(message, count))}
		events := watchOf(t, name, body)
		for range count {
			if _, _, err := events.Decode(); err != nil {
				t.Fatal(err)
			}
		}
		if body.reads > count/10 {
			t.Errorf("%s: %d reads for %d events of %d bytes", name, body.reads, count, len(message))
		}
	}
}

// FuzzReadWatchEvent compares the events that are read with those of client-go's reader, for every
// message that client-go can write.
func FuzzReadWatchEvent(f *testing.F) {
	for _, name := range []string{"", "a"} {
		f.Add(messageOf(f, runtime.ContentTypeProtobuf, watch.Added, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})[4:])
	}
	f.Add([]byte("\x0a\x00\x12\x02\x0a\x00"))
	f.Add([]byte("\x12\x03\x0a\x01a\x12\x00"))
	decode := mediaType(f, &Codec{}, runtime.ContentTypeProtobuf).StreamSerializer.Serializer
	f.Fuzz(func(t *testing.T, message []byte) {
		var got, want metav1.WatchEvent
		_, _, err := decode.Decode(message, nil, &got)
		if want.Unmarshal(message) != nil || !canonical(message, &want) {
			return
		}
		if err != nil || got.Type != want.Type || !bytes.Equal(got.Object.Raw, want.Object.Raw) {
			t.Errorf("read %+v, %v; client-go reads %+v", got, err, want)
		}
	})
}
