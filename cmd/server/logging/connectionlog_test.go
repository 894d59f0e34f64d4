package logging

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// TestConnectionLog_IsBounded uses fake time.
func TestConnectionLog_IsBounded(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged, l := servertest.CaptureLog(t), NewConnectionLog()
		for i := range 100 {
			l.Printf("http: TLS handshake error from 192.0.2.1:%d: %s", i, strings.Repeat("\x1b[31m", 10_000))
		}
		if lines, quotes := logged.Count("\n"), logged.Count("[31m"); lines != connectionLogBurst || quotes == 0 || quotes > connectionLogBurst*maxForeignText/len("\x1b[31m") {
			t.Errorf("%d lines with %d quoted texts", lines, quotes)
		}
		time.Sleep(connectionLogInterval)
		synctest.Wait()
		if logged.Count(`msg="more connections failed" lines=90`) != 1 {
			t.Errorf("the log is %s", logged.String())
		}
		l.Print("http: TLS handshake error from 192.0.2.1:1: EOF")
		if logged.Count("EOF") != 1 {
			t.Error("the next interval has no line")
		}
		time.Sleep(connectionLogInterval)
	})
}

// TestConnectionLog_HasEachPanic uses fake time.
func TestConnectionLog_HasEachPanic(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged, l := servertest.CaptureLog(t), NewConnectionLog()
		for range 2 * connectionLogBurst {
			l.Print("http: TLS handshake error from 192.0.2.1:1: EOF")
			l.Print("http: panic serving 192.0.2.1:1: a fault\nits stack")
		}
		if panics := logged.Count("level=ERROR"); panics != 2*connectionLogBurst {
			t.Errorf("%d panics", panics)
		}
		time.Sleep(connectionLogInterval)
	})
}
