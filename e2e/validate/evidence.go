package validate

import "time"

// Evidence is what is known about the time of a recording, in addition to the recording itself.
// Checks whose evidence is missing are skipped.
type Evidence struct {
	// Writes holds all writes to the resource.
	Writes *Writes
	// EveryStep reports that the upstream was reachable all the time and that no watcher lagged:
	// then every write must have been sent, and not only the latest states.
	EveryStep bool
	// Silence bounds the time without a message: the bound of the API, plus a margin for the
	// machine.
	Silence time.Duration
	// Delivery bounds the time from the acknowledgement of a write to its delivery while a stream
	// is not stale; zero skips the check.
	Delivery time.Duration
	// Began is when the service started to follow the upstream; zero if long before the recording.
	// The service has to catch up after it, as after an outage.
	Began time.Time
	// Outages are the times without upstream, in order.
	Outages []Outage
	// Rights are the caller's permissions. Nil skips the checks; empty but not nil is a caller
	// without any.
	Rights Rights
	// Recheck bounds how long a change of permissions may go unnoticed: the bound of the API, plus
	// a margin for the machine.
	Recheck time.Duration
}

// Outage is a time during which the upstream is unreachable.
type Outage struct {
	From, To time.Time
	// Unnoticed bounds how long the beginning and the end of the outage may go unnoticed.
	Unnoticed time.Duration
}

// contains reports whether a moment is in an outage, and whether the outage must have been noticed
// by then.
func (o Outage) contains(at time.Time) (lost, noticed bool) {
	lost = at.After(o.From) && at.Before(o.To)
	return lost, lost && at.Sub(o.From) > o.Unnoticed
}

// outageAt returns the outage that contains a moment; nil if none does.
func (e *Evidence) outageAt(at time.Time) (outage *Outage, noticed bool) {
	for i := range e.Outages {
		if lost, noticed := e.Outages[i].contains(at); lost {
			return &e.Outages[i], noticed
		}
	}
	return nil, false
}

// quietSince reports whether the upstream was reachable at a moment, and had been followed for long
// enough that every component must have noticed.
func (e *Evidence) quietSince(at time.Time) bool {
	for _, outage := range e.Outages {
		if at.Sub(e.Began) <= outage.Unnoticed {
			return false
		}
		if at.After(outage.From) && at.Sub(outage.To) <= outage.Unnoticed {
			return false
		}
	}
	return true
}
