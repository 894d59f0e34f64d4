package logs

import (
	"context"
	"errors"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
	"github.com/kubeconnect/kubeconnect/informerhub"
	"github.com/kubeconnect/kubeconnect/internal/ledger"
	"github.com/kubeconnect/kubeconnect/server/access"
	"github.com/kubeconnect/kubeconnect/server/budget"
	"github.com/kubeconnect/kubeconnect/server/internal/apierror"
	"github.com/kubeconnect/kubeconnect/server/loglines"
	"github.com/kubeconnect/kubeconnect/server/reads"
	"github.com/kubeconnect/kubeconnect/server/streams"
	"github.com/kubeconnect/kubeconnect/server/target"
)

const (
	// defaultMaxLogs is the default of GetLogLinesRequest.max_logs. The maximum is the number of
	// logs that a caller can leave unread.
	defaultMaxLogs = 50
	maxMaxLogs     = maxCallerUnreadLogs
	// maxLogPositions bounds the positions of a request.
	maxLogPositions = 4096
)

// logLinesParams are the parsed fields of a GetLogLinesRequest. The selection is parsed like the selection of a watch, whether the pods are
// followed or not, so that the same fields select the same pods.
type logLinesParams struct {
	streams.WatchParams
	options loglines.Options // see parseLong for the fields that are parsed last
}

// access returns the read that the caller must have the permission for: of the pods and of their
// logs.
func (p logLinesParams) access(pods informerhub.Resource) access.Request {
	var read access.Request
	switch {
	case p.options.Follow:
		read = access.ToWatch(pods, p.Namespace, p.Name, p.FieldSelector)
	case p.Name != "":
		read = access.ToGet(pods, p.Namespace, p.Name)
	default:
		read = access.ToList(pods, p.Namespace, p.FieldSelector)
	}
	return p.AccessOf(read)
}

// parseLogLines parses a request. The selection is that of a watch of pods.
func parseLogLines(request *kubeconnectv1.GetLogLinesRequest) (params logLinesParams, err error) {
	options, err := parseLogOptions(request)
	if err != nil {
		return logLinesParams{}, err
	}
	if err := checkOnePod(request); err != nil {
		return logLinesParams{}, err
	}
	watched, err := streams.ParseWatch(&kubeconnectv1.WatchRequest{
		Resource: access.PodLogs.Name, Namespace: request.GetNamespace(), Name: request.GetName(),
		LabelSelector: request.GetLabelSelector(), FieldSelector: request.GetFieldSelector(), Filter: request.GetFilter(),
		MinResourceVersion: request.GetMinResourceVersion(), RequireAllNamespaces: request.GetRequireAllNamespaces(),
		Fields: loglines.PodFields, Encoding: kubeconnectv1.Encoding_ENCODING_JSON,
	})
	if err != nil {
		return logLinesParams{}, err
	}
	if options.Follow && request.GetRelated().GetTransitive() {
		return logLinesParams{}, apierror.BadRequest("related.transitive is not supported with follow, which cannot follow owners that are created and deleted: use SELECTED_BY to select the pods of a deployment")
	}
	watched.Related, err = reads.ParseRelation(request.GetRelated())
	watched.Logs = true
	return logLinesParams{WatchParams: watched, options: options}, err
}

// checkOnePod rejects a request for one pod that has other conditions.
func checkOnePod(request *kubeconnectv1.GetLogLinesRequest) error {
	if request.GetName() == "" {
		return nil
	}
	if request.GetLabelSelector() != "" || request.GetFieldSelector() != "" || request.GetFilter() != "" || request.GetRelated() != nil {
		return apierror.BadRequest("name is not allowed together with label_selector, field_selector, filter and related: it selects one pod")
	}
	return target.CheckName(access.PodLogs, request.GetNamespace(), request.GetName())
}

// parseLogOptions parses what is read of the logs, but for what parseLong parses.
func parseLogOptions(request *kubeconnectv1.GetLogLinesRequest) (loglines.Options, error) {
	options := loglines.Options{
		Follow: request.GetFollow(), Previous: request.GetPrevious(), Tail: request.TailLines,
		MaxLines: request.GetLimitLines(), MaxPodLines: request.GetLimitLinesPerPod(), MaxBytes: request.GetLimitBytes(),
		MaxLogs: int(request.GetMaxLogs()),
	}
	if err := checkLogNumbers(request); err != nil {
		return loglines.Options{}, err
	}
	if options.MaxLogs == 0 {
		options.MaxLogs = defaultMaxLogs
	}
	var err error
	options.Since, err = parseSince(request)
	return options, err
}

// checkLogNumbers rejects numbers out of their bounds, and options that exclude each other.
func checkLogNumbers(request *kubeconnectv1.GetLogLinesRequest) error {
	switch {
	case request.GetFollow() && request.GetPrevious():
		return apierror.BadRequest("previous is not allowed together with follow: previous runs have ended")
	case request.GetTailLines() < 0:
		return apierror.BadRequest("invalid tail_lines %d: give 0 or more", request.GetTailLines())
	case request.GetMaxLogs() < 0 || request.GetMaxLogs() > maxMaxLogs:
		return apierror.BadRequest("invalid max_logs %d: give at most %d", request.GetMaxLogs(), maxMaxLogs)
	}
	for _, limit := range []struct {
		name  string
		value *int64
	}{{"limit_lines", request.LimitLines}, {"limit_lines_per_pod", request.LimitLinesPerPod}, {"limit_bytes", request.LimitBytes}, {"since_seconds", request.SinceSeconds}} {
		if limit.value != nil && *limit.value < 1 {
			return apierror.BadRequest("invalid %s %d: give at least 1", limit.name, *limit.value)
		}
	}
	return nil
}

// parseSince returns the time of the oldest lines; zero for all.
func parseSince(request *kubeconnectv1.GetLogLinesRequest) (time.Time, error) {
	since := request.GetSinceTime()
	switch {
	case since != nil && request.SinceSeconds != nil:
		return time.Time{}, apierror.BadRequest("give either since_time or since_seconds")
	case since != nil:
		return parseTime("since_time", since)
	case request.SinceSeconds != nil:
		return time.Now().Add(-time.Duration(min(request.GetSinceSeconds(), maxSinceSeconds)) * time.Second), nil
	}
	return time.Time{}, nil
}

// maxSinceSeconds is 100 years, which a time.Duration can represent.
const maxSinceSeconds = 100 * 365 * 24 * 3600

func parseTime(field string, at *timestamppb.Timestamp) (time.Time, error) {
	if err := at.CheckValid(); err != nil {
		return time.Time{}, apierror.BadRequest("%s: %v", field, err)
	}
	return at.AsTime(), nil
}

// parseLong parses what takes long in the caller's processor slots: the positions, and the regular expressions, for
// which it charges the caller until ctx is done. It must not be called before the caller is authorized.
func parseLong(ctx context.Context, request *kubeconnectv1.GetLogLinesRequest, options *loglines.Options) error {
	_, err := budget.InSlot(ctx, func(context.Context) (none struct{}, err error) {
		charge := func(bytes int) error { return ledger.Hold(ctx, bytes) }
		if options.Resume, err = parsePositions(request.GetResumeAfter()); err != nil {
			return none, err
		}
		if options.Selects, err = compileContainers(request, charge); err != nil {
			return none, err
		}
		options.Filter, err = compileLineFilter(request.GetLineFilter(), charge)
		return none, err
	})
	return err
}

// compileContainers returns whether the logs of the containers with a name are read.
func compileContainers(request *kubeconnectv1.GetLogLinesRequest, charge func(int) error) (func(string) bool, error) {
	selected, err := compileNames("container", request.GetContainer(), charge)
	if err != nil {
		return nil, err
	}
	excluded, err := compileNames("exclude_container", request.GetExcludeContainer(), charge)
	return func(name string) bool {
		return (selected == nil || selected.MatchString(name)) && (excluded == nil || !excluded.MatchString(name))
	}, err
}

// compileNames compiles the pattern of a field; nil for no pattern. charge is called before the pattern is compiled.
func compileNames(field, pattern string, charge func(int) error) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	compiled, err := loglines.NamePattern(pattern, charge)
	return compiled, patternError(field, err)
}

func compileLineFilter(request *kubeconnectv1.LogLineFilter, charge func(int) error) (*loglines.Filter, error) {
	if request == nil {
		return nil, nil
	}
	filter, err := loglines.NewFilter(loglines.Condition{
		Contains: request.GetContains(), Regex: request.GetRegex(), IgnoreCase: request.GetIgnoreCase(), Invert: request.GetInvert(),
		Before: int(request.GetBeforeLines()), After: int(request.GetAfterLines()),
	}, charge)
	return filter, patternError("line_filter", err)
}

// patternError returns the error of a field that was not compiled.
func patternError(field string, err error) error {
	if err == nil || errors.Is(err, ledger.ErrFull) {
		return err
	}
	return apierror.BadRequest("%s: %v", field, err)
}

// parsePositions parses the positions to resume after, one for each log. The sequence of a line counts from 0, among the lines of its
// log with the same time; an ordinal counts from 1.
func parsePositions(positions []*kubeconnectv1.LogPosition) (map[loglines.LogName]loglines.Position, error) {
	if len(positions) > maxLogPositions {
		return nil, apierror.BadRequest("resume_after has %d positions: give at most %d", len(positions), maxLogPositions)
	}
	parsed := make(map[loglines.LogName]loglines.Position, len(positions))
	for i, position := range positions {
		name := loglines.LogName{Namespace: position.GetNamespace(), Pod: position.GetPod(), Container: position.GetContainer()}
		if name.Namespace == "" || name.Pod == "" || name.Container == "" || position.GetTime() == nil || position.GetSequence() < 0 {
			return nil, apierror.BadRequest("resume_after[%d]: give the namespace, pod, container, time and sequence of a line", i)
		}
		at, err := parseTime("resume_after", position.GetTime())
		if err != nil {
			return nil, err
		}
		if _, repeated := parsed[name]; repeated {
			return nil, apierror.BadRequest("resume_after[%d]: the container %s of pod %s/%s has another position", i, name.Container, name.Namespace, name.Pod)
		}
		parsed[name] = loglines.Position{Time: at, Ordinal: int(position.GetSequence()) + 1}
	}
	return parsed, nil
}

// logOptions returns the options of a request. The API server validates them.
func logOptions(request *kubeconnectv1.GetLogsRequest) (*corev1.PodLogOptions, error) {
	options := &corev1.PodLogOptions{
		Container:    request.GetContainer(),
		Follow:       request.GetFollow(),
		Previous:     request.GetPrevious(),
		SinceSeconds: request.SinceSeconds,
		Timestamps:   request.GetTimestamps(),
		TailLines:    request.TailLines,
		LimitBytes:   request.LimitBytes,
	}
	if since := request.GetSinceTime(); since != nil {
		if err := since.CheckValid(); err != nil {
			return nil, apierror.BadRequest("since_time: %v", err)
		}
		if since.GetNanos() != 0 {
			return nil, apierror.BadRequest("since_time %s: give whole seconds, because logs can only be cut at whole seconds", since.AsTime().Format(time.RFC3339Nano))
		}
		options.SinceTime = &metav1.Time{Time: since.AsTime()}
	}
	switch stream := request.GetStream(); stream {
	case kubeconnectv1.LogStream_LOG_STREAM_UNSPECIFIED:
	case kubeconnectv1.LogStream_LOG_STREAM_STDOUT:
		options.Stream = ptr.To(corev1.LogStreamStdout)
	case kubeconnectv1.LogStream_LOG_STREAM_STDERR:
		options.Stream = ptr.To(corev1.LogStreamStderr)
	default:
		return nil, apierror.BadRequest("unknown stream %d: give STDOUT or STDERR", stream)
	}
	return options, nil
}
