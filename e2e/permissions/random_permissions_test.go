package permissions_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

const (
	// permissionCases is the number of cases with each control plane, and the one below that under
	// `make soak`.
	permissionCases     = 2_000
	permissionSoakCases = 100_000
	// casesOfWorld is the number of cases between two changes of the permissions.
	casesOfWorld     = 500
	casesOfSoakWorld = 2_000
	// shownMismatches is the number of mismatches that ends a run.
	shownMismatches = 5
	// shownHistory is the number of the caller's last questions that are printed with a mismatch.
	shownHistory = 12
)

// permissionDelay bounds how long a new permission may go unnoticed: decisions of the cluster are
// cached for ten seconds. The rest is a margin for busy machines.
var permissionDelay = harness.Patience(15 * time.Second)

// TestRandomPermissions_MatchTheAPIServer compares the reads of random callers through the service
// with those of the same callers at the API server, under random RBAC. SEED repeats the choices of
// a run.
func TestRandomPermissions_MatchTheAPIServer(t *testing.T) {
	t.Parallel()
	ctx := permissionDeadline(t)
	stage := newPermissionStage(ctx, t, kit.Cluster(t), nil)
	stage.addAccounts(6)
	stage.compare(kit.NewSeed(t))
}

// TestRandomPermissions_WithAServiceOfPartialRights does the same with a service that may read two of the namespaces: nothing is
// shown that the caller or, in a list of all namespaces, the service lacks.
func TestRandomPermissions_WithAServiceOfPartialRights(t *testing.T) {
	t.Parallel()
	ctx := permissionDeadline(t)
	stage := newPermissionStage(ctx, t, kit.Cluster(t), nil)
	stage.addAccounts(4)
	stage.limitService()
	stage.compare(kit.NewSeed(t))
}

// TestRandomPermissions_WithAuthorizerThatDenies does the same with an authorizer before RBAC that
// denies some of what RBAC allows, so that a permission for everything does not imply a permission
// for each object.
func TestRandomPermissions_WithAuthorizerThatDenies(t *testing.T) {
	t.Parallel()
	ctx := permissionDeadline(t)
	webhook := &denyingWebhook{}
	users := newTokenUsers(3)
	controlPlane, err := harness.StartCluster(slices.Concat(webhook.apiServerArgs(t), users.apiServerArgs(t))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(controlPlane.Stop)
	stage := newPermissionStage(ctx, t, controlPlane, webhook)
	stage.addAccounts(3)
	stage.addUsers(users)
	webhook.setSubjects(stage.userNames())
	stage.compare(kit.NewSeed(t))
}

func permissionDeadline(t *testing.T) context.Context {
	t.Helper()
	if _, soaking := kit.SoakFor(t); soaking {
		return kit.DeadlineAfter(t, time.Hour)
	}
	return kit.DeadlineAfter(t, 2*kit.WaitTimeout)
}

// permissionRun counts cases and records mismatches.
type permissionRun struct {
	stage *permissionStage

	mu         sync.Mutex // guards the fields below
	cases      int
	outcomes   map[string]int // by method and outcome
	mismatches []string
}

// world runs cases in one world: one after another for each caller.
func (r *permissionRun) world(seed uint64, world *permissionWorld, cases int) {
	oracle := newPermissionOracle(r.stage)
	var asking sync.WaitGroup
	for i, caller := range r.stage.callers {
		rnd := rand.New(rand.NewPCG(seed, uint64(world.number)<<8|uint64(i+1)))
		asker := &permissionAsker{stage: r.stage, oracle: oracle, caller: caller, rnd: rnd}
		asking.Go(func() {
			for range cases / len(r.stage.callers) {
				r.one(asker, world)
			}
		})
	}
	asking.Wait()
}

// one runs one case.
func (r *permissionRun) one(asker *permissionAsker, world *permissionWorld) {
	ctx := asker.stage.ctx
	if ctx.Err() != nil || r.mismatched() >= shownMismatches {
		return
	}
	question := asker.question()
	want := question.want(ctx)
	got := question.ask(ctx)
	asker.note(question.text, got)
	// A new permission may be noticed late. Even so, nothing may be shown without permission.
	for until := time.Now().Add(permissionDelay); isLate(got, want) && time.Now().Before(until) && ctx.Err() == nil; {
		time.Sleep(kit.PollInterval)
		got = question.ask(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	r.add(question, got, want, asker, world)
}

// isLate reports whether a result differs from the wanted ones, and shows nothing.
func isLate(got string, want []string) bool {
	return !slices.Contains(want, got) && (got == answerDenied || strings.HasPrefix(got, answerFailed))
}

func (r *permissionRun) add(question permissionQuestion, got string, want []string, asker *permissionAsker, world *permissionWorld) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cases++
	outcome, _, _ := strings.Cut(got, ":")
	r.outcomes[question.method+" "+outcome]++
	if slices.Contains(want, got) {
		return
	}
	r.mismatches = append(r.mismatches, fmt.Sprintf("world %d: %s calls %s\n  service    %s\n  API server %s\n%s\nafter\n  %s",
		world.number, asker.caller.name, question.text, got, strings.Join(want[:min(len(want), 3)], "\n      or     "),
		world.describe(asker.caller), strings.Join(asker.history, "\n  ")))
}

// mismatch records a mismatch of a stream.
func (r *permissionRun) mismatch(caller *permissionCaller, text, got, want string, world *permissionWorld) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mismatches = append(r.mismatches, fmt.Sprintf("world %d: %s has %s\n  service    %s\n  API server %s\n%s", world.number, caller.name, text, got, want, world.describe(caller)))
}

func (r *permissionRun) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cases
}

func (r *permissionRun) mismatched() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mismatches)
}

// report fails the test for each mismatch, and if too few results are shown or denied to be
// meaningful.
func (r *permissionRun) report() {
	t := r.stage.t
	t.Helper()
	for _, mismatch := range r.mismatches[:min(len(r.mismatches), shownMismatches)] {
		t.Error(mismatch)
	}
	shown, denied := 0, 0
	var lines []string
	for outcome, count := range r.outcomes {
		if strings.HasSuffix(outcome, answerDenied) {
			denied += count
		} else {
			shown += count
		}
		lines = append(lines, fmt.Sprintf("%s %d", outcome, count))
	}
	slices.Sort(lines)
	t.Logf("%d cases: %s", r.cases, strings.Join(lines, ", "))
	if err := r.stage.ctx.Err(); err != nil {
		t.Errorf("the run did not end in time: %v", context.Cause(r.stage.ctx))
	}
	if len(r.mismatches) == 0 && min(shown, denied) < r.cases/10 {
		t.Errorf("of %d cases %d show objects and %d are denied: want more of both", r.cases, shown, denied)
	}
}

// compare runs the cases of worlds, one after another.
func (s *permissionStage) compare(seed uint64) {
	s.t.Helper()
	cases, ofWorld := permissionCases, casesOfWorld
	if _, soaking := kit.SoakFor(s.t); soaking {
		cases, ofWorld = permissionSoakCases, casesOfSoakWorld
	}
	s.start()
	run := &permissionRun{stage: s, outcomes: map[string]int{}}
	for number := 0; run.count() < cases && run.mismatched() < shownMismatches; number++ {
		world := newPermissionWorld(s, rand.New(rand.NewPCG(seed, uint64(number))), number)
		s.enter(world)
		s.withStreams(run, world, seed, func() { run.world(seed, world, ofWorld) })
	}
	run.report()
}
