package gate

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/kubeconnect/kubeconnect/internal/faketime"
	"github.com/kubeconnect/kubeconnect/server/edge/callerrors"
)

// refusals returns the number of rejected attempts.
func refusals(attempts int, attempt func() error) (refused int) {
	for range attempts {
		if attempt() != nil {
			refused++
		}
	}
	return refused
}

func TestCallers_AcceptABurstAndThenTheRate(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers := NewCallers(Limits{Rate: 10, Burst: 50})
		call := func() error { return callers.call("jane") }
		if refused := refusals(60, call); refused != 10 {
			t.Errorf("at first, %d of 60 are rejected, want 10", refused)
		}
		time.Sleep(time.Second)
		if refused := refusals(60, call); refused != 50 {
			t.Errorf("a second later, %d of 60 are rejected, want 50", refused)
		}
		time.Sleep(time.Minute)
		if refused := refusals(60, call); refused != 10 {
			t.Errorf("after a quiet time, %d of 60 are rejected, want 10", refused)
		}
	})
}

func TestCallers_HaveSeparateLimits(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers := NewCallers(Limits{Streams: 1, Rate: 1, Burst: 2})
		for _, name := range []string{"jane", "joe", ""} {
			if err := callers.open(name); err != nil {
				t.Errorf("%q: %v", name, err)
			}
			if callers.open(name) == nil || callers.call(name) != nil || callers.call(name) == nil {
				t.Errorf("%q is not limited", name)
			}
		}
	})
}

func TestCallers_ReleaseEndedStreams(t *testing.T) {
	callers := NewCallers(Limits{Streams: 3})
	open := func() error { return callers.open("jane") }
	for range 5 {
		if refused := refusals(5, open); refused != 2 {
			t.Errorf("%d of 5 are rejected, want 2", refused)
		}
		for range 3 {
			callers.close("jane")
		}
	}
}

// TestCallers_MoreWatchesThanStreams distinguishes watches for which a caller has no streams left
// from watches for which it can never have enough.
func TestCallers_MoreWatchesThanStreams(t *testing.T) {
	callers := NewCallers(Limits{Streams: 3})
	for range 2 {
		if err := callers.open("jane"); err != nil {
			t.Fatal(err)
		}
	}
	for more, want := range map[int]connect.Code{1: 0, 2: connect.CodeResourceExhausted, 3: connect.CodeInvalidArgument} {
		err := callers.AcquireStreams("jane", more)
		if want == 0 && err == nil {
			callers.ReleaseStreams("jane", more)
			continue
		}
		if connect.CodeOf(callerrors.ConnectError(err)) != want {
			t.Errorf("with %d more streams: %v, want %v", more, err, want)
		}
	}
}

// TestCallers_MoreWatchesThanACredentialCanHave expects no retry time, because no attempt succeeds.
func TestCallers_MoreWatchesThanACredentialCanHave(t *testing.T) {
	callers := NewCallers(Limits{Streams: 10, CredentialStreams: 3})
	if err := callers.open("jane"); err != nil {
		t.Fatal(err)
	}
	err := callers.AcquireStreams("jane", 3)
	if connect.CodeOf(callerrors.ConnectError(err)) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "4 watches and counts in one stream: a credential can have 3 streams open") {
		t.Errorf("with 3 more streams: %v", err)
	}
	if err := callers.AcquireStreams("jane", 2); err != nil {
		t.Errorf("with 2 more streams: %v", err)
	}
}

func TestCallers_StreamsCountAsCallsUnlessRejected(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers := NewCallers(Limits{Streams: 1, Rate: 1, Burst: 3})
		if refused := refusals(10, func() error { return callers.open("jane") }); refused != 9 {
			t.Errorf("%d of 10 streams are rejected, want 9", refused)
		}
		if refused := refusals(10, func() error { return callers.call("jane") }); refused != 8 {
			t.Errorf("%d of 10 calls are rejected, want 8", refused)
		}
	})
}

func TestCallers_WithoutLimitsNothingIsRejected(t *testing.T) {
	callers := NewCallers(Limits{})
	if refused := refusals(10_000, func() error { return errors.Join(callers.call("jane"), callers.open("jane")) }); refused != 0 {
		t.Errorf("%d are rejected", refused)
	}
}

// TestCallers_RetryTimesOfRejectedCallsAreSpread makes 2,000 calls at once, of which 100 are
// accepted. All clients respect the retry time.
func TestCallers_RetryTimesOfRejectedCallsAreSpread(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers := NewCallers(Limits{Rate: 100, Burst: 100})
		began, waiting, taken := time.Now(), 2000, 0
		due := map[time.Duration]int{0: waiting}
		for tick := time.Duration(0); waiting > 0; tick += time.Second {
			time.Sleep(time.Until(began.Add(tick)))
			for range due[tick] {
				var limit *callerrors.LimitError
				if !errors.As(callers.call("jane"), &limit) {
					waiting--
					taken++
					continue
				}
				due[tick+time.Duration(limit.Seconds())*time.Second]++
			}
			if tick > maxRetryAfter {
				t.Fatalf("after %v, only %d have been taken", tick, taken)
			}
		}
	})
}

func TestCallers_RetryTimesAreBounded(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers := NewCallers(Limits{Rate: 1, Burst: 1})
		for range 1000 {
			var limit *callerrors.LimitError
			if errors.As(callers.call("jane"), &limit) && (limit.Wait <= 0 || limit.Wait > maxRetryAfter) {
				t.Fatalf("the retry time is %v", limit.Wait)
			}
		}
	})
}

func TestCallers_IdleOnesAreEvicted(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers := NewCallers(Limits{Streams: 1, Rate: 1, Burst: 1})
		if callers.open("streaming") != nil || callers.call("quiet") != nil {
			t.Fatal("a first call is rejected")
		}
		for i := range maxIdleCallers {
			_ = callers.call(strconv.Itoa(i))
		}
		if callers.idle.Len() != maxIdleCallers {
			t.Errorf("%d callers are cached", callers.idle.Len())
		}
		if callers.open("streaming") == nil {
			t.Error("a caller with a stream was evicted")
		}
		if callers.call("quiet") != nil {
			t.Error("the least recent caller is still cached")
		}
	})
}

func TestCallers_ChargeCountsAsManyCalls(t *testing.T) {
	faketime.Test(t, func(t *testing.T) {
		callers := NewCallers(Limits{Rate: 10, Burst: 50})
		ask := func() error {
			if err := callers.call("jane"); err != nil {
				return err
			}
			return callers.Charge("jane", 9)
		}
		if refused := refusals(10, ask); refused != 5 {
			t.Errorf("at first, %d of 10 calls with 10 questions are rejected, want 5", refused)
		}
		time.Sleep(time.Minute)
		if refused := refusals(60, func() error { return callers.call("jane") }); refused != 10 {
			t.Errorf("after a quiet time, %d of 60 are rejected, want 10", refused)
		}
		time.Sleep(time.Minute)
		if err := callers.call("jane"); err != nil || callers.Charge("jane", 1000) != nil {
			t.Error("more than a burst is never taken")
		}
		if callers.Charge("jane", 1) == nil {
			t.Error("more than a burst costs less than one")
		}
	})
}

func TestCallers_ChargeNothingWithoutALimit(t *testing.T) {
	callers := NewCallers(Limits{})
	if refused := refusals(100, func() error { return callers.Charge("jane", 1000) }); refused != 0 {
		t.Errorf("%d of 100 are rejected", refused)
	}
}

func TestCallers_AcquireAndReleaseStreams(t *testing.T) {
	callers := NewCallers(Limits{Streams: 3})
	for range 2 {
		if err := callers.open("jane"); err != nil {
			t.Fatal(err)
		}
		if callers.AcquireStreams("jane", 3) == nil || callers.AcquireStreams("jane", 2) != nil || callers.open("jane") == nil {
			t.Error("not limited to three streams")
		}
		callers.ReleaseStreams("jane", 2)
		callers.close("jane")
	}
	if len(callers.streaming) != 0 {
		t.Errorf("%d callers have streams", len(callers.streaming))
	}
}

func TestLimits_PartIsAllWithoutLimits(t *testing.T) {
	if got := (Limits{}).Part(100, 5); got != 100 {
		t.Errorf("a caller may have %d where there are no limits", got)
	}
	if got := (Limits{Rate: 1}).Part(100, 5); got != 20 {
		t.Errorf("a caller may have %d", got)
	}
}
