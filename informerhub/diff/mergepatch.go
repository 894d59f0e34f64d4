package diff

// MergePatch appends to dst the merge patch that makes of one JSON object another: applied
// to before, it gives what equals after. Its members are in the order of their names. False
// too if a merge patch cannot say it, as where a member becomes null.
func MergePatch(dst, before, after []byte) (patch []byte, ok bool) {
	d, ok := newDiffer(dst, before, after, false)
	defer d.release()
	if !ok || !d.mergeObjects(d.before.all(), d.after.all()) {
		return dst, false
	}
	return d.out, true
}

// mergeObjects writes what makes of the object with some members the one with others.
func (d *differ) mergeObjects(before, after span) bool {
	start := len(d.out)
	d.out = append(d.out, '{')
	ok := d.eachMember(before, after, func(old, now *member) bool { return d.mergeMember(old, now, start) })
	d.out = append(d.out, '}')
	return ok && len(d.out) <= d.limit
}

// mergeMember writes what becomes of a member: nil is one that is not there. The object that
// it is in begins at a place of out.
func (d *differ) mergeMember(old, now *member, object int) bool {
	switch {
	case now == nil:
		d.name(d.before.nameOf(old), object)
		d.out = append(d.out, "null"...)
		return true
	case old == nil || !old.isObject() || !now.isObject():
		return d.whole(old, now, object)
	case d.same(old, now):
		return true
	}
	start := len(d.out)
	d.name(d.after.nameOf(now), object)
	content := len(d.out)
	if !d.mergeObjects(old.within, now.within) {
		return false
	}
	if len(d.out) == content+len("{}") {
		d.out = d.out[:start] // they are the same, and only written otherwise
	}
	return true
}

// whole writes a member as it is now, unless it has not changed.
func (d *differ) whole(old, now *member, object int) bool {
	if old != nil && d.same(old, now) {
		return true
	}
	value := d.after.valueOf(now)
	if d.after.hasNull(now) || len(d.out)+len(value) > d.limit {
		return false
	}
	d.name(d.after.nameOf(now), object)
	d.out = append(d.out, value...)
	return true
}

// name writes the name of a member, with what stands before and behind it.
func (d *differ) name(quoted []byte, object int) {
	if len(d.out) > object+len("{") {
		d.out = append(d.out, ',')
	}
	d.out = append(append(d.out, quoted...), ':')
}
