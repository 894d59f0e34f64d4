package streams

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/auth"
	"github.com/kubeconnect/kubeconnect/informerhub/mask"
	"github.com/kubeconnect/kubeconnect/internal/fairqueue"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/counts"
	"github.com/kubeconnect/kubeconnect/server/follow"
	"github.com/kubeconnect/kubeconnect/server/internal/objecttest"
	"github.com/kubeconnect/kubeconnect/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/server/reads"
)

// countsWithObject returns the plan of counts that end with the first pod that has a security context,
// which is an object.
func countsWithObject(t *testing.T) *counts.Plan {
	t.Helper()
	var paths []mask.Path
	for _, text := range []string{"metadata.name", "spec.securityContext"} {
		path, err := mask.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	plan, err := counts.NewPlan(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// podsInManyGroups returns an API server with 402 pods: a response with a group for each of them reserves
// memory.
func podsInManyGroups() *servertest.FakeAPI {
	api := servertest.PodsAPI()
	for i := range 400 {
		api.Objects = append(api.Objects, objecttest.Pod(fmt.Sprint("pod-", i), 5))
	}
	return api
}

// TestWatchCounts_AnErrorIsSentUnderAValidLease creates a pod that ends the counts while a response
// waits for memory. The error names the pod.
func TestWatchCounts_AnErrorIsSentUnderAValidLease(t *testing.T) {
	for name, test := range map[string]struct {
		revokes bool
		is      func(error) bool
	}{
		"after a revocation":   {true, apierrors.IsForbidden},
		"without a revocation": {false, apierrors.IsBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			rights, api := servertest.NewFakeRights(auth.Namespaces{All: true}), podsInManyGroups()
			s, ctx := watchesOn(t, api, rights)
			s.sending = fairqueue.New(fairqueue.Limits{Total: 1, Waiting: 1})
			release, _ := s.sending.TryAcquire("other", 1)
			plan := countsWithObject(t)
			params := watchCountsParams{Selection: reads.Selection{Resource: "pods"}, plan: plan}
			sender := &countsSender{memory: budget.Messages{Queue: s.sending, Caller: "jane"}, plan: plan}
			counted, err := s.startCounts(ctx, params, sender)
			if err != nil {
				t.Fatal(err)
			}
			defer counted.close()
			sender.attach(counted)
			ended := make(chan error, 1)
			go func() { ended <- sender.send(ctx) }()
			servertest.Until(t, "the response waits for memory", func() bool { return s.sending.Delays("other") })
			if test.revokes {
				rights.Change(func() { rights.May = servertest.Some() })
			}
			secret := objecttest.Pod("secret", 11)
			secret.Spec.SecurityContext = &corev1.PodSecurityContext{}
			api.Events <- servertest.Added(secret)
			servertest.Until(t, "the counts have failed", func() bool {
				return counted.follower.Read(func(*counts.State, follow.Moment) {}) != nil
			})
			release()
			if err := <-ended; !test.is(err) {
				t.Errorf("ends with %v", err)
			}
		})
	}
}
