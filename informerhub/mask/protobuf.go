package mask

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeconnect/kubeconnect/informerhub/internal/kubejson"
	"github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"
)

// AppendProtobuf appends the masked message of a kind, without the API server's envelope, to dst.
// It does not change message.
//
// The result may have more than the masked fields. A value with its own JSON, such as
// runtime.RawExtension, is kept whole if a path leads into it. So is a message that cannot be read,
// or whose kind client-go does not know. Parent objects stay even if they are empty. A mask that is
// KeepingParents may leave keys of maps without their values. Use AppendProtobuf for JSON that is
// masked again.
func (m *Mask) AppendProtobuf(dst []byte, kind schema.GroupVersionKind, message []byte) []byte {
	if described := kubejson.Describe(kind); described != nil {
		c := protobufCutter{out: dst, parents: m.parents}
		if c.message(m.root, described, message) {
			return c.out
		}
	}
	return append(dst, message...)
}

// protobufCutter copies the masked parts of a message. Its methods report whether they could read
// their input.
type protobufCutter struct {
	out     []byte
	parents bool
}

// part is a field in a message.
type part struct {
	tagged  []byte // with its tag
	tag     []byte
	value   []byte // without its length, if it has one
	wire    uint8
	another bool // the previous field has the same tag
}

// message cuts a message. Fields that the Go type does not have are left out, as the Go type does.
func (c *protobufCutter) message(n *node, m *kubejson.Message, content []byte) bool {
	var last uint64
	for i := 0; i < len(content); {
		tag, next := protoscan.Tag(content, i)
		if next < 0 {
			return false
		}
		wire := uint8(tag & 7)
		from, to := protoscan.Value(content, next, wire)
		if to < 0 {
			return false
		}
		if field := m.Field(tag >> 3); field != nil {
			if child := n.field(field); child != nil {
				p := part{content[i:to], content[i:next], content[from:to], wire, tag == last}
				if !c.field(child, field, p) {
					return false
				}
			}
		}
		i, last = to, tag
	}
	return true
}

// field returns the node for a field's value; nil if nothing is kept of it.
func (n *node) field(field *kubejson.Field) *node {
	if field.IsInline() {
		return n
	}
	return n.member(field.Name())
}

func (c *protobufCutter) field(n *node, field *kubejson.Field, p part) bool {
	switch {
	case field.IsMap():
		return c.entry(n, field, p)
	case n.all && !field.IsInline():
		return c.copyPart(p)
	case field.IsList():
		n = n.element()
	}
	return c.value(n, field, p)
}

func (c *protobufCutter) copyPart(p part) bool {
	c.out = append(c.out, p.tagged...)
	return true
}

// value cuts the value of a field, or one element of its list.
func (c *protobufCutter) value(n *node, field *kubejson.Field, p part) bool {
	switch {
	case n.all:
	case field.Message() != nil:
		return c.nested(n, field.Message(), p)
	case field.IsScalar() && !c.parents:
		return true
	}
	return c.copyPart(p)
}

// nested cuts a message that is a field of another one.
func (c *protobufCutter) nested(n *node, m *kubejson.Message, p part) bool {
	if p.wire != protoscan.Bytes {
		return false
	}
	c.out = append(c.out, p.tag...)
	size := c.open(len(p.value))
	ok := c.message(n, m, p.value)
	c.close(size)
	return ok
}

// sizeSlot is the space for the size of a message, which is known only after the message was
// written.
type sizeSlot struct{ from, to int }

// open reserves space for the size of a message of at most most bytes.
func (c *protobufCutter) open(most int) sizeSlot {
	from := len(c.out)
	c.out = protowire.AppendVarint(c.out, uint64(most))
	return sizeSlot{from, len(c.out)}
}

// close writes the size of the bytes after its space, and moves these if there was too much space.
func (c *protobufCutter) close(size sizeSlot) {
	content := c.out[size.to:]
	moved := protowire.AppendVarint(c.out[:size.from], uint64(len(content)))
	if len(moved) == size.to {
		return
	}
	c.out = append(moved, content...)
}

// entry cuts a map entry.
func (c *protobufCutter) entry(n *node, field *kubejson.Field, p part) bool {
	name, content, value, ok := protoscan.CutEntry(p.value)
	switch {
	case !ok:
		return false
	case n.all || !utf8.Valid(name):
		return c.copyPart(p)
	}
	n = n.member(unsafe.String(unsafe.SliceData(name), len(name)))
	key := p.value[:len(p.value)-len(value)]
	switch {
	case n == nil && c.parents && !p.another:
		c.recordKey(key, p)
		return true
	case n == nil:
		return true
	case n.all || field.Message() == nil:
		return c.value(n, field, p)
	case len(value) == 0:
		return c.copyPart(p)
	}
	return c.entryMessage(n, field.Message(), key, part{tag: value[:1], value: content, wire: protoscan.Bytes}, p)
}

// recordKey keeps a key without its value, to show that the map exists.
func (c *protobufCutter) recordKey(key []byte, p part) {
	c.out = append(c.out, p.tag...)
	c.out = protowire.AppendBytes(c.out, key)
}

// entryMessage cuts the message that is the value of a map entry.
func (c *protobufCutter) entryMessage(n *node, m *kubejson.Message, key []byte, content, p part) bool {
	c.out = append(c.out, p.tag...)
	size := c.open(len(p.value))
	c.out = append(c.out, key...)
	ok := c.nested(n, m, content)
	c.close(size)
	return ok
}
