package counts

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/server/scalar"
	"github.com/kubeconnect/kubeconnect/server/tally"
)

// repeated returns a spec whose list has the same value several times, and another field.
func repeated(value string, times, other int) string {
	return fmt.Sprintf(`{"other":%d,"args":[%s%s]}`, other, value, strings.Repeat(","+value, times-1))
}

func TestState_TooManyValuesOfAnObjectAreRejected(t *testing.T) {
	for name, test := range map[string]struct{ by, aggregated, says string }{
		"of groups":        {"spec.args[*]", "", "group_by:"},
		"of an aggregate":  {"", "spec.args[*]", "aggregates:"},
		"of one of groups": {"spec.other spec.args[*]", "spec.other", "group_by:"},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(times int) error {
				return newState(planOf(t, test.by, test.aggregated)).Change(nil, widget(t, "w", repeated(`"a"`, times, 1)), 0)
			}
			if err := change(scalar.MaxValues); err != nil {
				t.Errorf("%d values: %v", scalar.MaxValues, err)
			}
			err := change(scalar.MaxValues + 1)
			if !apierrors.IsBadRequest(err) || !strings.HasPrefix(err.Error(), test.says) || !strings.Contains(err.Error(), `"spec.args[*]" has more than 10000 values in Widget "w"`) {
				t.Errorf("%d values: %v", scalar.MaxValues+1, err)
			}
		})
	}
}

// TestState_KeepsNoLargeBuffers has objects that are read, compared and counted with large buffers.
func TestState_KeepsNoLargeBuffers(t *testing.T) {
	long := `"` + strings.Repeat("x", 100<<10) + `"`
	for name, test := range map[string]struct{ value, by, aggregated string }{
		"many values":    {`"a"`, "spec.args[*]", ""},
		"many numbers":   {`1`, "", "spec.args[*]"},
		"a long value":   {long, "spec.args[*] spec.args[*]", "spec.args[*]"},
		"many and other": {`"a"`, "spec.other spec.args[*]", "spec.args[*]"},
	} {
		t.Run(name, func(t *testing.T) {
			times := scalar.MaxValues
			if test.value == long {
				times = 1
			}
			state := newState(planOf(t, test.by, test.aggregated))
			changeTwice(t, state, widget(t, "w", repeated(test.value, times, 1)), widget(t, "w", repeated(test.value, times, 2)))
			wantSmallBuffers(t, state)
		})
	}
}

// TestState_KeepsNoBufferOfGroups moves an object from many groups to many others.
func TestState_KeepsNoBufferOfGroups(t *testing.T) {
	values := func(prefix string) string {
		texts := make([]string, scalar.MaxValues/2)
		for i := range texts {
			texts[i] = fmt.Sprintf("%q", fmt.Sprint(prefix, i))
		}
		return fmt.Sprintf(`{"args":[%s]}`, strings.Join(texts, ","))
	}
	state := newState(planOf(t, "spec.args[*]", ""))
	changeTwice(t, state, widget(t, "w", values("a")), widget(t, "w", values("b")))
	if wantSmallBuffers(t, state); len(state.touched) != 0 || state.touched != nil && state.touched[:1][0] != nil {
		t.Errorf("the state keeps %d groups that were touched", len(state.touched))
	}
}

func changeTwice(t *testing.T, state *State, first, second *informerhub.Object) {
	t.Helper()
	if err := state.Change(nil, first, 0); err != nil {
		t.Fatal(err)
	}
	if err := state.Change(first, second, 1); err != nil {
		t.Fatal(err)
	}
}

// wantSmallBuffers fails the test if a state keeps buffers that are large or that Bytes does not
// include, or values of an object.
func wantSmallBuffers(t *testing.T, state *State) {
	t.Helper()
	counter, kept := state.counter, state.Bytes()-state.counter.bytes
	want := counter.reading.reader.Bytes() + cap(counter.key) + cap(state.touched)*pointerBytes
	for _, values := range counter.reading.values {
		want += cap(values) * scalar.ValueBytes
	}
	if kept != want || kept > 2*maxBuffer {
		t.Errorf("buffers of %d bytes are kept, and %d are counted", want, kept)
	}
	for _, values := range append(counter.reading.values, counter.tuple) {
		for _, value := range values[:cap(values)] {
			if value != (scalar.Value{}) {
				t.Fatalf("a value of %d bytes is kept", value.Bytes())
			}
		}
	}
	for _, column := range counter.reading.columns {
		if column.ResultBytes(tally.Min) != (tally.Summary{}).ResultBytes(tally.Min) {
			t.Errorf("values of an aggregate are kept")
		}
	}
}
