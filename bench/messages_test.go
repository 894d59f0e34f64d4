package main

import (
	"encoding/binary"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// framed prepends a header to each message.
func framed(head int, bodies ...string) (framed []byte) {
	for _, body := range bodies {
		framed = append(framed, make([]byte, head-4)...)
		framed = binary.BigEndian.AppendUint32(framed, uint32(len(body)))
		framed = append(framed, body...)
	}
	return framed
}

func TestMessages_AreParsedFromChunksOfAnySize(t *testing.T) {
	want := []string{"first", "", "the third and last"}
	for _, head := range []int{grpcHead, kubeHead} {
		body := framed(head, want...)
		for size := 1; size <= len(body); size++ {
			var got []string
			split := &messages{head: head, each: func(message []byte) { got = append(got, string(message)) }}
			for piece := range slices.Chunk(body, size) {
				split.add(piece)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("header of %d bytes, pieces of %d bytes: got messages %q, want %q", head, size, got, want)
			}
		}
	}
}

func TestTally_CountsEventsWithObjects(t *testing.T) {
	message, err := proto.Marshal(&kubeconnectv1.WatchResponse{
		ResumeToken: "here",
		Events: []*kubeconnectv1.Event{
			{Type: kubeconnectv1.EventType_EVENT_TYPE_RESET},
			{Type: kubeconnectv1.EventType_EVENT_TYPE_ADDED, Object: &kubeconnectv1.Object{Name: "a"}},
			{Type: kubeconnectv1.EventType_EVENT_TYPE_DELETED, Object: &kubeconnectv1.Object{Name: "a"}},
			{Type: kubeconnectv1.EventType_EVENT_TYPE_SYNCED},
			{Type: kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got tally
	got.countWatchResponses()(framed(grpcHead, string(message)))
	if got.messages.Load() != 1 || got.changes.Load() != 2 || got.synced.Load() != 1 || *got.token.Load() != "here" {
		t.Errorf("got %d messages, %d changes, %d snapshots, token %q; want 1, 2, 1, \"here\"",
			got.messages.Load(), got.changes.Load(), got.synced.Load(), *got.token.Load())
	}
}
