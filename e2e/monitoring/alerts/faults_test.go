package alerts_test

import (
	"context"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/monitoring"
)

// faults injects the fault of each alert, by the name of the alert. A fault returns after the alert
// has fired.
var faults = map[string]func(context.Context, *testing.T) *prometheus{
	"KubeconnectDown":                   theOnlyReplicaEnds,
	"KubeconnectReplicaDown":            oneOfTwoReplicasEnds,
	"KubeconnectReplicaRestarts":        aReplicaRestartsRepeatedly,
	"KubeconnectCertificateExpires":     aCertificateExpiresWithin(20 * time.Hour),
	"KubeconnectCertificateExpiresSoon": aCertificateExpiresWithin(100 * time.Hour),
	"KubeconnectAuditLogFails":          theDiskOfTheAuditLogIsFull,
	"KubeconnectConfigRejected":         theConfigurationBecomesInvalid,
	"KubeconnectMemoryExceeded":         theMemoryLimitIsTooLow,
	"KubeconnectMemoryLow":              theMemoryLimitIsAlmostReached,
	"KubeconnectUpstreamLost":           theAPIServerRefusesConnections,
	"KubeconnectReplicaStale":           oneOfTwoReplicasLosesItsLink,
	"KubeconnectResourceStale":          aResourceIsForbidden,
	"KubeconnectRelists":                theHistoryIsLostRepeatedly,
	"KubeconnectReviewsFail":            thePermissionToReviewIsRevoked,
	"KubeconnectReviewsRejected":        manyInvalidTokensAreSent,
	"KubeconnectCallsFail":              anAdmissionWebhookIsDown,
	"KubeconnectCallsSlow":              theAPIServerIsSlow,
	"KubeconnectCallsRejected":          aCallerExceedsItsRate,
	"KubeconnectStreamsInterrupted":     streamsAreEndedEverySecond,
	"KubeconnectStreamsReset":           tokensAreOlderThanTheHistory,
}

// faultPatience bounds the time of one fault.
const faultPatience = 2 * time.Minute

func TestAlerts_FireForTheirFaultAndNoOther(t *testing.T) {
	t.Parallel()
	alerts, err := monitoring.Alerts()
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range alerts {
		t.Run(alert.Alert, func(t *testing.T) {
			t.Parallel()
			inject, ok := faults[alert.Alert]
			if !ok {
				t.Fatal("no fault of this alert is injected")
			}
			inject(kit.DeadlineAfter(t, faultPatience), t).wantFired(t, alert.Alert)
		})
	}
}

// The only resource of a replica cannot be read: that is no loss of the API server.
func TestResourceStale_FiresIfTheOnlyResourceIsForbidden(t *testing.T) {
	t.Parallel()
	theOnlyResourceIsForbidden(kit.DeadlineAfter(t, faultPatience), t).wantFired(t, "KubeconnectResourceStale")
}

// The API server answers everything but reviews.
func TestReviewsFail_FiresForAnAuthorizerThatFails(t *testing.T) {
	t.Parallel()
	anAuthorizerFails(kit.DeadlineAfter(t, faultPatience), t).wantFired(t, "KubeconnectReviewsFail")
}

// A half-open link is noticed only after 15 seconds, which are 15 minutes of the recording.
func TestUpstreamLost_FiresForAFrozenLinkToo(t *testing.T) {
	t.Parallel()
	theAPIServerIsFrozen(kit.DeadlineAfter(t, faultPatience), t).wantFired(t, "KubeconnectUpstreamLost")
}
