package watchlist

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestFollow_ReportsTheEndAtOnce(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		for name, end := range map[string]func(source *watch.FakeWatcher, w watch.Interface){
			"by the API server": func(source *watch.FakeWatcher, _ watch.Interface) { source.Stop() },
			"by the Reflector":  func(_ *watch.FakeWatcher, w watch.Interface) { w.Stop() },
			"with an event that nobody takes": func(source *watch.FakeWatcher, w watch.Interface) {
				source.Add(&corev1.Pod{})
				w.Stop()
			},
		} {
			source, lost := watch.NewFake(), false
			w := Follow(source, func() { lost = true }, nil)
			go source.Add(&corev1.Pod{})
			if event := <-w.ResultChan(); event.Type != watch.Added || lost {
				t.Errorf("%s: %v, lost: %v", name, event, lost)
			}
			end(source, w)
			synctest.Wait()
			if !lost {
				t.Errorf("%s: the end was not reported", name)
			}
		}
	})
}
