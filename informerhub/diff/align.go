package diff

import "unsafe"

// step is the change of an element of a list.
type step byte

const (
	keep   step = iota
	change      // to the element that replaces it
	remove
	add
)

// align returns the steps from one list to another, in the order of both. Elements of both lists
// are kept if their order allows it, but not always as many as possible. Its time is linear in the
// length of the lists.
func (d *differ) align(olds, news []int) []step {
	start := len(d.steps)
	for len(olds) > 0 && len(news) > 0 && d.sameElement(olds[0], news[0]) {
		d.steps, olds, news = append(d.steps, keep), olds[1:], news[1:]
	}
	end := 0
	for min(len(olds), len(news)) > end && d.sameElement(olds[len(olds)-1-end], news[len(news)-1-end]) {
		end++
	}
	d.alignOthers(olds[:len(olds)-end], news[:len(news)-end])
	for range end {
		d.steps = append(d.steps, keep)
	}
	return d.steps[start:]
}

func (d *differ) sameElement(old, now int) bool {
	return d.same(&d.before.members[old], &d.after.members[now])
}

// alignOthers adds the steps of the elements between the common beginning and the common end.
func (d *differ) alignOthers(olds, news []int) {
	if len(olds) > 0 && len(news) > 0 {
		d.count(olds, news)
	}
	for len(olds) > 0 && len(news) > 0 {
		next := d.nextStep(olds[0], news[0])
		d.steps = append(d.steps, next)
		if next != add {
			d.olds[d.before.elementAt(olds[0])]--
			olds = olds[1:]
		}
		if next != remove {
			d.news[d.after.elementAt(news[0])]--
			news = news[1:]
		}
	}
	for range olds {
		d.steps = append(d.steps, remove)
	}
	for range news {
		d.steps = append(d.steps, add)
	}
}

// count counts the remaining elements.
func (d *differ) count(olds, news []int) {
	clear(d.olds)
	clear(d.news)
	for _, index := range olds {
		d.olds[d.before.elementAt(index)]++
	}
	for _, index := range news {
		d.news[d.after.elementAt(index)]++
	}
}

// nextStep returns the step for the next elements.
func (d *differ) nextStep(old, now int) step {
	remains := d.news[d.before.elementAt(old)] > 0
	wasThere := d.olds[d.after.elementAt(now)] > 0
	switch {
	case d.sameElement(old, now):
		return keep
	case !remains && !wasThere:
		return change
	case remains && !wasThere:
		return add
	}
	return remove
}

// elementAt returns the text of an element. It shares memory with the parsed text.
func (p *parsed) elementAt(index int) string {
	written := p.valueOf(&p.members[index])
	return unsafe.String(unsafe.SliceData(written), len(written))
}
