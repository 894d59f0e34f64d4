package joins

import (
	"fmt"
	"slices"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// noted are the objects of which a warning reports the number, and the first as an example.
type noted struct {
	count  int
	first  string
	reason error
}

func (n *noted) add(object *informerhub.Object, reason error) {
	if n.count == 0 {
		n.first, n.reason = object.Key(), reason
	}
	n.count++
}

// text returns the warning about the objects, in which format has the number; empty for none.
func (n *noted) text(format string) string {
	if n.count == 0 {
		return ""
	}
	more, reason := "", ""
	if n.count > 1 {
		more = ", …"
	}
	if n.reason != nil {
		reason = fmt.Sprintf(": %v", n.reason)
	}
	return fmt.Sprintf(format, n.count) + fmt.Sprintf("%s (%s%s)", reason, n.first, more)
}

// warnings returns the join's warnings, each with its name.
func (j *joining) warnings() (warnings []string) {
	for reason := range j.unread {
		warnings = append(warnings, fmt.Sprintf("join %q: %v", j.Name, &reason))
	}
	slices.Sort(warnings)
	for _, text := range []string{
		j.invalid.text("%d objects have an invalid selector, and no related objects"),
		j.unvalued.text("the filter has no value for %d related objects, which are left out"),
		j.manyNames().text(fmt.Sprintf("only the first %d names are read of %%d objects that have more", maxNames)),
		j.omitted.text("%d related objects are counted but not returned, because those of one object are too large: give fewer fields or a lower limit"),
	} {
		if text != "" {
			warnings = append(warnings, fmt.Sprintf("join %q: %s", j.Name, text))
		}
	}
	return warnings
}
