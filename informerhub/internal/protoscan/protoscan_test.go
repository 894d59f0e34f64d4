package protoscan_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

func TestValue_FindsOnlyCompleteFields(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, test := range map[string]struct {
		content        string
		next, from, to int
	}{
		"a varint":                   {"\x08\x96\x01", 1, 1, 3},
		"a length of one byte":       {"\x12\x02ab", 1, 2, 4},
		"a length of two bytes":      {"\x12\xc8\x01" + long, 1, 3, 203},
		"a length that is not least": {"\x12\x82\x00ab", 1, 3, 5},
		"four bytes":                 {"\x0dabcd", 1, 1, 5},
		"eight bytes":                {"\x09abcdefgh", 1, 1, 9},
		"a tag of two bytes":         {"\x82\x01\x01a", 2, 3, 4},
		"no tag":                     {"\x80", -1, 0, 0},
		"field 0":                    {"\x02\x00", -1, 0, 0},
		"a tag that is too large":    {"\x82\x80\x80\x80\x10\x00", -1, 0, 0},
		"a varint that is cut":       {"\x08\x96", 1, 0, -1},
		"a varint that is too long":  {"\x08" + strings.Repeat("\xff", 9) + "\x02", 1, 0, -1},
		"a length beyond the end":    {"\x12\x03ab", 1, 0, -1},
		"a length of 64 bits":        {"\x12" + strings.Repeat("\xff", 9) + "\x01ab", 1, 0, -1},
		"no length":                  {"\x12", 1, 0, -1},
		"three bytes of four":        {"\x0dabc", 1, 0, -1},
		"seven bytes of eight":       {"\x09abcdefg", 1, 0, -1},
		"a group":                    {"\x0b\x0c", 1, 0, -1},
	} {
		t.Run(name, func(t *testing.T) {
			content := []byte(test.content)
			tag, next := protoscan.Tag(content, 0)
			if next != test.next {
				t.Fatalf("its tag ends at %d, want %d", next, test.next)
			}
			if next < 0 {
				return
			}
			from, to := protoscan.Value(content, next, uint8(tag&7))
			if to != test.to || to >= 0 && from != test.from {
				t.Errorf("its value is from %d to %d, want %d to %d", from, to, test.from, test.to)
			}
			if length := protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), content[next:]); to >= 0 && length != to-next {
				t.Errorf("protowire ends it at %d", next+length)
			}
		})
	}
}

func TestCut_ReturnsTheValueAndTheRest(t *testing.T) {
	const text, number = 1<<3 | protoscan.Bytes, 1<<3 | protoscan.Varint
	for content, want := range map[string]struct {
		value, rest string
		ok          bool
	}{
		"\x0a\x01ab": {"a", "b", true}, "\x0a\x00": {"", "", true}, "\x0a\x02a": {"", "\x0a\x02a", false},
		"\x12\x01a": {"", "\x12\x01a", false}, "\x0a": {"", "\x0a", false}, "": {"", "", false},
	} {
		if value, rest, ok := protoscan.CutDelimited([]byte(content), text); string(value) != want.value || string(rest) != want.rest || ok != want.ok {
			t.Errorf("of %q it cuts %q, leaves %q, %t", content, value, rest, ok)
		}
	}
	for content, want := range map[string]struct {
		value uint64
		rest  string
		ok    bool
	}{
		"\x08\x96\x01b": {150, "b", true}, "\x08\x80": {0, "\x08\x80", false}, "\x10\x01": {0, "\x10\x01", false}, "\x08": {0, "\x08", false}, "": {0, "", false},
	} {
		if value, rest, ok := protoscan.CutVarint([]byte(content), number); value != want.value || string(rest) != want.rest || ok != want.ok {
			t.Errorf("of %q it cuts %d, leaves %q, %t", content, value, rest, ok)
		}
	}
}
