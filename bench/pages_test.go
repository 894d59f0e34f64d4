package main

import (
	"slices"
	"testing"
)

func TestCycle_ReadsTheLaterPagesAgainAndAgain(t *testing.T) {
	tokens := map[string]string{"2": "3", "3": "4", "4": ""} // the next page token of each page
	pages := newCycle("2", 3)
	var read []string
	for range 7 {
		read = append(read, pages.token)
		pages.advance(tokens[pages.token])
	}
	if want := []string{"2", "3", "4", "2", "3", "4", "2"}; !slices.Equal(read, want) {
		t.Errorf("read pages %q, want %q", read, want)
	}
}

func TestCycle_LeavesOutAPageThatIsNotFull(t *testing.T) {
	pages := newCycle("2", 1)
	pages.advance("of a page with fewer objects")
	if pages.token != "2" {
		t.Errorf("the next page is %q, want 2", pages.token)
	}
}

func TestLab_SpreadsChangesOverAllPods(t *testing.T) {
	for _, test := range []struct{ pods, spread, first, last int }{
		{pods: 20000, spread: 1000, first: 0, last: 19980},
		{pods: 3000, spread: 1000, first: 0, last: 2997},
		{pods: 2500, spread: 1250, first: 0, last: 2498},
		{pods: 800, spread: 800, first: 0, last: 799},
	} {
		l := &lab{scale: scale{pods: test.pods}}
		concerned := l.spread(pastChanges)
		var numbers []int
		for number := range test.pods {
			if concerned(number) {
				numbers = append(numbers, number)
			}
		}
		if len(numbers) != test.spread || numbers[0] != test.first || numbers[len(numbers)-1] != test.last {
			t.Errorf("selected %d of %d pods, from %d to %d; want %d, from %d to %d", len(numbers), test.pods,
				numbers[0], numbers[len(numbers)-1], test.spread, test.first, test.last)
		}
	}
}

func TestLab_HasFourFullPages(t *testing.T) {
	for _, pods := range []int{4 * fanOutPods, 1001, 2000, 20000} {
		l := &lab{scale: scale{pods: pods}}
		if size := l.pageSize(); size > mostInPage || pods/size < 4 {
			t.Errorf("the page size is %d with %d pods, want at most %d and four full pages", size, pods, mostInPage)
		}
	}
}
