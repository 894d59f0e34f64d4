package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kubeconnect/kubeconnect/e2e/harness"
	"github.com/kubeconnect/kubeconnect/e2e/validate"
)

// SaveArtifact is Save to e2e/artifacts, the directory for what failed tests leave behind.
func SaveArtifact(recording *validate.Recording) (path string, err error) {
	folder, err := harness.Artifacts()
	if err != nil {
		return "", err
	}
	return Save(folder, recording)
}

// SavePages is SaveArtifact for a recording of pages, with the page after each response.
func SavePages(recording *validate.PageRecording) (path string, err error) {
	folder, err := harness.Artifacts()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintln(&text, recording.Name)
	for i := range recording.Calls {
		writePages(&text, recording, i)
	}
	file, err := os.CreateTemp(folder, "pages-*.txt")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text.String())
	return file.Name(), errors.Join(err, file.Close())
}

// PagesBefore returns the last lines of a recording up to a call.
func PagesBefore(recording *validate.PageRecording, violation validate.Violation) []string {
	var text strings.Builder
	for i := max(0, violation.Call-1); i <= violation.Call; i++ {
		writePages(&text, recording, i)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	return lines[max(0, len(lines)-2*shownEvents):]
}

// writePages writes a call of pages: each event, and the page that the client has after a response.
func writePages(to *strings.Builder, recording *validate.PageRecording, number int) {
	call := &recording.Calls[number]
	fmt.Fprintf(to, "call %d at %s with token: %v, back: %v, %s\n", number, clock(call.Began), call.Token != "", call.From, recording.Ranges[number])
	for k, response := range call.Responses {
		fmt.Fprintf(to, " response %d at %s, token: %v, state: %v\n", k, clock(response.At), response.Token != "", response.Page)
		for _, event := range response.Events {
			fmt.Fprintf(to, "  %s at %d in version %s\n", Line(event), event.GetIndex(), event.GetResourceVersion())
		}
		if response.Page != nil {
			fmt.Fprintf(to, "  page %q\n", ObjectLines(recording.Pages[number][k].Objects))
		}
	}
	if !call.Ended.IsZero() {
		fmt.Fprintf(to, " ended at %s: %v\n", clock(call.Ended), oneLine(call.Err))
	}
}

// Before returns the last events up to the one of a violation, each as a line.
func Before(recording *validate.Recording, violation validate.Violation) []string {
	var lines []string
	write(recording, func(line string) { lines = append(lines, line) }, violation.Index)
	return lines[max(0, len(lines)-shownEvents):]
}

// Save writes a recording in readable form to a new file in a directory, and returns the path of
// the file.
func Save(folder string, recording *validate.Recording) (path string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(folder, "stream-*.txt")
	if err != nil {
		return "", err
	}
	defer func() {
		if closed := file.Close(); err == nil {
			err = closed
		}
	}()
	buffered := bufio.NewWriter(file)
	fmt.Fprintln(buffered, recording.Name)
	write(recording, func(line string) { _, _ = io.WriteString(buffered, line+"\n") }, -1)
	return file.Name(), buffered.Flush()
}

// write calls line for each call, response and event, up to the event with index upTo; for all of
// them if upTo is negative.
func write(recording *validate.Recording, line func(string), upTo int) {
	index := 0
	for i, call := range recording.Calls {
		from := ""
		if call.From != nil {
			from = fmt.Sprintf(", back after response %d of call %d", call.From.Response, call.From.Call)
		}
		line(fmt.Sprintf("call %d at %s with token %q%s", i, clock(call.Began), call.Token, from))
		for k, response := range call.Responses {
			fresh := ""
			if f := response.Freshness; f != nil {
				fresh = fmt.Sprintf(", stale: %v, last contact at %s", f.GetStale(), clock(f.GetLastContactTime().AsTime()))
			}
			line(fmt.Sprintf(" response %d at %s, token %q%s", k, clock(response.At), response.Token, fresh))
			for _, event := range response.Events {
				if upTo >= 0 && index > upTo {
					return
				}
				text := Line(event)
				if object := event.GetObject(); object != nil {
					text += fmt.Sprintf(" in version %s, UID %s, content: %v", event.GetResourceVersion(), object.GetUid(), object.GetContent() != nil)
				}
				line(fmt.Sprintf("  %d %s", index, text))
				index++
			}
		}
		if !call.Ended.IsZero() {
			line(fmt.Sprintf(" ended at %s: %v", clock(call.Ended), oneLine(call.Err)))
		}
	}
}

func oneLine(err error) string {
	if err == nil {
		return "without error"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

func clock(at time.Time) string { return at.Local().Format("15:04:05.000") }
