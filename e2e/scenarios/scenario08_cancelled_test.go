package scenarios_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

const (
	// streamsAtOnce is the number of concurrent watches on one connection: the service's limit, or
	// close to it.
	streamsAtOnce = 200
	// cancelRounds is the number of times that all of them are cancelled and opened again. If a
	// cancelled watch kept its stream until its next bookmark, the time would not suffice for so
	// many rounds.
	cancelRounds = 25
	// cancelWarmUp is the number of rounds after which memory must not grow by more than
	// cancelGrowth, which is less than all the cancelled streams would need.
	cancelWarmUp = 5
	cancelGrowth = 64 << 20
)

func TestScenario08_CancelledCallsReleaseTheirStreams(t *testing.T) {
	t.Parallel()
	ctx := kit.Deadline(t)
	service := harness.StartService(t, kit.Cluster(t).Kubeconfig)
	client := harness.Dial(oneConnection(t), service.Address, harness.GRPC).Resources
	var memory []validate.Sample
	for range cancelRounds {
		if err := kit.OpenAndCancel(ctx, client, streamsAtOnce); err != nil {
			t.Fatal(err)
		}
		memory = append(memory, validate.Sample{At: time.Now(), Bytes: kit.ResidentMemory(t, service.PID())})
	}
	for _, violation := range validate.Memory("cancelled clients", memory[cancelWarmUp:], cancelGrowth) {
		t.Error(violation)
	}
	t.Logf("memory: %d MiB at first, %d MiB in the end", memory[0].Bytes>>20, memory[len(memory)-1].Bytes>>20)
}

// oneConnection returns an HTTP client that waits for a free stream on its connection instead of
// opening another connection.
func oneConnection(t *testing.T) *http.Client {
	client := harness.HTTP2(t)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: true}
	return client
}
