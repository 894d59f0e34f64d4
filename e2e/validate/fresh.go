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
	name:      "BOOKMARK comes with freshness",
	broken: func(j *judge) string {
		if j.response.has(kubeconnectv1.EventType_EVENT_TYPE_BOOKMARK) && !j.response.Freshness.GetLastContact().IsValid() {
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

// contact is the last contact that a response tells of, if it does.
func (r *Response) contact() (at time.Time, told bool) {
	contact := r.Freshness.GetLastContact()
	return contact.AsTime(), contact.IsValid()
}

func clock(at time.Time) string { return at.Local().Format("15:04:05.000") }
