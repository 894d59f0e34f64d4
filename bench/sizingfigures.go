package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	kubeconnectv1 "github.com/kubeconnect/kubeconnect/gen/kubeconnect/v1"
)

// sizingFile has the figures that docs/sizing.md is made from, and sizingPage is that page, relative
// to the top of the checkout.
const (
	sizingFile = "bench/sizing.json"
	sizingPage = "docs/sizing.md"
)

// sizing has the measured figures. Memory is in bytes unless a name has MB, which are 1,000,000 bytes.
type sizing struct {
	Machine   string           `json:"machine"`
	Date      string           `json:"date"`
	Remark    string           `json:"remark,omitempty"` // about the run, for readers of the page
	Objects   objectSize       `json:"objects"`
	Streams   streamSize       `json:"streams"`
	FanOut    fanOutCost       `json:"fanOut"`
	APIServer apiServerSize    `json:"apiServer"`
	Clusters  []clusterFigures `json:"clusters"`
}

// objectSize is the memory of the service, and of one of Count cached pods: its content, and all
// other memory that grows with it.
type objectSize struct {
	Count           int     `json:"count"`
	ServiceBytes    float64 `json:"serviceBytes"`
	ContentBytes    float64 `json:"contentBytes"`
	AdditionalBytes float64 `json:"additionalBytes"`
}

// streamSize is the memory of an idle stream when Count are opened: with a connection of its own, and
// with 100 on a connection.
type streamSize struct {
	Count       int     `json:"count"`
	OwnBytes    float64 `json:"ownBytes"`
	SharedBytes float64 `json:"sharedBytes"`
}

// fanOutCost is the CPU time of one event at one of many watchers of the same pods.
type fanOutCost struct {
	Watchers          int     `json:"watchers"`
	ChangesPerSecond  int     `json:"changesPerSecond"`
	CPUMicrosPerEvent float64 `json:"cpuMicrosPerEvent"`
}

// apiServerSize is the memory of a real API server for one of Pods pods, of PodBytes in protobuf: after
// a restart, and when all of them were just created.
type apiServerSize struct {
	Pods           int     `json:"pods"`
	PodBytes       int     `json:"podBytes"`
	BytesPerPod    float64 `json:"bytesPerPod"`
	BytesPerNewPod float64 `json:"bytesPerNewPod"`
}

// clusterFigures are the figures of a service with a number of pods.
type clusterFigures struct {
	Pods                 int           `json:"pods"`
	LimitMB              float64       `json:"limitMB"` // --memory-limit; 0 is none
	SnapshotSeconds      float64       `json:"snapshotSeconds"`
	SnapshotCPUSeconds   float64       `json:"snapshotCPUSeconds"`
	SnapshotPeakMB       float64       `json:"snapshotPeakMB"`
	RestMB               float64       `json:"restMB"`
	Rates                []rateFigures `json:"rates"`
	SustainedPerSecond   int           `json:"sustainedPerSecond"`
	Sustained            delays        `json:"sustained"`
	RelistSeconds        float64       `json:"relistSeconds"`
	RelistCPUSeconds     float64       `json:"relistCPUSeconds"`
	RelistPeakMB         float64       `json:"relistPeakMB"`
	LimitExceededSeconds float64       `json:"limitExceededSeconds"`
}

// rateFigures are the figures at a rate of changes: the CPU time without watchers; with one watcher
// of all pods; and with watchers of a namespace each.
type rateFigures struct {
	ChangesPerSecond   int     `json:"changesPerSecond"`
	CPUMicrosPerChange float64 `json:"cpuMicrosPerChange"`
	One                delays  `json:"one"`
	Part               delays  `json:"part"`
}

// delays are the delays of changes at clients in milliseconds, and the CPU time of the service.
type delays struct {
	P50                float64 `json:"p50"`
	P99                float64 `json:"p99"`
	CPUMicrosPerChange float64 `json:"cpuMicrosPerChange"`
	Cores              float64 `json:"cores"`
}

func newDelays(c rateCost) delays {
	d := delays{CPUMicrosPerChange: c.microsPerEvent, Cores: c.cores}
	if len(c.delays) > 0 {
		d.P50, d.P99 = quantile(c.delays, 0.5), quantile(c.delays, 0.99)
	}
	return d
}

// podsInEach returns requests for the pods of a namespace for each watcher, by a format with its
// number, or for all pods if the format is empty.
func podsInEach(format string) func(int) *kubeconnectv1.WatchRequest {
	return func(number int) *kubeconnectv1.WatchRequest {
		if format == "" {
			return podsIn("", "")(number)
		}
		return podsIn(fmt.Sprintf(format, number), "")(number)
	}
}

var metricsLine = regexp.MustCompile(`msg=metrics\b.*\baddress="?(http://[^\s"]+)`)

// metrics returns the metrics of a service that was started with them.
func (s *service) metrics(ctx context.Context) (string, error) {
	found := metricsLine.FindStringSubmatch(s.Output())
	if found == nil {
		return "", fmt.Errorf("the service has no metrics; its output is:\n%s", s.Output())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, found[1], nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// gauge returns the sum of the samples of a metric.
func gauge(text, name string) (sum float64) {
	for line := range strings.Lines(text) {
		if value, ok := sample(line, name, nil); ok {
			sum += value
		}
	}
	return sum
}
