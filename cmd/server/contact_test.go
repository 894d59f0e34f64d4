package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

func TestContact_IsLoggedWhenItIsLostAndWhenItReturns(t *testing.T) {
	logged := captureLog(t)
	faketime.Test(t, func(t *testing.T) {
		var stale atomic.Bool
		go followContact(t.Context(), func() informerhub.Freshness { return informerhub.Freshness{Stale: stale.Load()} })
		for _, step := range []struct {
			name           string
			stale          bool
			lost, returned int // lines that were logged since the start
		}{
			{name: "the data is current at the start"},
			{name: "the data becomes stale", stale: true, lost: 1},
			{name: "the data stays stale", stale: true, lost: 1},
			{name: "the data is current again", lost: 1, returned: 1},
			{name: "the data becomes stale once more", stale: true, lost: 2, returned: 1},
		} {
			stale.Store(step.stale)
			time.Sleep(10 * contactInterval)
			synctest.Wait()
			lost, returned := logged.count("no contact to the API server"), logged.count("contact to the API server again")
			if lost != step.lost || returned != step.returned {
				t.Errorf("%s: %d lines that contact is lost and %d that it has returned, want %d and %d",
					step.name, lost, returned, step.lost, step.returned)
			}
		}
	})
}
