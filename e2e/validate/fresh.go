package validate

import (
	"fmt"
	"time"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// inFlight is how long bytes may be on their way that an upstream sent before it
// was lost.
const inFlight = 5 * time.Second

var freshnessIsThere = check{
	guarantee: Fresh,
	name:      "SYNCED and BOOKMARK come with freshness",
	broken: func(j *judge) string {
		says := j.response.has(kubeconnectv1.EventType_EVENT_TYPE_SYNCED) || j.response.has(kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK)
		if says && !j.response.Freshness.GetLastContact().IsValid() {
			return "there is none, or no last contact in it"
		}
		return ""
	},
}

var contactIsPast = check{
	guarantee: Fresh,
	name:      "the last contact lies in the past",
	broken: func(j *judge) string {
		if contact, told := j.response.contact(); told && contact.After(j.response.At) {
			return fmt.Sprintf("it says %s at %s", clock(contact), clock(j.response.At))
		}
		return ""
	},
}

var contactGoesForward = check{
	guarantee: Fresh,
	name:      "the last contact never goes back",
	broken: func(j *judge) string {
		contact, told := j.response.contact()
		if told && contact.Before(j.contacted) {
			return fmt.Sprintf("%s comes after %s", clock(contact), clock(j.contacted))
		}
		return ""
	},
}

var lossIsTold = check{
	guarantee: Fresh,
	name:      "an upstream that is lost is told, with the last contact",
	broken: func(j *judge) string {
		contact, told := j.response.contact()
		outage, noticed := j.evidence.outageAt(j.response.At)
		switch {
		case !told || outage == nil:
			return ""
		case contact.Sub(outage.From) > inFlight:
			return fmt.Sprintf("the upstream was lost at %s, and the last contact is said to be at %s", clock(outage.From), clock(contact))
		case noticed && !j.response.Freshness.GetStale():
			return fmt.Sprintf("the upstream was lost at %s, and at %s it is not stale yet", clock(outage.From), clock(j.response.At))
		}
		return ""
	},
}

var returnIsTold = check{
	guarantee: Fresh,
	name:      "an upstream that is there is not said to be lost",
	broken: func(j *judge) string {
		if !j.response.Freshness.GetStale() || len(j.evidence.Outages) == 0 || !j.evidence.quietSince(j.response.At) {
			return ""
		}
		return fmt.Sprintf("at %s it was there, and had been for long", clock(j.response.At))
	},
}

// freshIsCurrent holds for what says of itself that everything up to its version has come.
var freshIsCurrent = check{
	guarantee: Fresh,
	name:      "what is not stale is as new as its last contact",
	broken: func(j *judge) string {
		until, judged := j.freshUntil()
		if !judged || !j.saysAll() {
			return ""
		}
		write := j.evidence.Writes.newestAcked(until)
		if write == nil || !isNewer(write.Version, j.model.Version) {
			return ""
		}
		return fmt.Sprintf("%s was written at version %s by %s, before the last contact, and the stream is at %s",
			write.Key, write.Version, clock(write.Acked), j.model.Version)
	},
}

// freshHoldsNothingGone is freshIsCurrent for deletions, whose versions are not known.
var freshHoldsNothingGone = check{
	guarantee: Fresh,
	name:      "what is not stale holds nothing that was gone before its last contact",
	broken: func(j *judge) string {
		until, judged := j.freshUntil()
		if !judged || !j.saysAll() {
			return ""
		}
		for key, held := range j.model.Objects {
			if gone := j.evidence.Writes.goneBy(key, held.GetUid(), until); gone != nil {
				return fmt.Sprintf("%s was gone at %s", key, clock(gone.Acked))
			}
		}
		return ""
	},
}

// freshUntil returns the time up to which a response that is not stale must have all
// writes, and whether it can be judged.
func (j *judge) freshUntil() (time.Time, bool) {
	contact, told := j.response.contact()
	judged := told && !j.response.Freshness.GetStale() && j.model.Synced && j.evidence.Writes != nil && j.evidence.Delivery > 0
	return contact.Add(-j.evidence.Delivery), judged
}

// contact is the last contact that a response tells of, if it does.
func (r *Response) contact() (at time.Time, told bool) {
	contact := r.Freshness.GetLastContact()
	return contact.AsTime(), contact.IsValid()
}

func clock(at time.Time) string { return at.Local().Format("15:04:05.000") }
