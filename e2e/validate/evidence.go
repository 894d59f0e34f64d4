package validate

import "time"

// Evidence is what is known about the time of a recording, beside the recording
// itself. What is left out is not judged by.
type Evidence struct {
	// Writes are all writes to the resource.
	Writes *Writes
	// EveryStep says that the upstream was there all the time and that nobody
	// lagged: then every write must have been told, and not only the last ones.
	EveryStep bool
	// Silence is how long a stream may say nothing: what the API promises, and as
	// much more as the machine may need.
	Silence time.Duration
	// Delivery is how long a write that was answered may be on its way from the API server
	// while a stream says that it is not stale; zero if that is not judged.
	Delivery time.Duration
	// Began is when the service began to follow the upstream; zero if long before. It has to
	// catch up then, as after an outage.
	Began time.Time
	// Outages are when the upstream was lost, in order.
	Outages []Outage
	// Rights are the caller's. Empty, but not nil, is a caller without any.
	Rights Rights
	// Recheck is how long a change of rights may go unnoticed: what the API promises, and
	// as much more as the machine may need.
	Recheck time.Duration
}

// Outage is a time without upstream.
type Outage struct {
	From, To time.Time
	// Unnoticed is how long its beginning and its end may go unnoticed.
	Unnoticed time.Duration
}

// contains tells whether a moment lies in an outage, and so far in that it must have
// been noticed.
func (o Outage) contains(at time.Time) (lost, noticed bool) {
	lost = at.After(o.From) && at.Before(o.To)
	return lost, lost && at.Sub(o.From) > o.Unnoticed
}

// outageAt is the outage in which a moment lies; nil if in none.
func (e *Evidence) outageAt(at time.Time) (outage *Outage, noticed bool) {
	for i := range e.Outages {
		if lost, noticed := e.Outages[i].contains(at); lost {
			return &e.Outages[i], noticed
		}
	}
	return nil, false
}

// quietSince reports whether the upstream was there at a moment, and had been followed for so
// long that everybody must have noticed.
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
