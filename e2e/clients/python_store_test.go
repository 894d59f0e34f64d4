package clients_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/kit"
)

// storeChanges is the number of changes during which the service is killed.
const storeChanges = 2000

// TestPythonStore_EqualsTheClusterAfterTheServiceIsKilled kills the service while objects change,
// and while it is down. The store must have the objects of the cluster afterwards, and its handlers
// must be called for exactly what differs. Then the programs are restarted with their dumps.
func TestPythonStore_EqualsTheClusterAfterTheServiceIsKilled(t *testing.T) {
	t.Parallel()
	ctx := kit.DeadlineAfter(t, 2*kit.FaultPatience)
	service := harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, "127.0.0.1:0")
	restart := func(flags ...string) {
		service = harness.StartMortalService(t, kit.Cluster(t).Kubeconfig, kit.HostPort(service), flags...)
	}
	f := newFollowedStores(ctx, t)
	f.createAll("same", "mixed")
	f.createAll(eachKind("resumed")...)
	f.createAll(eachKind("reset")...)
	f.start(service, 1)
	f.reported(1)

	chance := rand.New(rand.NewPCG(1, uint64(storeChanges)))
	for i := range storeChanges {
		switch i {
		case storeChanges / 3:
			service.Crash()
		case storeChanges * 2 / 3:
			restart()
		}
		f.changeOne(chance, i)
	}
	f.reported(2)

	service.Crash()
	f.changeEachKind("resumed")
	restart()
	f.wantCalls("resumed", 3)

	service.Crash()
	f.changeEachKind("reset")
	restart("--token-generation", "another") // no stream resumes
	f.wantCalls("reset", 4)

	f.end(1)
	f.createAll("later")
	f.start(service, 5)
	f.wantBegun(4)
	f.reported(5)
	f.end(5)
}

var storeWays = []string{"threads", "asyncio"}

// storeReport is a line of a program that follows ConfigMaps in a store. Objects are their UID and
// version.
type storeReport struct {
	Versions   map[string][]string
	Calls      map[string][]string
	Violations []string
	Fewest     int
	Stale      bool
}

// followedStores are the ConfigMaps of a namespace, and programs that follow them.
type followedStores struct {
	kit.ConfigMaps
	namespace string
	folder    string
	programs  map[string]program
	reports   map[int]map[string]storeReport
}

func newFollowedStores(ctx context.Context, t *testing.T) *followedStores {
	t.Helper()
	namespace := kit.NewNamespace(ctx, t, kit.Cluster(t))
	return &followedStores{
		ConfigMaps: kit.ConfigMapsIn(ctx, t, kit.Cluster(t), namespace),
		namespace:  namespace,
		folder:     t.TempDir(),
		programs:   make(map[string]program),
		reports:    make(map[int]map[string]storeReport),
	}
}

// ofEachKind is the number of objects of each kind.
const ofEachKind = 20

// eachKind returns the kinds of objects that changeEachKind changes.
func eachKind(round string) []string {
	return []string{round + "-touched", round + "-gone", round + "-again"}
}

func (f *followedStores) createAll(kinds ...string) {
	f.T.Helper()
	for _, kind := range kinds {
		for i := range ofEachKind {
			f.Create(fmt.Sprintf("%s-%d", kind, i), nil)
		}
	}
}

// start starts the programs with the dumps of the programs before them.
func (f *followedStores) start(service *harness.Service, first int) {
	f.T.Helper()
	for _, way := range storeWays {
		file := filepath.Join(f.folder, way)
		f.programs[way] = startProgram(f.T, kit.PythonProgram(f.T, "python", "store.py"), way, service.Address, f.namespace, file, strconv.Itoa(first))
	}
}

// changeOne creates, changes, deletes or recreates an object of the kind "mixed".
func (f *followedStores) changeOne(chance *rand.Rand, change int) {
	f.T.Helper()
	name := fmt.Sprintf("mixed-%d", chance.IntN(ofEachKind))
	switch chance.IntN(10) {
	case 0:
		f.Delete(name)
		f.Create(name, nil)
	default:
		f.Touch(name, strconv.Itoa(change))
	}
}

// changeEachKind changes the objects of a round.
func (f *followedStores) changeEachKind(round string) {
	f.T.Helper()
	for i := range ofEachKind {
		touched := fmt.Sprintf("%s-touched-%d", round, i)
		f.Touch(touched, "first")
		f.Touch(touched, "second")
		f.Delete(fmt.Sprintf("%s-gone-%d", round, i))
		again := fmt.Sprintf("%s-again-%d", round, i)
		f.Delete(again)
		f.Create(again, nil)
		f.Create(fmt.Sprintf("%s-new-%d", round, i), nil)
	}
	f.Create("brief", nil)
	f.Delete("brief")
}

// reported creates the object of a report, and fails the test unless each program reports the
// objects of the cluster, and calls that follow from each other.
func (f *followedStores) reported(number int) map[string]storeReport {
	f.T.Helper()
	step := fmt.Sprintf("report-%d", number)
	f.Create(step, nil)
	want := f.versions()
	f.reports[number] = make(map[string]storeReport)
	for way, caller := range f.programs {
		var report storeReport
		caller.Step(f.Ctx, step, &report)
		f.reports[number][way] = report
		if !maps.EqualFunc(report.Versions, want, slices.Equal) {
			f.T.Errorf("%s, %s: the store has %v, the cluster %v", way, step, report.Versions, want)
		}
		if len(report.Violations) > 0 {
			f.T.Errorf("%s, %s: %q", way, step, report.Violations)
		}
		if before := 4 * ofEachKind; number > 1 && report.Fewest < before {
			f.T.Errorf("%s, %s: readers saw only %d objects, want at least %d", way, step, report.Fewest, before)
		}
	}
	return f.reports[number]
}

// versions returns the UIDs and versions of the objects in the cluster, by name.
func (f *followedStores) versions() map[string][]string {
	f.T.Helper()
	list, err := f.API.List(f.Ctx, metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	versions := make(map[string][]string)
	for _, object := range list.Items {
		versions[object.Name] = []string{string(object.UID), object.ResourceVersion}
	}
	return versions
}

// wantCalls fails the test unless the handlers were called for exactly what changeEachKind changes.
func (f *followedStores) wantCalls(round string, number int) {
	f.T.Helper()
	want := map[string][]string{fmt.Sprintf("report-%d", number): {"add"}}
	for i := range ofEachKind {
		want[fmt.Sprintf("%s-touched-%d", round, i)] = []string{"update"}
		want[fmt.Sprintf("%s-gone-%d", round, i)] = []string{"delete"}
		want[fmt.Sprintf("%s-again-%d", round, i)] = []string{"delete", "add"}
		want[fmt.Sprintf("%s-new-%d", round, i)] = []string{"add"}
	}
	for way, report := range f.reported(number) {
		if !maps.EqualFunc(report.Calls, want, slices.Equal) {
			f.T.Errorf("%s, %s: calls %v, want %v", way, round, report.Calls, want)
		}
	}
}

// wantBegun fails the test unless the restarted programs begin with the objects of this report.
func (f *followedStores) wantBegun(number int) {
	f.T.Helper()
	for way, caller := range f.programs {
		var begun storeReport
		caller.Step(f.Ctx, "begins", &begun)
		if want := f.reports[number][way].Versions; !maps.EqualFunc(begun.Versions, want, slices.Equal) {
			f.T.Errorf("%s begins with %v, want %v", way, begun.Versions, want)
		}
	}
}

// end ends the programs.
func (f *followedStores) end(first int) {
	f.T.Helper()
	name := fmt.Sprint("end-", first) // the next programs may still receive it
	f.Create(name, nil)
	for _, caller := range f.programs {
		caller.Ends(f.Ctx)
	}
	f.Delete(name)
}
