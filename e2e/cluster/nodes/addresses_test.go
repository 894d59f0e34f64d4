package nodes

import "testing"

func TestAddresses_AreAssignedInOrder(t *testing.T) {
	var a addresses
	for _, want := range []string{"10.128.0.1", "10.128.0.2"} {
		if got := a.next(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAddresses_ContinueAfterThoseOfAnEarlierRun(t *testing.T) {
	var a addresses
	for _, given := range []string{"10.128.1.255", "10.128.0.7", "", "192.0.2.1", "::1"} {
		a.skip(given)
	}
	if got := a.next(); got != "10.128.2.0" {
		t.Errorf("got %s, want the one after the highest", got)
	}
}

func TestAddresses_StayInTheirRange(t *testing.T) {
	var a addresses
	a.skip("10.255.255.255")
	if got := a.next(); got != "10.128.0.0" {
		t.Errorf("got %s, want the first of the range", got)
	}
}
