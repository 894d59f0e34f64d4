package informer_test

import (
	"slices"
	"testing"
)

// property is a sentence about an informer, which docs/informers.md has as a row.
type property string

const (
	converges          property = "After changes during which the connection is lost, the store and the handlers have the objects of the cluster."
	consistentCalls    property = "The calls for an object follow from each other: no addition of a present object, no update or deletion of an absent one."
	oldStates          property = "An update has the earlier state, as the handler last received it."
	wholeSnapshots     property = "Readers never see a part of a snapshot."
	recreated          property = "An object that is deleted and created again under its name is a deletion and an addition, also if the connection is lost meanwhile and then resumed."
	recreatedInGap     property = "The same, if the history of that time is not available (410 Gone)."
	differencesInGap   property = "Then handlers are called once for each object that has changed, was created or was deleted."
	unchangedInGap     property = "Then handlers are not called for objects that have not changed."
	enteringAndLeaving property = "An object that enters or leaves a label selection is an addition or a deletion."
	slowDelaysNothing  property = "A handler that blocks delays neither the store nor other handlers."
	latestStates       property = "A handler that is behind receives the latest state of an object, once."
	halfOpen           property = "A connection on which nothing arrives any more is detected within a minute, and replaced."
	pausedRetries      property = "There is a pause between attempts to connect."
	restarts           property = "A restarted program continues where it ended: it receives only what has changed."
)

// properties are the rows of docs/informers.md.
var properties = []property{
	converges, consistentCalls, oldStates, wholeSnapshots, recreated, recreatedInGap, differencesInGap, unchangedInGap,
	enteringAndLeaving, slowDelaysNothing, latestStates, halfOpen, pausedRetries, restarts,
}

// shortcomings are the properties that an implementation is known not to have, and the reasons. A
// test fails if an implementation does not have another property, and also if it has one of these.
var shortcomings = map[property]map[string]string{
	oldStates: {
		official: "Handlers receive one object: the new state.",
	},
	recreatedInGap: {
		clientGo: "One update from the old object to the new one. Its documentation says so: handlers have to compare UIDs.",
		official: "MODIFIED with the new object. The handler cannot know that the old one was deleted.",
	},
	unchangedInGap: {
		clientGo: "One update for each object that exists, from and to the same resource version. Its documentation says so.",
		official: "MODIFIED for every object that exists.",
	},
	slowDelaysNothing: {
		official: "Handlers run in the thread that reads the watch: while one blocks, the store does not change and no other handler is called.",
	},
	latestStates: {
		clientGo: "Every state, one after another, from a buffer without a bound.",
		official: "Every state, one after another.",
	},
	halfOpen: {
		official: "The watch has no timeout for reads, and TCP keepalive is answered by the proxy that has stopped to forward.",
	},
	pausedRetries: {
		official: "After a failed watch it connects again at once, and again, dozens of times in a second.",
	},
	restarts: {
		clientGo: "It has no state that can be stored: it lists everything.",
		official: "It has no state that can be stored: it lists everything.",
	},
}

// shortcoming returns why an implementation does not have a property; empty if it must have it.
func shortcoming(of property, implementation string) string { return shortcomings[of][implementation] }

func TestShortcomings_AreOfOthers(t *testing.T) {
	t.Parallel()
	for of, reasons := range shortcomings {
		if !slices.Contains(properties, of) {
			t.Errorf("unknown property %q", of)
		}
		for name := range reasons {
			if name != clientGo && name != official {
				t.Errorf("%s must have every property, but %q", name, of)
			}
		}
	}
}
