package kubejson

import "github.com/kubeconnect/kubeconnect/informerhub/internal/protoscan"

// slot is the position of a field in its message: the value of a single field, or all occurrences
// of a repeated one, with their tags.
type slot struct {
	from, to uint32
}

// gathered has the positions of the fields of a message.
type gathered struct {
	found fieldSet
	slots []slot // valid only for fields that were found
}

// gather finds the fields of a message.
func (g *gathered) gather(m *message, content []byte) bool {
	last := int16(unknown)
	for i := 0; i < len(content); {
		tag, next := uint64(content[i]), i+1
		if tag >= 0x80 {
			tag, next = protoscan.Tag(content, i)
		}
		if next < 0 || tag < 1<<3 {
			return false
		}
		from, to := protoscan.Value(content, next, uint8(tag&7))
		if to < 0 {
			return false
		}
		p := m.place(tag >> 3)
		if p.at != unknown {
			whole, part := slot{uint32(i), uint32(to)}, slot{uint32(from), uint32(to)}
			if uint8(tag&7) != p.wire || !g.note(p, p.at == last, whole, part) {
				return false
			}
		}
		last, i = p.at, to
	}
	return true
}

// note records the position of a field. again reports whether the previous field was the same one.
// A field with separate occurrences would have to be merged, so note returns false for it.
func (g *gathered) note(p fieldPlace, repeated bool, whole, part slot) bool {
	if g.found.has(p.at) {
		g.slots[p.at].to = whole.to
		return p.repeated && repeated
	}
	g.found.add(p.at)
	if p.repeated {
		part = whole
	}
	g.slots[p.at] = part
	return true
}
