package diff

// MergePatch appends the merge patch between two JSON objects to dst: applied to before, it gives
// the equal of after. Its members are in the order of their names. It returns false if there is no
// patch: see the package. That includes changes that a merge patch cannot express, such as a member
// that becomes null.
func MergePatch(dst, before, after []byte) (patch []byte, ok bool) {
	d, ok := newDiffer(dst, before, after, false)
	defer d.release()
	if !ok || !d.mergeObjects(d.before.all(), d.after.all()) {
		return dst, false
	}
	return d.out, true
}

// mergeObjects writes the patch between two objects, given their members.
func (d *differ) mergeObjects(before, after span) bool {
	start := len(d.out)
	d.out = append(d.out, '{')
	ok := d.eachMember(before, after, func(old, now *member) bool { return d.mergeMember(old, now, start) })
	d.out = append(d.out, '}')
	return ok && len(d.out) <= d.limit
}

// mergeMember writes the change of a member; a missing one is nil. object is the position in out at
// which the containing object begins.
func (d *differ) mergeMember(old, now *member, object int) bool {
	switch {
	case now == nil:
		d.name(d.before.nameOf(old), object)
		d.out = append(d.out, "null"...)
		return true
	case old == nil || !old.isObject() || !now.isObject():
		return d.replaceMember(old, now, object)
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
		d.out = d.out[:start] // they are equal and differ only in notation
	}
	return true
}

// replaceMember writes the new value of a member, unless it has not changed.
func (d *differ) replaceMember(old, now *member, object int) bool {
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

// name writes the name of a member, with a preceding comma if needed, and a colon.
func (d *differ) name(quoted []byte, object int) {
	if len(d.out) > object+len("{") {
		d.out = append(d.out, ',')
	}
	d.out = append(append(d.out, quoted...), ':')
}
