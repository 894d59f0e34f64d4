package validate

import (
	"fmt"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// inFlight bounds how long bytes may be in transit that the upstream sent before an outage.
const inFlight = 5 * time.Second

var freshnessIsPresent = check{
	guarantee: Fresh,
	name:      "SYNCED and BOOKMARK are sent with freshness",
	broken: func(j *judge) string {
		says := j.response.has(kubeconnectv1.EventType_EVENT_TYPE_SYNCED) || j.response.has(kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK)
		if says && !j.response.Freshness.GetLastContactTime().IsValid() {
			return "the freshness or its last contact is missing"
		}
		return ""
	},
}

var contactIsPast = check{
	guarantee: Fresh,
	name:      "the last contact is in the past",
	broken: func(j *judge) string {
		if contact, ok := j.response.contact(); ok && contact.After(j.response.At) {
			return fmt.Sprintf("the last contact is %s in a response at %s", clock(contact), clock(j.response.At))
		}
		return ""
	},
}

var contactGoesForward = check{
	guarantee: Fresh,
	name:      "the last contact never decreases",
	broken: func(j *judge) string {
		contact, ok := j.response.contact()
		if ok && contact.Before(j.contacted) {
			return fmt.Sprintf("%s comes after %s", clock(contact), clock(j.contacted))
		}
		return ""
	},
}

var outageIsReported = check{
	guarantee: Fresh,
	name:      "an outage of the upstream is reported, with the last contact",
	broken: func(j *judge) string {
		contact, ok := j.response.contact()
		outage, noticed := j.evidence.outageAt(j.response.At)
		switch {
		case !ok || outage == nil:
			return ""
		case contact.Sub(outage.From) > inFlight:
			return fmt.Sprintf("the outage began at %s, and the reported last contact is %s", clock(outage.From), clock(contact))
		case noticed && !j.response.Freshness.GetStale():
			return fmt.Sprintf("the outage began at %s, and at %s the stream is not stale", clock(outage.From), clock(j.response.At))
		}
		return ""
	},
}

var recoveryIsReported = check{
	guarantee: Fresh,
	name:      "a stream is not stale while the upstream is reachable",
	broken: func(j *judge) string {
		if !j.response.Freshness.GetStale() || len(j.evidence.Outages) == 0 || !j.evidence.quietSince(j.response.At) {
			return ""
		}
		return fmt.Sprintf("at %s the upstream had been reachable for long enough", clock(j.response.At))
	},
}

// freshIsCurrent applies to responses which state that everything up to their version has been
// delivered.
var freshIsCurrent = check{
	guarantee: Fresh,
	name:      "a stream, stale or not, is as new as its last contact",
	broken: func(j *judge) string {
		until, judged := j.freshUntil()
		if !judged || !j.closesVersion() {
			return ""
		}
		write := j.evidence.Writes.newestAcked(until)
		if write == nil || !isNewer(write.Version, j.model.Version) {
			return ""
		}
		return fmt.Sprintf("%s was written at version %s at %s, before the last contact, and the stream is at %s",
			write.Key, write.Version, clock(write.Acked), j.model.Version)
	},
}

// freshHasNothingDeleted is freshIsCurrent for deletions, whose exact versions are unknown.
var freshHasNothingDeleted = check{
	guarantee: Fresh,
	name:      "a stream, stale or not, has no object that was deleted before its last contact",
	broken: func(j *judge) string {
		until, judged := j.freshUntil()
		if !judged || !j.closesVersion() {
			return ""
		}
		for key, held := range j.model.Objects {
			if deletion := j.evidence.Writes.goneBy(key, held.GetUid(), until); deletion != nil {
				return fmt.Sprintf("%s was deleted at %s", key, clock(deletion.Acked))
			}
		}
		return ""
	},
}

// freshUntil returns the time up to which a response must include all writes, and whether it can be
// judged.
func (j *judge) freshUntil() (time.Time, bool) {
	contact, ok := j.response.contact()
	judged := ok && j.model.Synced && j.evidence.Writes != nil && j.evidence.Delivery > 0
	return contact.Add(-j.evidence.Delivery), judged
}

// contact returns the last contact in a response, and whether there is one.
func (r *Response) contact() (at time.Time, ok bool) {
	contact := r.Freshness.GetLastContactTime()
	return contact.AsTime(), contact.IsValid()
}

func clock(at time.Time) string { return at.Local().Format("15:04:05.000") }
