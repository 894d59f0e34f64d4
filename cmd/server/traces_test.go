package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubeconnect/kubeconnect/cmd/server/internal/servertest"
)

// TestTraces_CredentialsOfTheCollectorAreNotLogged sets variables that cannot be parsed.
func TestTraces_CredentialsOfTheCollectorAreNotLogged(t *testing.T) {
	const secret = "private-key"
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS":         "api-key " + secret + ",other=%zz" + secret,
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS":  "api key=" + secret,
		"OTEL_EXPORTER_OTLP_ENDPOINT":        "http://user:" + secret + "@127.0.0.1:1%zz",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://user:" + secret + "@127.0.0.1:1%zz",
	} {
		for _, protocol := range []string{"http/protobuf", "grpc"} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				logged := servertest.CaptureLog(t)
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
				t.Setenv(name, value)
				traces, err := newTraces(t.Context(), true)
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error is %v", err)
				}
				traces.stop()
				if text := logged.String(); strings.Contains(text, secret) || err == nil && !strings.Contains(text, "environment variables") {
					t.Errorf("the log is %s", text)
				}
			})
		}
	}
}

func TestTraceErrors_AreShort(t *testing.T) {
	logged := servertest.CaptureLog(t)
	(&traceErrors{}).Handle(errors.New(strings.Repeat("the response of the collector ", 10_000)))
	if length := len(logged.String()); length == 0 || length > 2*256 {
		t.Errorf("%d bytes", length)
	}
}
