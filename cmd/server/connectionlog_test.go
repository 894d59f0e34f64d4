package main

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
)

// TestConnectionLog_IsBounded uses fake time.
func TestConnectionLog_IsBounded(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged, l := captureLog(t), newConnectionLog()
		for i := range 100 {
			l.Printf("http: TLS handshake error from 192.0.2.1:%d: %s", i, strings.Repeat("\x1b[31m", 10_000))
		}
		if lines, quotes := logged.count("\n"), logged.count("[31m"); lines != connectionLogBurst || quotes == 0 || quotes > connectionLogBurst*maxForeignText/len("\x1b[31m") {
			t.Errorf("%d lines with %d quoted texts", lines, quotes)
		}
		time.Sleep(connectionLogInterval)
		synctest.Wait()
		if logged.count(`msg="more connections failed" lines=90`) != 1 {
			t.Errorf("the log is %s", logged.text.String())
		}
		l.Print("http: TLS handshake error from 192.0.2.1:1: EOF")
		if logged.count("EOF") != 1 {
			t.Error("the next interval has no line")
		}
		time.Sleep(connectionLogInterval)
	})
}

// TestConnectionLog_HasEachPanic uses fake time.
func TestConnectionLog_HasEachPanic(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		logged, l := captureLog(t), newConnectionLog()
		for range 2 * connectionLogBurst {
			l.Print("http: TLS handshake error from 192.0.2.1:1: EOF")
			l.Print("http: panic serving 192.0.2.1:1: a fault\nits stack")
		}
		if panics := logged.count("level=ERROR"); panics != 2*connectionLogBurst {
			t.Errorf("%d panics", panics)
		}
		time.Sleep(connectionLogInterval)
	})
}

// TestServe_ClientsWithoutACredentialDoNotFillTheLog sends handshakes whose error quotes the client.
func TestServe_ClientsWithoutACredentialDoNotFillTheLog(t *testing.T) {
	logged := captureLog(t)
	t.Run("TLS", func(t *testing.T) {
		s := serveTLS(t, authCluster, mountSecret(t, newPair(t, 1, today())))
		var protocols []string
		for i := range 100 {
			protocols = append(protocols, fmt.Sprintf("%0200d", i))
		}
		for range 3 * connectionLogBurst {
			_, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}}).DialContext(t.Context(), "tcp", s.address) //nolint:gosec // the handshake fails before
			if err == nil {
				t.Fatal("the handshake succeeds")
			}
		}
	})
	if lines := logged.count("TLS handshake error"); lines == 0 || lines > connectionLogBurst {
		t.Errorf("%d lines", lines)
	}
	for line := range strings.Lines(logged.text.String()) {
		if len(line) > 4*maxForeignText {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
}
